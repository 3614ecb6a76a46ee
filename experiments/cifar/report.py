"""Tables and text of the experiment on CIFAR."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aftermax import SPHClassifier
from aftermax._utils.files import write_text
from aftermax._utils.text import percent, signed, table
from aftermax.data import SHIPPED, Scores
from experiments.cifar import figures
from experiments.cifar.behaviour import Behaviour, behaviour_table
from experiments.cifar.cases import TEMPERATURES
from experiments.cifar.certainty import Certainty, certainty_of, of_vmnist
from experiments.cifar.claims import METHODS, REDUCTIONS, VMNIST_NAMES, findings
from experiments.cifar.guesses import guesses
from experiments.cifar.measure import Outcome
from experiments.cifar.results import HONEST, Results, accuracies, gains
from experiments.data.cifar10 import CLASSES
from experiments.networks.cifar_networks import kept_path, load_samples
from experiments.networks.cifar_recipes import DATA_SETS, EVERYTHING, NETWORKS, RUNS
from experiments.paper.figures import PAPER_GAIN, responses_by_column, responses_by_row
from experiments.paper.report import claims_table, verdicts
from experiments.paper.results import Outcome as VmnistOutcome
from experiments.paper.results import Results as VmnistResults
from experiments.plotting import save
from experiments.runs import provenance
from experiments.runs.csv_records import read_records

SUMMARY = ("sph_best_on_test", "sph_chosen", "auto", "auto_features")
TEMPLATE = Path(__file__).with_suffix(".md")
SHOWN = "cifar10-32"  # the network of Figures 1 and 2
HEADINGS = {
    "sph_best_on_test": "SPH, best on test (*looks at its labels: the paper's protocol*)",
    "sph_chosen": "SPH, chosen honestly",
    "auto": "**AutoHead**",
    "auto_features": "AutoHead with features",
    "sms": "probmetrics' sms",
}


def write(outcomes: Sequence[Outcome], records: Sequence[Behaviour], kept: Path, vmnist: Path, out: Path) -> str:
    """Write tables, figures and the report to ``out``; the tables as text.

    ``kept`` has the networks' scores, ``vmnist`` the outcomes of the main experiment, for comparison. A quick run has
    no report, as it has nothing that explains.
    """
    results = Results(outcomes)
    on_mnist = VmnistResults(read_records(VmnistOutcome, vmnist))
    tables = {"networks": networks_table(results), "summary": summary_table(results, on_mnist)}
    save(figures.reductions(results), out / "reductions")
    if results.has("training"):
        tables |= explanations(results, records, on_mnist)
        draw_explanations(results, records, on_mnist, kept, out)
        draw_response_arrays(kept, out)
        write_text(out / "report.md", report(results, tables, out))
    for name, text in tables.items():
        write_text(out / f"{name}.md", text)
    return "\n".join(tables.values())


def explanations(results: Results, records: Sequence[Behaviour], vmnist: VmnistResults) -> dict[str, str]:
    """The tables of the paper's findings and guesses, of temperatures and of softmax's behaviour."""
    found = findings(results, vmnist)
    why = guesses(results, records, [of_vmnist(size) for size in SHIPPED])
    return {
        "findings": f"{claims_table(found)}\n{verdicts(found)}",
        "guesses": claims_table(why),
        "temperatures": temperature_table(results),
        "behaviour": behaviour_table(records),
    }


def report(results: Results, tables: dict[str, str], out: Path) -> str:
    """The whole report; with the table of untrained networks, if it is in the folder."""
    untrained = out / "untrained.md"
    return TEMPLATE.read_text().format(
        networks=len(NETWORKS),
        others=len(EVERYTHING) - len(NETWORKS),
        published=len({(o.network, o.data) for o in results.of("softmax", "published")}),
        made_by=provenance.sentence(out),
        findings=tables["findings"],
        networks_table=tables["networks"],
        harm=harm(results),
        guesses=tables["guesses"],
        temperatures=tables["temperatures"],
        behaviour=tables["behaviour"],
        untrained=untrained.read_text() if untrained.is_file() else "(not measured)\n",
        shown=SHOWN,
    )


def draw_explanations(
    results: Results, records: Sequence[Behaviour], vmnist: VmnistResults, kept: Path, out: Path
) -> None:
    """Write the figures that test the paper's guesses."""
    save(figures.certainties([*certainties(kept), of_vmnist(SHIPPED[1])]), out / "certainty")
    save(figures.classes(results), out / "classes")
    save(figures.training(results), out / "training")
    save(figures.samples(results, vmnist), out / "samples")
    save(figures.shift(results), out / "shift")
    save(figures.imbalance(results, records), out / "imbalance")


def draw_response_arrays(kept: Path, out: Path) -> None:
    """Write Figures 1 and 2."""
    scores = named_scores(kept)
    head = SPHClassifier(classes=np.array(CLASSES)).fit(scores.val_logits, scores.val_labels)
    save(responses_by_column(head), out / "figure1")
    save(responses_by_row(head, scores), out / "figure2")


def named_scores(kept: Path) -> Scores:
    """The scores of the network of Figures 1 and 2, with CIFAR-10's class names as labels."""
    validation, test = load_samples(kept_path(SHOWN, kept))
    names = np.array(CLASSES)
    return Scores(validation.logits, names[validation.labels], test.logits, names[test.labels])


def certainties(kept: Path) -> list[Certainty]:
    """The weakest and the strongest network on CIFAR-10, the strongest on CIFAR-100, and the overfitted one."""
    last = RUNS["run-convolutional"].checkpoints[-1]
    paths = {
        "CIFAR-10, weakest": kept_path("cifar10-8", kept),
        "CIFAR-10, strongest": kept_path("cifar10-48", kept),
        "CIFAR-100, strongest": kept_path("cifar100-48", kept),
        "CIFAR-10, not augmented": kept_path("run-convolutional", kept, epochs=last),
    }
    return [certainty_of(name, load_samples(path)[1]) for name, path in paths.items()]


# ---- tables ----------------------------------------------------------------------------------------------------------


def networks_table(results: Results) -> str:
    """A line for each network, a column for each method."""
    rows = []
    for part in ("networks", "published"):
        for softmax in sorted(results.of("softmax", part), key=lambda o: (o.classes, o.softmax_accuracy)):
            cells = [DATA_SETS[softmax.data], softmax.network, percent(softmax.softmax_accuracy)]
            for method in HEADINGS:
                found = results.of(method, part, softmax.data, network=softmax.network)
                cell = (
                    signed(found[0].gain) + (" (significantly worse)" if found[0].significantly_worse else "")
                    if found
                    else "-"
                )
                cells.append(f"**{cell}**" if method == "auto" else cell)
            rows.append(cells)
    return table(["data", "network", "softmax's accuracy", *HEADINGS.values()], rows, texts=2)


def summary_table(results: Results, vmnist: VmnistResults) -> str:
    """A line for each data set, MNIST included: the range over our networks, on MNIST of the means over each size."""
    rows = [_mnist_row(vmnist)] if vmnist.outcomes else []
    for data, title in DATA_SETS.items():
        ours = results.of("softmax", data=data)
        if not ours:
            continue
        found = [gains(results.of(method, data=data)) for method in SUMMARY]
        rows.append([title, _range(accuracies(ours)), "{:g} to {:g} %".format(*REDUCTIONS[data]), *map(_range, found)])
    heads = ["data", "our networks' accuracy", "the paper: SPH, best on test", *(HEADINGS[name] for name in SUMMARY)]
    return table(heads, rows, texts=1)


def _mnist_row(vmnist: VmnistResults) -> list[str]:
    found = [_range(vmnist.gains(VMNIST_NAMES[name])) for name in METHODS]
    return ["MNIST", _range(100 * vmnist.accuracies()), "{} to {} %".format(*PAPER_GAIN), *found, "-"]


def _range(values: NDArray[np.float64]) -> str:
    if not len(values):
        return "-"
    return f"{values.min():.1f} to {values.max():.1f} %".replace("-0.0", "0.0")


def temperature_table(results: Results) -> str:
    """SPH's gain as it is, and at each temperature."""
    last = f"{RUNS['run-convolutional'].checkpoints[-1]:g}"
    clean = {
        (o.network, o.method): o.gain
        for o in results.outcomes
        if o.part in ("networks", "published") or (o.part, o.variant) == ("training", last)
    }
    found = [o for o in results.outcomes if o.part == "temperature"]
    rows = []
    for network in sorted({o.network for o in found}):
        cells = [network]
        for method in ("sph_best_on_test", "sph_chosen"):
            gain = {o.variant: o.gain for o in found if (o.network, o.method) == (network, method)}
            gain["as it is"] = clean[network, method]
            cells += [signed(gain[name]) if name in gain else "-" for name in ("as it is", *TEMPERATURES)]
        rows.append(cells)
    heads = [
        f"{title}: {temperature}"
        for title in ("best on test (*by its labels*)", "chosen honestly")
        for temperature in ("as it is", *(f"T = {value}" if value != "fitted" else value for value in TEMPERATURES))
    ]
    return table(["network", *heads], rows, texts=1)


def harm(results: Results) -> str:
    """Where an honest method is significantly worse than softmax, and in how many cases that was tested."""
    worse = results.significantly_worse()
    tested = sum(outcome.method in HONEST for outcome in results.outcomes)
    if not worse:
        return f"None of the {tested} honest results here is significantly worse than softmax (McNemar, p < 0.05).\n"
    names = "; ".join(f"{o.part} {o.data} {o.network} {o.variant} {o.method}: {signed(o.gain)}" for o in worse)
    return f"Of the {tested} honest results here, {len(worse)} are significantly worse than softmax: {names}.\n"
