"""The figures of the experiment on CIFAR. Each function draws one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.cifar.behaviour import Behaviour
from experiments.cifar.certainty import BINS, Certainty
from experiments.cifar.claims import METHODS, REDUCTIONS, VMNIST_NAMES
from experiments.cifar.measure import Outcome
from experiments.cifar.results import Results, accuracies, gains
from experiments.networks.cifar_recipes import CONVOLUTIONAL, DATA_SETS, DENSE, RUNS
from experiments.paper.figures import STYLES as PAPER_STYLES
from experiments.paper.results import Results as VmnistResults
from experiments.plotting import BAND, RULE, Style, draw_points, hide_frame, log_samples_axis, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = {
    "sph_best_on_test": PAPER_STYLES["sph_best_on_test"],
    "sph_chosen": PAPER_STYLES["sph_chosen"],
    "auto": PAPER_STYLES["auto_head"],
    "auto_features": Style("AutoHead with features, chosen honestly", "o", "-.", "#2e7d4f", "white"),
}
ERRORS = "fewer test errors than softmax, %"
SAMPLES = {
    "CIFAR-10, convolutional; 5,000 labelled samples": CONVOLUTIONAL,
    "CIFAR-10, dense; 5,000 labelled samples": DENSE,
}
PART_STYLES = {  # label, marker and colour
    "networks": ("our finished networks", "o", "black"),
    "published": ("published networks", "s", "#8a8a8a"),
    "samples": ("trained on few or many images", "^", "#c46a1f"),
    "training": ("in the middle of training", "v", "#2e7d4f"),
    "shift": ("on shifted images", "D", "#0b4f9e"),
}
RUN_TITLES = {"run-convolutional": "convolutional", "run-dense": "dense"}


def reductions(results: Results) -> Figure:
    """The paper's result on CIFAR: the reduction of the error against softmax's accuracy, for each data set."""
    data_sets = [data for data in DATA_SETS if results.of("softmax", data=data)]
    figure = new_figure(max(3.7 * len(data_sets), 6.0), 4.4)
    panels = np.atleast_1d(figure.subplots(1, len(data_sets), sharey=True))
    for axes, data in zip(panels, data_sets, strict=True):
        axes.axhspan(*REDUCTIONS[data], color=BAND, zorder=0, label="the paper's range, by the test labels")
        axes.axhline(0.0, color=RULE, linewidth=0.8)
        for method, style in STYLES.items():
            ours = sorted(results.of(method, data=data), key=lambda o: o.softmax_accuracy)
            axes.plot(accuracies(ours), gains(ours), **style.options, label=style.label)
            others = results.of(method, "published", data)
            if others:
                options = style.options | {"linestyle": "", "markersize": 4, "alpha": 0.45}
                axes.plot(accuracies(others), gains(others), **options)
        axes.set_title(DATA_SETS[data], fontsize="medium")
        axes.set_xlabel("softmax's test accuracy, %")
        hide_frame(axes)
    panels[0].set_ylabel(ERRORS)
    legend(figure, panels[0])
    return figure


def certainties(shown: Sequence[Certainty]) -> Figure:
    """Guess (a): how many samples have which certainty, and how many of them are wrong."""
    figure = new_figure(2.6 * len(shown), 3.2)
    panels = np.atleast_1d(figure.subplots(1, len(shown), sharey=True))
    middles = (np.arange(BINS) + 0.5) / BINS
    for axes, certainty in zip(panels, shown, strict=True):
        axes.bar(middles, 100 * certainty.shares, width=0.9 / BINS, color="#c9d6e8", label="samples")
        axes.plot(middles, 100 * certainty.error_rates, "D-", color="#b03a2e", markersize=4, label="wrong among them")
        wrong, order = f"{100 * certainty.bunched_wrong:.0f} % of errors above 0.9", f"AUROC {certainty.order:.2f}"
        title = f"{certainty.name}: {100 * certainty.accuracy:.0f} %\n{wrong}; {order}"
        axes.set_title(title, fontsize="x-small")
        axes.set_ylim(0, 100)
        axes.set_xlim(0, 1)
        axes.tick_params(labelsize="small")
        axes.set_xlabel("certainty", fontsize="small")
        hide_frame(axes)
    panels[0].set_ylabel("per cent")
    legend(figure, panels[0])
    return figure


def classes(results: Results) -> Figure:
    """Guess (b): the gain against the number of classes, with the same network: all samples, and 200 throughout."""
    figure = new_figure(10.5, 4.2)
    panels = figure.subplots(1, 2, sharey=True)
    whole = [o for o in results.outcomes if o.part == "classes" or (o.part, o.network) == ("networks", "cifar100-48")]
    few = [o for o in results.outcomes if o.part == "classes-200"]
    titles = ("50 validation and test samples for each class", "200 validation and 200 test samples in all")
    for axes, title, outcomes in zip(panels, titles, (whole, few), strict=True):
        axes.axhline(0.0, color=RULE, linewidth=0.8)
        for method in METHODS:
            _draw_by_classes(axes, [o for o in outcomes if o.method == method], STYLES[method])
        counts = sorted({o.classes for o in outcomes})
        axes.set_xscale("log")
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.minorticks_off()
        axes.set_xlabel("classes of CIFAR-100, one network")
        axes.set_title(title, fontsize="medium")
        hide_frame(axes)
    panels[0].set_ylabel(f"{ERRORS}\nmean and standard error over draws")
    legend(figure, panels[0])
    return figure


def _draw_by_classes(axes: Axes, found: Sequence[Outcome], style: Style) -> None:
    counts = sorted({o.classes for o in found})
    groups = [gains([o for o in found if o.classes == count]) for count in counts]
    bars = [group.std() / np.sqrt(max(len(group) - 1, 1)) for group in groups]
    draw_points(axes, counts, [group.mean() for group in groups], bars, style)


def training(results: Results) -> Figure:
    """Guess (c): the gain along two runs, by epochs, by accuracy and by how far D separates the classes."""
    figure = new_figure(11.0, 6.4)
    rows = figure.subplots(len(RUNS), 3, sharey=True)
    across: list[tuple[str, Callable[[Outcome], float]]] = [
        ("epochs", lambda o: float(o.variant)),
        ("softmax's test accuracy, %", lambda o: 100 * o.softmax_accuracy),
        ("median separation of D", lambda o: o.separation),
    ]
    for row, name in zip(rows, RUNS, strict=True):
        for axes, (label, value) in zip(row, across, strict=True):
            axes.axhline(0.0, color=RULE, linewidth=0.8)
            for method in METHODS:
                found = sorted(results.of(method, "training", network=name), key=value)
                axes.plot([value(o) for o in found], gains(found), **STYLES[method].options, label=STYLES[method].label)
            axes.set_xlabel(label)
            hide_frame(axes)
        row[0].set_xscale("log")
        row[0].xaxis.set_major_formatter("{x:g}")
        row[0].set_ylabel(f"{RUN_TITLES[name]} network\n{ERRORS}")
    legend(figure, rows[0][0])
    return figure


def samples(results: Results, vmnist: VmnistResults) -> Figure:
    """The other difference from vMNIST: the number of training samples, for both data sets."""
    figure = new_figure(10.5, 4.2)
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (title, names) in zip(panels, SAMPLES.items(), strict=False):
        for method in METHODS:
            found = sorted((o for o in results.of(method, "samples") if o.network in names), key=_training_samples)
            axes.plot([_training_samples(o) for o in found], gains(found), **STYLES[method].options)
        axes.set_title(title, fontsize="medium")
    for method in METHODS:
        style, theirs = STYLES[method], VMNIST_NAMES[method]
        if vmnist.of(theirs):
            panels[-1].plot(vmnist.sizes, vmnist.gains(theirs), **style.options, label=style.label)
    panels[-1].set_title("MNIST, dense; 4,000 labelled samples", fontsize="medium")
    for axes in panels:
        axes.axhline(0.0, color=RULE, linewidth=0.8)
        log_samples_axis(axes)
        hide_frame(axes)
    panels[0].set_ylabel(ERRORS)
    legend(figure, panels[-1])
    return figure


def _training_samples(outcome: Outcome) -> int:
    return int(outcome.variant)


def imbalance(results: Results, records: Sequence[Behaviour]) -> Figure:
    """What we found instead: the gain against how far the predicted class shares are from the true ones."""
    figure = new_figure(10.5, 4.4)
    panels = figure.subplots(1, 2, sharey=True)
    off = {record.key: 100 * record.imbalance for record in records}
    for axes, method in zip(panels, ("sph_chosen", "auto"), strict=True):
        axes.axhline(0.0, color=RULE, linewidth=0.8)
        for part, (label, marker, colour) in PART_STYLES.items():
            found = [o for o in results.of(method, part) if o.key in off]
            axes.plot([off[o.key] for o in found], gains(found), marker, color=colour, markersize=5, label=label)
        axes.set_title(STYLES[method].label, fontsize="medium")
        axes.set_xlabel("predicted class shares off by, %")
        hide_frame(axes)
    panels[0].set_ylabel(ERRORS)
    legend(figure, panels[0])
    return figure


def shift(results: Results) -> Figure:
    """The way out: the same networks without and under shift."""
    found = results.of("softmax", "shift")
    keys = [(o.data, o.network) for o in found]
    figure = new_figure(8.6, 1.6 + 0.34 * len(found))
    axes = figure.subplots()
    axes.axvline(0.0, color=RULE, linewidth=0.8)
    for method in METHODS:
        style = STYLES[method]
        clean = {
            (o.data, o.network): 100 * o.gain for part in ("networks", "published") for o in results.of(method, part)
        }
        options = style.options | {"linestyle": ""}
        axes.plot(gains(results.of(method, "shift")), range(len(keys)), **options, label=f"{style.label}: shifted")
        faint = options | {"alpha": 0.3, "markersize": 4}
        axes.plot([clean.get(key, np.nan) for key in keys], range(len(keys)), **faint, label=f"{style.label}: clean")
    labels = [f"{DATA_SETS[o.data]}, {o.network}, {o.variant}: {100 * o.softmax_accuracy:.0f} %" for o in found]
    axes.set_yticks(range(len(keys)), labels, fontsize="small")
    axes.invert_yaxis()
    axes.set_xlabel(ERRORS)
    axes.grid(axis="y", color="#eeeeee", linewidth=0.6)
    hide_frame(axes, "top", "right", "left")
    legend(figure, axes)
    return figure


def legend(figure: Figure, axes: Axes) -> None:
    """The legend of one of the axes, below all of them."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")
