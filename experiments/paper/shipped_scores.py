"""Write the scores that ship with the package: ``python -m experiments.paper.shipped_scores RESULTS KEPT``.

They are those of the networks of Figure 6, from a finished ``python -m experiments vmnist``: its results folder, and
the folder where it kept the scores.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from aftermax._utils.files import write_atomically
from aftermax.data import SHIPPED, Scores, load_scores, shipped_path
from experiments.networks.mnist_networks import kept_path
from experiments.networks.recipes import MAIN
from experiments.paper.figures import examples
from experiments.paper.results import Outcome, Results
from experiments.runs.csv_records import read_records


def small(scores: Scores) -> dict[str, Any]:
    """The scores in few bytes."""
    return {name: part.astype(np.float16 if "logits" in name else np.uint8) for name, part in scores._asdict().items()}


def main(results: Path, kept: Path) -> None:
    """Write the files."""
    finished = Results(read_records(Outcome, results / "outcomes.csv"))
    shown = [outcome.key for outcome in examples(finished)]
    if tuple(case.size for case in shown) != SHIPPED:
        raise ValueError(f"Figure 6 shows networks of other sizes than SHIPPED: {shown}.")
    for case in shown:
        path = shipped_path(case.size)
        with write_atomically(path) as unfinished, unfinished.open("wb") as file:
            np.savez_compressed(file, **small(load_scores(kept_path(*case, MAIN, kept))))
        print(f"{path}: network {case.number} trained on {case.size:,}, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
