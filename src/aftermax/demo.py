"""A real, offline run in under a minute: ``python -m aftermax.demo``.

Small networks learn scikit-learn's handwritten digits from a few samples each. Of the digits they have not seen, one
half fits SPH, at its default settings, and the other half tells what it is worth.
"""

import argparse
import csv
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from aftermax import SPHClassifier
from aftermax.plots import ResponseArrayDisplay, new_figure

SIZES = (30, 50, 100, 200)
NETWORKS = 5


class Outcome(NamedTuple):
    """One network, or the mean of several. Errors and routes in per cent of the test rows."""

    trained_on: float
    softmax_error: float
    sph_error: float
    kept_softmax: float
    pooled: float
    reverted: float
    classes_trusted: float


def network_logits(network: MLPClassifier, images: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the network says before softmax: scikit-learn shows only what comes after."""
    for weights, bias in zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True):
        images = np.maximum(images @ weights + bias, 0.0)
    return np.asarray(images @ network.coefs_[-1] + network.intercepts_[-1])


def run(size: int, seed: int) -> tuple[Outcome, SPHClassifier]:
    """Train one network on ``size`` digits, fit SPH on half of the others, test on the other half."""
    images, labels = load_digits(return_X_y=True)
    split: dict[str, Any] = {"random_state": seed, "shuffle": True}
    train, rest, train_labels, rest_labels = train_test_split(
        images / 16.0, labels, train_size=size, stratify=labels, **split
    )
    val, test, val_labels, test_labels = train_test_split(
        rest, rest_labels, test_size=0.5, stratify=rest_labels, **split
    )
    network = MLPClassifier((64,), max_iter=1000, random_state=seed).fit(train, train_labels)
    head = SPHClassifier().fit(network_logits(network, val), val_labels)
    logits = network_logits(network, test)
    routes = head.route(logits)
    outcome = Outcome(
        trained_on=size,
        softmax_error=100 * float(np.mean(logits.argmax(axis=1) != test_labels)),
        sph_error=100 * float(np.mean(head.predict(logits) != test_labels)),
        kept_softmax=100 * float(np.mean(routes == "softmax")),
        pooled=100 * float(np.mean(routes == "pooled")),
        reverted=100 * float(np.mean(routes == "reverted")),
        classes_trusted=float(head.trusted_.sum()),
    )
    return outcome, head


def table(outcomes: list[Outcome]) -> str:
    """The outcomes as a table that reads well as text and in Markdown."""
    heads = ["trained on", "softmax error", "SPH error", "fewer errors", "kept softmax", "pooled", "reverted"]
    lines = [[*heads, "classes trusted"]]
    for row in outcomes:
        fewer = 100 * (row.softmax_error - row.sph_error) / row.softmax_error
        shares = (row.kept_softmax, row.pooled, row.reverted)
        lines.append(
            [
                f"{row.trained_on:.0f}",
                f"{row.softmax_error:.1f} %",
                f"{row.sph_error:.1f} %",
                f"{fewer:+.1f} %",
                *(f"{share:.1f} %" for share in shares),
                f"{row.classes_trusted:.1f} of 10",
            ]
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = ["| " + " | ".join(map(str.rjust, line, widths)) + " |" for line in lines]
    rule = "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|"
    return "\n".join([texts[0], rule, *texts[1:]])


def main() -> None:
    """Train, fit, print the table, write the table and the picture."""
    parser = argparse.ArgumentParser(prog="python -m aftermax.demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("aftermax-demo"), help="folder for the table and the picture")
    folder: Path = parser.parse_args().out

    figure = new_figure(11.5, 4.7)
    print(f"Training {NETWORKS} small networks on each of {SIZES} handwritten digits ...", flush=True)
    runs = {size: [run(size, seed) for seed in range(NETWORKS)] for size in SIZES}
    outcomes = [Outcome(*np.mean([outcome for outcome, _ in runs[size]], axis=0).tolist()) for size in SIZES]
    print(f"\nMeans over {NETWORKS} networks, on test digits that neither the network nor SPH has seen:\n")
    print(table(outcomes))
    better = " and ".join(f"{row.trained_on:.0f}" for row in outcomes if row.sph_error < row.softmax_error)
    print(
        f"\nSPH made fewer errors than softmax for networks trained on {better or 'none of these'} digits. Settings "
        "were its defaults;\nwhere a network leaves little on the table they can lose, too: compare on your own rows."
    )

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.md").write_text(table(outcomes) + "\n")
    with (folder / "table.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["networks", *Outcome._fields])
        writer.writerows([NETWORKS, *(round(value, 4) for value in row)] for row in outcomes)
    ResponseArrayDisplay.from_estimator(runs[SIZES[0]][0][1], figure=figure)
    figure.savefig(folder / "response-array.png", dpi=150)
    print(f"\nWritten to {folder}: table.csv, table.md, response-array.png")


if __name__ == "__main__":
    main()
