"""``aftermax bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aftermax._cli.reproduce import DataWithPhotos, Jobs, load_photos, run_shift


def bench(
    peers: Annotated[
        bool, typer.Option("--peers", help="The money table: every method on every case, what others offer included.")
    ] = False,
    data: DataWithPhotos = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            "--scores",
            metavar="FOLDER",
            help="Folder with score files of other networks (*.npz).",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Folder for the results; the shift trials' are kept in its folder shift. If not given: results/money "
            "and results/shift, which 'reproduce shift' shares.",
            show_default=False,
        ),
    ] = None,
    jobs: Jobs = 2,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two sizes with 400 rows and two shifts, one network each, for a taste.")
    ] = False,
    redo: Annotated[
        list[str] | None,
        typer.Option(
            "--redo",
            metavar="METHOD",
            help="A method whose results are to be made anew with the code as it is now.",
            show_default=False,
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Forget the results that are there already, also those of the shift trials.")
    ] = False,
) -> None:
    """Is it better than what else there is?

    Gain, significance and time, in one table.
    """
    if not peers:
        raise ValueError(
            "bench needs --peers, the only benchmark so far. Speed is measured by 'make bench' in a clone."
        )
    from experiments import money, money_report
    from experiments.datasets import load_mnist
    from experiments.trials import file_trials, vmnist_trials

    taste = "-quick" if quick else ""
    folder = out or Path("results") / f"money{taste}"
    shifted = out / "shift" if out else Path("results") / f"shift{taste}"
    mnist, cifar10 = load_mnist(data), load_photos(data, quick)
    trials = vmnist_trials(mnist, quick=quick)
    trials += file_trials(scores) if scores else []
    unknown = [name for name in redo or () if name not in money.METHODS]
    if unknown:
        raise ValueError(f"--redo {unknown[0]} is no method: choose from {', '.join(money.METHODS)}.")
    anew = tuple(redo or ())
    outcomes = money.run(trials, tuple(money.METHODS), folder / "outcomes.csv", again=again, redo=anew, jobs=jobs)
    outcomes += run_shift(mnist, cifar10, shifted, quick=quick, again=again, redo=anew, jobs=jobs)
    print(money_report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its tables and figure, outcomes.csv; {shifted}: outcomes.csv")
