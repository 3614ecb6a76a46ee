"""The commands of ``python -m experiments``. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.networks.recipes import MAIN, RECIPES, SCORES_FOLDER

if TYPE_CHECKING:
    from experiments.benchmark.measure import Outcome
    from experiments.benchmark.trials import Trial
    from experiments.data.cifar10 import CIFAR10
    from experiments.data.mnist import MNIST

CIFAR_SCORES = Path("results/cifar/scores")

app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def experiments(context: typer.Context) -> None:
    """Run an experiment, from the raw data to tables and figures.

    If it is interrupted, the same command resumes it.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


def _require(*packages: str) -> None:
    """Refuse to begin without packages that only one experiment needs."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise ValueError(f"This experiment needs {' and '.join(missing)}: pip install {' '.join(missing)}.")


def _recipe(name: str) -> str:
    if name not in RECIPES:
        raise typer.BadParameter(f"{name!r} is not a recipe: choose from {', '.join(RECIPES)}.")
    return name


Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FOLDER",
        help="Folder with MNIST's four IDX files. If not given: AFTERMAX_DATA, ./data, or fetched from OpenML.",
        show_default=False,
    ),
]
DataWithCIFAR10 = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FOLDER",
        help="Folder with MNIST's four IDX files and, optionally, CIFAR-10's cifar-10-batches-py. If not given: "
        "AFTERMAX_DATA, or ./data; MNIST is fetched from OpenML if it is in neither.",
        show_default=False,
    ),
]
ScoreFiles = Annotated[
    Path | None,
    typer.Option(
        "--scores", metavar="FOLDER", help="Folder with score files of other networks (*.npz).", show_default=False
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FOLDER", help="Folder for the results. If not given: one in ./results.", show_default=False
    ),
]
Kept = Annotated[Path, typer.Option("--kept", metavar="FOLDER", help="Folder where the networks' scores are kept.")]
Quick = Annotated[bool, typer.Option("--quick", help="Two sizes and two networks only.")]
More = Annotated[
    bool,
    typer.Option(
        "--more",
        help="Add draws with the code, versions and processor of today, even if others made those that are there.",
    ),
]
Again = Annotated[bool, typer.Option("--again", help="Forget the results that are in the folder, and start over.")]
Networks = Annotated[
    int,
    typer.Option("--networks", min=1, max=9, metavar="N", help="Networks of each size; the same command adds more."),
]
Redo = Annotated[
    list[str] | None,
    typer.Option(
        "--redo", metavar="METHOD", help="A method to measure again, with the code as it is now.", show_default=False
    ),
]
Banking77 = Annotated[
    Path | None,
    typer.Option(
        "--text",
        metavar="FOLDER",
        help="Folder with train.csv and test.csv of BANKING77. If not given: banking77 in AFTERMAX_DATA, or in ./data.",
        show_default=False,
    ),
]
Draws = Annotated[
    int, typer.Option("--draws", min=1, metavar="N", help="Draws of labelled texts; the same command adds more.")
]
Embeddings = Annotated[Path, typer.Option("--kept", metavar="FOLDER", help="Folder where the embeddings are kept.")]
Jobs = Annotated[int, typer.Option("--jobs", min=1, metavar="N", help="Number of processes, each on one core.")]
RecipeName = Annotated[
    str,
    typer.Option(
        "--recipe",
        metavar="NAME",
        help=f"How the networks are built and trained: {', '.join(RECIPES)}.",
        callback=_recipe,
    ),
]


@app.command()
def vmnist(
    data: Data = None,
    out: Out = None,
    kept: Kept = SCORES_FOLDER,
    recipe: RecipeName = MAIN,
    quick: Quick = False,
    redo: Redo = None,
    again: Again = False,
) -> None:
    """The paper's main experiment, on MNIST.

    81 networks, every method, every figure, both protocols. Methods that the results in the folder lack are added.
    """
    from experiments.data.mnist import load_mnist
    from experiments.networks.mnist_networks import cases
    from experiments.paper import report
    from experiments.paper.methods import METHODS
    from experiments.paper.results import Results
    from experiments.paper.vmnist import VmnistExperiment

    redone = _methods(redo, METHODS)
    folder = _folder(out, "vmnist" if recipe == MAIN else f"vmnist-{recipe}", quick)
    experiment = VmnistExperiment(load_mnist(data), recipe, kept)
    outcomes = experiment.run(cases(quick), folder / "outcomes.csv", again=again, redo=redone)
    print(report.write(Results(outcomes), experiment, folder))
    print(f"Written to {folder}: report.md with its tables and six figures, outcomes.csv, run.json")


@app.command()
def cifar(
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            help="Folder with MNIST, cifar-10-batches-py and cifar-100-python, for what is not kept. If not given: "
            "AFTERMAX_DATA, or ./data.",
            show_default=False,
        ),
    ] = None,
    scores: ScoreFiles = None,
    out: Out = None,
    kept: Annotated[
        Path, typer.Option("--kept", metavar="FOLDER", help="Folder where the networks' scores are kept.")
    ] = CIFAR_SCORES,
    vmnist: Annotated[
        Path, typer.Option("--vmnist", metavar="FOLDER", help="Results of the vmnist command, to compare with.")
    ] = Path("results/vmnist"),
    jobs: Jobs = 2,
    redo: Redo = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two networks on CIFAR-10 only.")] = False,
    again: Again = False,
) -> None:
    """The paper's second experiment, on CIFAR-10, 20 and 100.

    Every method on networks of every strength, and the paper's guesses why there is little to gain, one by one. The
    scores of our networks are in the repository, so that nothing is trained unless they are gone.
    """
    from experiments.cifar import report, untrained
    from experiments.cifar.behaviour import behaviours
    from experiments.cifar.cases import ALL, cases
    from experiments.cifar.controls import control_cases
    from experiments.cifar.measure import CifarExperiment, Outcome
    from experiments.networks.cifar_networks import Cifar
    from experiments.runs.csv_records import read_records

    redone, folder = _methods(redo, ALL), _folder(out, "cifar", quick)
    tasks = cases(kept, scores, quick)
    if not quick:
        untrained.run(data, folder, again=again)
        tasks += control_cases(kept, scores)
    path = folder / "outcomes.csv"
    CifarExperiment(Cifar(data), kept).run(tasks, path, again=again, redo=redone, jobs=1 if quick else jobs)
    records = behaviours(tasks, folder / "behaviour.csv")
    print(report.write(read_records(Outcome, path), records, kept, vmnist / "outcomes.csv", folder))
    print(f"Written to {folder}: tables{'' if quick else ', report.md'}, figures, outcomes.csv, run.json")


@app.command()
def recipes(
    data: Data = None, out: Out = None, kept: Kept = SCORES_FOLDER, quick: Quick = False, again: Again = False
) -> None:
    """Does it matter how networks are trained?

    How much the gains depend on it, and on how many hyperparameters were tried.
    """
    from experiments.data.mnist import load_mnist
    from experiments.settings import compare_recipes

    folder = _folder(out, "recipes", quick)
    print(compare_recipes.run(load_mnist(data), kept, folder, quick=quick, again=again))
    print(f"Written to {folder}: table.md, and for each recipe outcomes.csv and run.json")


@app.command()
def choosing(
    data: Data = None,
    out: Out = None,
    kept: Kept = SCORES_FOLDER,
    scores: ScoreFiles = None,
    quick: Quick = False,
    again: Again = False,
) -> None:
    """How to choose the hyperparameters of SPH?

    By cross-validation, by the validation or by the test samples: on 81 networks, and on score files.
    """
    from experiments.data.mnist import load_mnist
    from experiments.settings import choosing_report
    from experiments.settings.choosing import ChoosingExperiment, file_cases, vmnist_cases

    folder = _folder(out, "choosing", quick)
    cases = vmnist_cases(load_mnist(data), kept, quick)
    cases += file_cases(scores) if scores else []
    print(choosing_report.write(ChoosingExperiment().run(cases, folder / "outcomes.csv", again=again), folder))
    choosing_report.draw_sweeps([case for case in cases if case.drawn], folder / "sweep.png")
    print(f"Written to {folder}: tables, figures, outcomes.csv, run.json")


@app.command("training-samples")
def training_samples(
    data: Data = None, out: Out = None, networks: Networks = 1, quick: Quick = False, again: Again = False
) -> None:
    """Can heads be fitted on training samples?

    SPH and AutoHead on training scores, on cross-fitted training scores, and on held-out samples.
    """
    from experiments.data.mnist import load_mnist
    from experiments.training_samples import report
    from experiments.training_samples.measure import TrainingSamplesExperiment, cases

    folder = _folder(out, "training-samples", quick)
    experiment = TrainingSamplesExperiment(load_mnist(data))
    outcomes = experiment.run(cases(quick, networks), folder / "outcomes.csv", again=again)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its table and figure, outcomes.csv, run.json")


@app.command()
def loss(
    data: Data = None, out: Out = None, networks: Networks = 9, quick: Quick = False, again: Again = False
) -> None:
    """Do networks gain from a loss that uses D?

    Networks trained with the cross-entropy of pooled scores, against softmax's with and without AutoHead.
    """
    from experiments.data.mnist import load_mnist
    from experiments.loss import report
    from experiments.loss.measure import LossExperiment, cases

    folder = _folder(out, "loss", quick)
    experiment = LossExperiment(load_mnist(data))
    outcomes = experiment.run(cases(quick, networks), folder / "outcomes.csv", again=again)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its table and figure, outcomes.csv, run.json")


@app.command()
def shift(
    data: DataWithCIFAR10 = None,
    out: Out = None,
    quick: Annotated[bool, typer.Option("--quick", help="One network on MNIST under two shifts only.")] = False,
    again: Again = False,
    jobs: Jobs = 2,
) -> None:
    """Every method on shifted data.

    Noise, blur, low contrast, rotation and pixelation, with few labelled samples. The money command uses the same
    trials, and keeps them in the same folder.
    """
    from experiments.benchmark import shift_report
    from experiments.benchmark.shift_examples import draw_examples
    from experiments.data.mnist import load_mnist

    folder = _folder(out, "shift", quick)
    mnist, cifar10 = load_mnist(data), _load_cifar10(data, quick)
    outcomes = _run_shift(mnist, cifar10, folder, quick=quick, again=again, jobs=jobs)
    draw_examples(mnist, cifar10, folder / "examples")
    print(shift_report.write(outcomes, shift_report.clean_errors(mnist, cifar10, quick=quick), folder))
    print(f"Written to {folder}: report.md with its tables and figures, outcomes.csv, run.json")


@app.command()
def money(
    data: DataWithCIFAR10 = None,
    scores: ScoreFiles = None,
    text: Annotated[
        Path | None,
        typer.Option(
            "--text",
            metavar="FOLDER",
            help="Folder with texts: train.csv and test.csv of BANKING77, with the columns text and category.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Folder for the results; those of the shift trials are kept in its folder shift. If not given: "
            "results/money and results/shift, which the shift command shares.",
            show_default=False,
        ),
    ] = None,
    jobs: Jobs = 2,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two sizes with 400 samples and two shifts, one network each.")
    ] = False,
    redo: Redo = None,
    again: Annotated[
        bool, typer.Option("--again", help="Forget the results that are there, also those of the shift trials.")
    ] = False,
) -> None:
    """The benchmark: AutoHead and SPH against other methods.

    Gain, significance, log loss and time in every case, with and without shift, with and without features. UCI's
    letters are fetched by apt-get.
    """
    from experiments.benchmark import report
    from experiments.benchmark.measure import Benchmark
    from experiments.benchmark.methods import METHODS
    from experiments.benchmark.trials import file_trials, vmnist_trials
    from experiments.data.mnist import load_mnist

    redone = _methods(redo, METHODS)
    suffix = "-quick" if quick else ""
    folder = out or Path("results") / f"money{suffix}"
    shift_folder = out / "shift" if out else Path("results") / f"shift{suffix}"
    mnist, cifar10 = load_mnist(data), _load_cifar10(data, quick)
    trials = vmnist_trials(mnist, quick=quick)
    trials += _letters(quick) + _texts(text, quick)
    trials += file_trials(scores) if scores else []
    trials.sort(key=lambda trial: trial.network)  # the first networks of all families, then the second
    outcomes = Benchmark().run(trials, folder / "outcomes.csv", again=again, redo=redone, jobs=jobs)
    outcomes += _run_shift(mnist, cifar10, shift_folder, quick=quick, again=again, redo=redone, jobs=jobs)
    print(report.write(outcomes, folder))
    print(
        f"Written to {folder}: report.md with its tables and figures, outcomes.csv, run.json; "
        f"{shift_folder}: outcomes.csv, run.json"
    )


@app.command()
def models(
    data: Data = None,
    out: Out = None,
    draws: Annotated[
        int, typer.Option("--draws", min=1, metavar="N", help="How often samples are drawn and models trained.")
    ] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="One draw of scikit-learn's digits only.")] = False,
    again: Again = False,
) -> None:
    """Any model with K responses.

    SPH and AutoHead after models that are not softmax networks: an SVM, trees, neighbours, a Hebbian readout.
    """
    from experiments.other_models import data_sets, report
    from experiments.other_models.measure import OtherModels, tasks

    folder = _folder(out, "models", quick)
    shown = [data_sets.digits()]
    if not quick:
        from experiments.data.mnist import load_mnist

        shown += [data_sets.image_segments(), data_sets.mnist_digits(load_mnist(data))]
    experiment = OtherModels({part.name: part for part in shown})
    outcomes = experiment.run(tasks(shown, 1 if quick else draws), folder / "outcomes.csv", again=again)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its tables and figure, outcomes.csv, run.json")


@app.command("few-labels")
def few_labels(
    data: Data = None, scores: ScoreFiles = None, out: Out = None, jobs: Jobs = 2, again: Again = False
) -> None:
    """AutoHead with few labels.

    Ten draws of 100 labelled samples, and two of 500, on the networks of the benchmark.
    """
    from experiments.benchmark import few_labels_report
    from experiments.benchmark.few_labels import FewLabels, tasks
    from experiments.data.mnist import load_mnist

    folder = _folder(out, "few-labels", quick=False)
    outcomes = FewLabels().run(tasks(load_mnist(data), scores), folder / "outcomes.csv", again=again, jobs=jobs)
    print(few_labels_report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its table, outcomes.csv, run.json")


@app.command()
def layers(
    data: DataWithCIFAR10 = None,
    out: Out = None,
    quick: Annotated[bool, typer.Option("--quick", help="One network on MNIST with 400 samples only.")] = False,
    again: Again = False,
) -> None:
    """Do inner layers help?

    AutoHead with the logits only, with the last hidden layer, with an earlier one, and with both side by side.
    """
    from experiments.data.mnist import load_mnist
    from experiments.layers import report
    from experiments.layers.measure import LayersExperiment, tasks
    from experiments.layers.networks import Networks

    folder = _folder(out, "layers", quick)
    mnist, cifar10 = load_mnist(data), _load_cifar10(data, quick)
    cases = tasks(cifar=cifar10 is not None, quick=quick)
    outcomes = LayersExperiment(Networks(mnist, cifar10)).run(cases, folder / "outcomes.csv", again=again)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its table, outcomes.csv, run.json")


@app.command()
def costs(
    out: Out = None,
    scores: ScoreFiles = None,
    jobs: Jobs = 2,
    draws: Annotated[
        int, typer.Option("--draws", min=1, metavar="N", help="Draws of labelled samples; the same command adds more.")
    ] = 5,
    quick: Annotated[bool, typer.Option("--quick", help="One draw of two score sets only.")] = False,
    again: Again = False,
) -> None:
    """Decisions by costs, and by metrics other than accuracy.

    Decider against plug-in rules and tuned thresholds, on the same labelled samples. With --scores, published networks
    are added.
    """
    from experiments.costs import report
    from experiments.costs.cases import tasks
    from experiments.costs.measure import CostsExperiment

    folder = _folder(out, "costs", quick)
    wanted = tasks(1 if quick else draws, published=scores is not None, quick=quick)
    outcomes = CostsExperiment(scores).run(wanted, folder / "outcomes.csv", again=again, jobs=jobs)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its tables, a figure, outcomes.csv, run.json")


@app.command()
def trust(
    out: Out = None,
    jobs: Jobs = 2,
    quick: Annotated[bool, typer.Option("--quick", help="Three draws of two worlds only.")] = False,
    again: Again = False,
) -> None:
    """Does AutoHead keep its promises?

    False alarms, harm, coverage of the true gain and its bias, in simulated worlds whose truth is known.
    """
    from experiments.trust import report
    from experiments.trust.measure import TrustExperiment, tasks

    folder = _folder(out, "trust", quick)
    outcomes = TrustExperiment().run(tasks(quick), folder / "outcomes.csv", again=again, jobs=jobs)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its tables, outcomes.csv, run.json")


@app.command()
def abstention(
    out: Out = None,
    jobs: Jobs = 2,
    quick: Annotated[bool, typer.Option("--quick", help="Three draws of two worlds only.")] = False,
    again: Again = False,
) -> None:
    """Is the promise of max_error kept, and how much does the head decide alone?

    Decider(max_error=...) on SoftmaxClassifier and AutoHead, in simulated worlds whose truth is known.
    """
    from aftermax._utils.files import write_text
    from experiments.abstention import report
    from experiments.abstention.measure import AbstentionExperiment, tasks
    from experiments.abstention.procedures import QUICK_RUNS, RUNS, compare

    folder = _folder(out, "abstention", quick)
    outcomes = AbstentionExperiment().run(tasks(quick), folder / "outcomes.csv", again=again, jobs=jobs)
    if again or not (folder / "procedures.md").exists():
        write_text(folder / "procedures.md", compare(QUICK_RUNS if quick else RUNS))
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its tables and figure, outcomes.csv, run.json")


@app.command()
def priors(
    scores: ScoreFiles = None,
    out: Out = None,
    jobs: Jobs = 2,
    quick: Annotated[bool, typer.Option("--quick", help="One draw of one case only.")] = False,
    again: Again = False,
    more: More = False,
) -> None:
    """New class proportions from unlabelled samples, against quapy and abstention.

    Needs their packages: pip install quapy abstention.
    """
    from experiments.priors import report
    from experiments.priors.measure import PriorsExperiment, tasks

    _require("quapy", "abstention")
    folder = _folder(out, "priors", quick)
    outcomes = PriorsExperiment(scores).run(tasks(quick), folder / "outcomes.csv", again=again, more=more, jobs=jobs)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its tables and figure, outcomes.csv, run.json")


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

    redone, folder, cases = _methods(redo, METHODS), _folder(out, "vendor", quick), tasks(quick)
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

    redone, folder = _methods(redo, METHODS), _folder(out, "characters", quick)
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

    redone, folder = _methods(redo, LINES), _folder(out, "zeroshot", quick)
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

    texts, folder = banking77_folder(text), _folder(out, "prompts", quick)
    experiment = PromptsExperiment(embed(texts, kept), embed_prompts(texts, kept))
    outcomes = experiment.run(tasks(draws, quick), folder / "outcomes.csv", again=again, jobs=jobs)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its table, outcomes.csv, run.json")


def _load_cifar10(data: Path | None, quick: bool) -> CIFAR10 | None:
    """CIFAR-10 if it is there, or else a line that says how to get it; a quick run does without."""
    if quick:
        return None
    from experiments.data.cifar10 import FOLDER, load_cifar10

    cifar10 = load_cifar10(data)
    if cifar10 is None:
        place = data or os.environ.get("AFTERMAX_DATA") or "data"
        print(
            f"CIFAR-10 is left out: there is no folder {FOLDER} in {place}. To include it, get cifar-10-python.tar.gz "
            "(https://www.cs.toronto.edu/~kriz/cifar.html) and unpack it there."
        )
    return cifar10


def _letters(quick: bool) -> list[Trial]:
    """The trials on letters, or else a line that says what they lack; a quick run does without."""
    from experiments.benchmark.letters_trials import letters_trials

    try:
        return [] if quick else letters_trials()
    except (ImportError, OSError) as error:
        print(f"UCI's letters are left out. {error}")
        return []


def _texts(folder: Path | None, quick: bool) -> list[Trial]:
    """The trials on texts, or else a line that says what they lack; none without a folder."""
    from experiments.benchmark.text_trials import text_trials

    try:
        return text_trials(folder, quick=quick) if folder else []
    except ImportError as error:
        print(f"Texts are left out. {error}")
        return []


def _run_shift(
    mnist: MNIST,
    cifar10: CIFAR10 | None,
    folder: Path,
    *,
    quick: bool,
    again: bool,
    jobs: int,
    redo: Sequence[str] = (),
) -> list[Outcome]:
    """The outcomes of the shift trials, including those that the folder holds already."""
    from experiments.benchmark import shifted_data
    from experiments.benchmark.measure import Benchmark

    shifted_data.prepare(mnist, cifar10, quick=quick)
    trials = shifted_data.trials(mnist, cifar10, quick=quick)
    return Benchmark().run(trials, folder / "outcomes.csv", again=again, redo=redo, jobs=jobs)


def _methods(redo: Sequence[str] | None, known: Collection[str]) -> Sequence[str]:
    """The methods to measure again; an error if one is not known."""
    unknown = [name for name in redo or () if name not in known]
    if unknown:
        raise ValueError(f"--redo {unknown[0]} is not a method: choose from {', '.join(known)}.")
    return tuple(redo or ())


def _folder(given: Path | None, name: str, quick: bool) -> Path:
    return given or Path("results") / (f"{name}-quick" if quick else name)
