"""``aftermax demo``: heads for three real networks whose outputs ship with the package."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.files import write_atomically, write_text
from aftermax._utils.paired_tests import relative_gain, wins_and_losses
from aftermax._utils.text import percent, signed
from aftermax.auto.head import AutoHead
from aftermax.data import SHIPPED, Scores, load_vmnist
from aftermax.sph.classifier_cv import SPHClassifierCV
from aftermax.sph.sweep import sweep

ABOUT = """\
Three networks on MNIST, frozen; 4,000 labelled samples to fit heads on, 4,000 others to test them. The paper's protocol
reports the hyperparameters of SPH that do best on the test samples. It looks at their labels, so this gain is a ceiling
that nobody can have on new samples; it comes first. The others are chosen on the labelled samples alone."""


class NetworkResult(NamedTuple):
    """One network. The error is a share of the test samples, gains are shares of softmax's errors."""

    trained_on: int
    softmax_error: float
    best_on_test: float  # of SPH's hyperparameters, by the test labels: the paper's protocol
    sph_gain: float
    gain: float
    expected_gain: float
    expected_low: float
    expected_high: float
    chosen: str


def compare(trained_on: int) -> tuple[NetworkResult, SPHClassifierCV]:
    """Fit SPH and AutoHead on the validation samples of a shipped network, and test both.

    SPH is also fitted under the paper's protocol, with every combination of hyperparameters.
    """
    scores = load_vmnist(trained_on)
    of_all = sweep(scores.val_logits, scores.val_labels, eval_logits=scores.test_logits, eval_labels=scores.test_labels)
    sph = SPHClassifierCV().fit(scores.val_logits, scores.val_labels)
    head = AutoHead().fit(scores.val_logits, scores.val_labels)
    result = NetworkResult(
        trained_on=trained_on,
        softmax_error=float(np.mean(scores.test_logits.argmax(axis=1) != scores.test_labels)),
        best_on_test=float(of_all["gain"].max()),
        sph_gain=_gain(sph.predict(scores.test_logits), scores),
        gain=_gain(head.predict(scores.test_logits), scores),
        expected_gain=head.gain_,
        expected_low=head.gain_prediction_interval_[0],
        expected_high=head.gain_prediction_interval_[1],
        chosen=head.chosen_,
    )
    return result, sph


def _gain(predicted: NDArray[np.int64], scores: Scores) -> float:
    before, after = scores.test_logits.argmax(axis=1) == scores.test_labels, predicted == scores.test_labels
    return float(relative_gain(*wins_and_losses(before, after)))


def table(results: list[NetworkResult]) -> str:
    """The results as a Markdown table that is aligned as text, too."""
    headings = ["trained on", "softmax error", "fewer errors: SPH, best on test (looks at its labels)"]
    cells = [[*headings, "SPH, chosen honestly", "AutoHead", "expected beforehand (95 % range)", "chosen"]]
    for result in results:
        interval = f"{signed(result.expected_low)} to {signed(result.expected_high)}"
        cells.append(
            [
                f"{result.trained_on:,}",
                percent(result.softmax_error),
                signed(result.best_on_test),
                signed(result.sph_gain),
                signed(result.gain),
                f"{signed(result.expected_gain)} ({interval})",
                result.chosen,
            ]
        )
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["| " + " | ".join(map(str.rjust, row, widths)) + " |" for row in cells]
    rule = "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def run(folder: Path) -> None:
    """Fit the heads, print the table, and write the table and two figures."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("The demo draws figures with matplotlib: pip install 'aftermax[plots]'") from error
    from aftermax.plots import ResponseArrayDisplay, RoutesDisplay

    print(ABOUT)
    print("Fitting (the first run on a machine also compiles code, which takes some seconds) ...", flush=True)
    results, heads = zip(*map(compare, SHIPPED), strict=True)
    text = table(list(results))
    print(f"\n{text}\n")
    write_text(folder / "table.md", text + "\n")
    head = heads[0].best_estimator_
    scores = load_vmnist(SHIPPED[0])
    array, routes = (Figure(figsize=size, layout="constrained") for size in ((10.5, 4.4), (7.0, 5.4)))
    ResponseArrayDisplay.from_estimator(head, figure=array)
    RoutesDisplay.from_estimator(head, scores.test_logits, scores.test_labels, ax=routes.subplots())
    for name, figure in (("response-array.png", array), ("routes.png", routes)):
        with write_atomically(folder / name) as unfinished:
            figure.savefig(unfinished, format="png", dpi=150)
    print(f"Written to {folder}: table.md, response-array.png, routes.png")
