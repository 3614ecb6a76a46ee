"""What is counted while rows are predicted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.fingerprint import Overlap
from aftermax._scorefiles.labels import labels_to_text
from aftermax._scorefiles.types import Rows
from aftermax._scorefiles.write import Predictions
from aftermax._utils.one_logit import two_columns
from aftermax._utils.untrusted import count, fields, some

MAX_UNKNOWN_LABELS = 5  # that are named
SUMS = ("rows", "labelled", "unknown", "correct_by_softmax", "correct_by_head", "certain_labelled", "certain_correct")
OTHERS = ("certain", "unknown_labels", "overlap")


@dataclass
class PredictionCounts:
    """How many rows were predicted, how many of them have a label, and how many of those are correct.

    Labels that are not among the head's classes are counted separately, and the first few of them are named.
    """

    rows: int = 0
    labelled: int = 0
    unknown: int = 0
    unknown_labels: list[str] = field(default_factory=list)
    correct_by_softmax: int = 0
    correct_by_head: int = 0
    certain: int | None = None  # rows that the head decides alone, if it leaves others to a person
    certain_labelled: int = 0
    certain_correct: int = 0
    overlap: Overlap | None = None  # with the samples that the head was fitted on, if it remembers them

    @property
    def accuracy(self) -> tuple[float, float] | None:
        """Softmax's and the head's; None if no row has a label."""
        if self.labelled == 0:
            return None
        return self.correct_by_softmax / self.labelled, self.correct_by_head / self.labelled

    @property
    def certain_accuracy(self) -> float | None:
        """That of the rows that the head decides alone; None if none of these has a label."""
        return self.certain_correct / self.certain_labelled if self.certain_labelled else None

    @property
    def fitted_on_share(self) -> float:
        """The share of the rows that the head was fitted on, as far as can be told; 0 if there are no labels."""
        return 0.0 if self.overlap is None or self.overlap.n_samples == 0 else self.overlap.share

    def add(self, classes: NDArray[Any], rows: Rows, predictions: Predictions) -> None:
        """Count some rows."""
        predicted, certain = predictions.predicted, predictions.certain
        self.rows += len(predicted)
        if certain is not None:
            self.certain = (self.certain or 0) + int(certain.sum())
        if rows.labels is None:
            return
        if self.overlap is not None:
            self.overlap.add(two_columns(rows.logits))
        labels, names = labels_to_text(rows.labels), labels_to_text(classes)
        present = np.array([label is not None for label in rows.labels.tolist()])
        known = present & np.isin(labels, names)
        unknown = labels[present & ~known]
        self.unknown += len(unknown)
        self._name_unknown(unknown.tolist())
        self.labelled += int(known.sum())
        self.correct_by_softmax += int((names[two_columns(rows.logits).argmax(axis=1)] == labels)[known].sum())
        correct = labels_to_text(predicted) == labels
        self.correct_by_head += int(correct[known].sum())
        if certain is not None:
            self.certain_labelled += int((known & certain).sum())
            self.certain_correct += int((correct & known & certain).sum())

    def _name_unknown(self, labels: list[str]) -> None:
        self.unknown_labels = list(dict.fromkeys([*self.unknown_labels, *labels]))[:MAX_UNKNOWN_LABELS]

    def to_state(self) -> dict[str, Any]:
        """Plain values, as for JSON."""
        overlap = None if self.overlap is None else self.overlap.to_state()
        others = {"certain": self.certain, "unknown_labels": self.unknown_labels, "overlap": overlap}
        return {name: getattr(self, name) for name in SUMS} | others

    def add_state(self, values: object) -> None:
        """Add what was counted elsewhere. From a file that anyone may have written: a ValueError says what is wrong."""
        named = fields(values, {*SUMS, *OTHERS}, "the list of counts")
        sums = {name: count(named[name], name) for name in SUMS}
        labels = [str(label) for label in some(named["unknown_labels"], None, "the list of unknown labels")]
        certain = None if named["certain"] is None else count(named["certain"], "certain")
        if self.overlap is not None and named["overlap"] is not None:
            self.overlap.add_state(named["overlap"])
        for name, value in sums.items():
            setattr(self, name, getattr(self, name) + value)
        self.certain = self.certain if certain is None else (self.certain or 0) + certain
        self._name_unknown(labels)
