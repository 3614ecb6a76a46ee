"""How softmax behaves on each network: is its certainty bunched, does it order the samples, are its classes balanced?

The records are kept in ``behaviour.csv``, also those of published networks, whose scores are not in the repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aftermax._utils.text import percent, table
from experiments.cifar.cases import Case
from experiments.cifar.certainty import certainty_of
from experiments.networks.cifar_recipes import DATA_SETS
from experiments.runs.csv_records import read_records, write_records

PARTS = ("networks", "published", "samples", "training", "shift")
WHOLE = ("networks", "published")  # the parts with finished networks on the data they were trained for


@dataclass(frozen=True)
class Behaviour:
    """Of one network's test samples."""

    part: str
    data: str
    network: str
    variant: str
    draw: int
    accuracy: float
    bunched: float  # the share of wrong predictions with a certainty above 0.9
    order: float  # how often, of a right and a wrong prediction, the right one has the higher certainty (AUROC)
    imbalance: float  # half the sum of differences between predicted and true class shares: 0 if they are the same

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """The key of its case."""
        return self.part, self.data, self.network, self.variant, self.draw


def behaviours(cases: Sequence[Case], path: Path) -> list[Behaviour]:
    """Those of these cases and those that the file holds already; it is written anew."""
    found = {record.key: record for record in read_records(Behaviour, path)}
    for case in cases:
        if case.part in PARTS and case.key not in found:
            found[case.key] = _behaviour(case)
    records = [found[key] for key in sorted(found)]
    write_records(records, path)
    return records


def _behaviour(case: Case) -> Behaviour:
    _, test = case.load()
    certainty, n_classes = certainty_of(case.network, test), test.logits.shape[1]
    predicted, true = (
        np.bincount(codes, minlength=n_classes) / len(codes) for codes in (test.logits.argmax(axis=1), test.labels)
    )
    imbalance = float(np.abs(predicted - true).sum() / 2)
    shares = (certainty.accuracy, certainty.bunched_wrong, certainty.order, imbalance)
    return Behaviour(*case.key, *(round(share, 4) for share in shares))


def behaviour_table(records: Sequence[Behaviour]) -> str:
    """A line for each finished network."""
    shown = sorted((r for r in records if r.part in WHOLE), key=lambda r: (r.part, DATA_SETS[r.data], r.accuracy))
    rows = [
        [DATA_SETS[r.data], r.network, percent(r.accuracy), percent(r.bunched), f"{r.order:.2f}", percent(r.imbalance)]
        for r in shown
    ]
    heads = ["data", "network", "accuracy", "errors with a certainty above 0.9", "AUROC of certainty"]
    return table([*heads, "predicted class shares off by"], rows, texts=2)
