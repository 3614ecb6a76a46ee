"""A real, offline run in under a minute: heads on networks that ship with the package. ``aftermax demo``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax import AutoHead, SPHClassifierCV
from aftermax._utils.files import write_atomically, write_text
from aftermax._utils.paired_tests import relative_gain, wins_and_losses
from aftermax._utils.text import percent, signed
from aftermax.data import SHIPPED, Scores, load_vmnist


class Line(NamedTuple):
    """One network. Errors and gains are shares, of the test rows and of softmax's errors."""

    trained_on: int
    softmax_error: float
    sph_gain: float
    gain: float
    expected_gain: float
    expected_low: float
    expected_high: float
    chosen: str


def compare(trained_on: int) -> tuple[Line, SPHClassifierCV]:
    """Fit SPH and AutoHead on the validation rows of a shipped network, and test both."""
    scores = load_vmnist(trained_on)
    sph = SPHClassifierCV().fit(scores.val_logits, scores.val_labels)
    head = AutoHead().fit(scores.val_logits, scores.val_labels)
    line = Line(
        trained_on=trained_on,
        softmax_error=float(np.mean(scores.test_logits.argmax(axis=1) != scores.test_labels)),
        sph_gain=_gain(sph.predict(scores.test_logits), scores),
        gain=_gain(head.predict(scores.test_logits), scores),
        expected_gain=head.gain_,
        expected_low=head.gain_interval_[0],
        expected_high=head.gain_interval_[1],
        chosen=head.chosen_,
    )
    return line, sph


def _gain(answers: NDArray[np.int64], scores: Scores) -> float:
    before, after = scores.test_logits.argmax(axis=1) == scores.test_labels, answers == scores.test_labels
    return float(relative_gain(*wins_and_losses(before, after)))


def table(lines: list[Line]) -> str:
    """The lines as a table that reads well as text and in Markdown."""
    heads = ["trained on", "softmax error", "fewer errors: SPHClassifierCV", "fewer errors: AutoHead"]
    cells = [[*heads, "expected beforehand (95 %)", "chosen"]]
    for line in lines:
        expected = f"{signed(line.expected_gain)} ({signed(line.expected_low)} to {signed(line.expected_high)})"
        cells.append(
            [
                f"{line.trained_on:,}",
                percent(line.softmax_error),
                signed(line.sph_gain),
                signed(line.gain),
                expected,
                line.chosen,
            ]
        )
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    texts = ["| " + " | ".join(map(str.rjust, line, widths)) + " |" for line in cells]
    rule = "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|"
    return "\n".join([texts[0], rule, *texts[1:]])


def run(folder: Path) -> None:
    """Fit, print the table, write the table and the pictures."""
    from aftermax.plots import ResponseArrayDisplay, RoutesDisplay
    from aftermax.plots._style import new_figure

    array, routes = new_figure(10.5, 4.4), new_figure(7.0, 5.4)
    print("Three networks on MNIST, frozen; 4,000 labelled rows to fit heads on, 4,000 others to test them on.")
    print("Fitting (the first time on a machine, compiling takes some seconds) ...", flush=True)
    found = [compare(size) for size in SHIPPED]
    text = table([line for line, _ in found])
    print(f"\n{text}\n")
    write_text(folder / "table.md", text + "\n")
    head = found[0][1].best_estimator_
    scores = load_vmnist(SHIPPED[0])
    ResponseArrayDisplay.from_estimator(head, figure=array)
    RoutesDisplay.from_estimator(head, scores.test_logits, scores.test_labels, ax=routes.subplots())
    for name, figure in (("response-array.png", array), ("routes.png", routes)):
        with write_atomically(folder / name) as unfinished:
            figure.savefig(unfinished, format="png", dpi=150)
    print(f"Written to {folder}: table.md, response-array.png, routes.png")
