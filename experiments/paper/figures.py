"""The paper's six figures, from our networks. Each function draws one; :func:`draw_all` writes them all."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix

from aftermax import SPHClassifier, sweep
from aftermax.data import Scores
from aftermax.plots import ClassPairDisplay, ResponseArrayDisplay, RoutesDisplay, SweepDisplay
from aftermax.sph.grid import DEFAULTS, Grid
from experiments.paper.claims import COMPARED, STRONG
from experiments.paper.results import Outcome, Results
from experiments.paper.wasted_samples import Waste
from experiments.plotting import (
    BAND,
    BEST_ON_TEST,
    RULE,
    Style,
    draw_points,
    hide_frame,
    log_samples_axis,
    new_figure,
    save,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = {
    "sph_best_on_test": BEST_ON_TEST._replace(label=f"SPH, {BEST_ON_TEST.label}"),
    "sph_chosen": Style("SPH, chosen honestly (SPHClassifierCV)", "s", "--", "#c46a1f", "#c46a1f"),
    "auto_head": Style("AutoHead, chosen honestly", "D", "-", "#0b4f9e", "#0b4f9e"),
}
FIGURE_6 = (0.74, 0.84, 0.95)  # validation accuracies of the paper's three networks
PAPER_GAIN, PAPER_WASTE = (6, 20), (15, 40)  # per cent
SIDEWAYS = 1.12  # by which factor the points of a size are moved apart, at most
FACTORS = (1, 1.2, 1.4, 1.6, 2, 3, 5, 10)  # of virtual training samples, on an axis


# ---- the network of Figures 1, 2 and 5 -------------------------------------------------------------------------------


def responses_by_column(head: SPHClassifier) -> Figure:
    """Figure 1: the response array by column, which softmax does not use."""
    figure = new_figure(10.5, 4.4)
    ResponseArrayDisplay.from_estimator(head, figure=figure)
    return figure


def responses_by_row(head: SPHClassifier, scores: Scores) -> Figure:
    """Figure 2: the response array by row, and the rows of the two classes that softmax confuses most."""
    first, second = most_confused(scores, head.classes_)
    figure = new_figure(10.5, 7.6)
    above, below = figure.subfigures(2, 1, height_ratios=(3, 4.6), squeeze=False)[:, 0]
    others = [name for name in head.classes_ if name not in (first, second)]
    shown = [name for name in head.classes_ if name in (first, second, *others[1::3])]
    ResponseArrayDisplay.from_estimator(head, by="row", classes=shown, figure=above)
    ClassPairDisplay.from_estimator(head, first, second, figure=below)
    for part, letter in ((above, "A"), (below, "B")):
        part.text(0.005, 0.98, letter, fontsize="x-large", weight="bold", va="top")
    return figure


def most_confused(scores: Scores, classes: NDArray[Any]) -> tuple[Any, Any]:
    """The two classes that softmax takes for each other most often on the validation samples; the worse one first."""
    predicted = classes[scores.val_logits.argmax(axis=1)]
    counts = confusion_matrix(scores.val_labels, predicted, labels=classes)
    mutual = np.triu(counts + counts.T, k=1)
    first, second = np.unravel_index(np.argmax(mutual), mutual.shape)
    order = (first, second) if counts[first, second] >= counts[second, first] else (second, first)
    return classes[order[0]], classes[order[1]]


def flow_chart(head: SPHClassifier, scores: Scores) -> Figure:
    """Figure 5: the route of the test samples."""
    figure = new_figure(7.0, 5.4)
    RoutesDisplay.from_estimator(head, scores.test_logits, scores.test_labels, ax=figure.subplots())
    return figure


def chosen_head(outcome: Outcome, scores: Scores) -> SPHClassifier:
    """SPH with the hyperparameters of an outcome, fitted on the validation samples."""
    return SPHClassifier(**json.loads(outcome.settings)).fit(scores.val_logits, scores.val_labels)


# ---- Figure 3 --------------------------------------------------------------------------------------------------------


def gains(results: Results) -> Figure:
    """Figure 3: A, accuracy against training samples; B, relative reduction of the error against accuracy."""
    figure = new_figure(10.5, 4.6)
    left, right = figure.subplots(1, 2)
    everything = np.full(len(results.sizes), True)
    _accuracies(left, results, everything)
    strong = results.accuracies() > STRONG
    if strong.any():
        _inset(left, results, strong)
    _reductions(right, results)
    left.set_title("A: accuracy before and after", fontsize="medium")
    right.set_title("B: relative reduction of the error", fontsize="medium")
    _legend(figure, right)
    return figure


def _accuracies(axes: Axes, results: Results, shown: NDArray[np.bool_]) -> None:
    """Mean accuracies, softmax's and each method's, joined by a bar: the raw gain."""
    sizes, before = np.array(results.sizes)[shown], 100 * results.accuracies()[shown]
    for method, shift in zip(COMPARED, (1 / SIDEWAYS, 1.0, SIDEWAYS), strict=True):
        style = STYLES[method]
        after = 100 * results.accuracies(method)[shown]
        axes.vlines(shift * sizes, before, after, color=style.colour, linestyle=style.line, linewidth=2.0)
        axes.plot(shift * sizes, before, "o", color="black", markersize=3)
        axes.plot(shift * sizes, after, style.marker, color=style.colour, markerfacecolor=style.fill, markersize=5)
    _samples(axes)
    axes.set_ylabel("test accuracy, %\n(dots: softmax)")


def _inset(axes: Axes, results: Results, strong: NDArray[np.bool_]) -> None:
    """The strong networks again, stretched."""
    inset = axes.inset_axes((0.42, 0.13, 0.56, 0.5))
    _accuracies(inset, results, strong)
    inset.set(xlabel="", ylabel="")
    sizes = np.array(results.sizes)[strong]
    inset.set_xlim(0.7 * sizes[0], 1.4 * sizes[-1])
    inset.set_xticks(sizes)
    inset.spines[:].set_visible(True)
    inset.tick_params(labelsize="x-small")
    axes.indicate_inset_zoom(inset, edgecolor="#777777", zorder=0)  # behind the points that its lines cross


def _reductions(axes: Axes, results: Results) -> None:
    axes.axhspan(*PAPER_GAIN, color=BAND, zorder=0, label="the paper's 6 to 20 %")
    axes.axhline(0.0, color=RULE, linewidth=0.8)
    for method in COMPARED:
        means, spreads = results.gains(method), results.gains(method, np.std)
        draw_points(axes, 100 * results.accuracies(), means, spreads, STYLES[method])
    axes.set_xlabel("softmax's test accuracy, %")
    axes.set_ylabel("fewer test errors than softmax, %\nmean and standard deviation over networks")
    hide_frame(axes)


# ---- Figure 4 --------------------------------------------------------------------------------------------------------


def waste(wastes: dict[str, Waste]) -> Figure:
    """Figure 4: the share of its training samples that softmax wastes, by their number and by its accuracy."""
    figure = new_figure(10.5, 4.4)
    left, right = figure.subplots(1, 2, sharey=True)
    for axes in (left, right):
        axes.axhspan(*PAPER_WASTE, color=BAND, zorder=0, label="the paper's 15 to 40 %")
        axes.axhline(0.0, color=RULE, linewidth=0.8)
    for method, wasted in wastes.items():
        _wasted(left, wasted.samples, wasted, STYLES[method])
        _wasted(right, 100 * wasted.accuracy, wasted, STYLES[method])
    _samples(left)
    left.set_xlabel("training samples used by softmax")
    left.set_ylabel("training samples wasted by softmax, %\n(bars: 95 % over networks)")
    left.set_title("A: by training samples", fontsize="medium")
    right.set_xlabel("test accuracy, %")
    right.set_title("B: by accuracy", fontsize="medium")
    hide_frame(right)
    factor = right.secondary_yaxis("right", functions=(_factor, _share))
    factor.set_ylabel("virtual training samples, times as many")
    factor.set_yticks(FACTORS, [f"{factor:g}" for factor in FACTORS])
    _legend(figure, right)
    return figure


def _wasted(axes: Axes, x: NDArray[np.float64], wasted: Waste, style: Style) -> None:
    middle = 100 * wasted.wasted
    draw_points(axes, x, middle, [middle - 100 * wasted.low, 100 * wasted.high - middle], style)


def _factor(percent: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / np.maximum(1 - np.asarray(percent) / 100, 1e-3)


def _share(factor: NDArray[np.float64]) -> NDArray[np.float64]:
    return 100 * (1 - 1 / np.maximum(factor, 1e-3))


# ---- Figure 6 --------------------------------------------------------------------------------------------------------


def validation_against_test(examples: Sequence[tuple[Outcome, Scores]], grid: Grid | None = None) -> Figure:
    """Figure 6: gain on the validation samples, which SPH was fitted on, against gain on the test samples.

    There is a point for every set of hyperparameters.
    """
    figure = new_figure(4.2 * len(examples), 4.7)
    for axes, (outcome, scores) in zip(np.atleast_1d(figure.subplots(1, len(examples))), examples, strict=True):
        logits, labels, test, truth = scores
        on_validation = sweep(logits, labels, grid, progress=False)
        on_test = sweep(logits, labels, grid, eval_logits=test, eval_labels=truth, progress=False)
        hyperparameters = DEFAULTS | json.loads(outcome.settings)
        kept = hyperparameters["certainty"] == 0
        chosen = None if kept else _index_of(hyperparameters, on_test)
        gains = on_validation["gain"], on_test["gain"]
        by = f"scoring the samples it was fitted on\ncorrelation where that is a gain: {_correlation(*gains)}"
        SweepDisplay(*gains, chosen=chosen, softmax_kept=kept, by=by).plot(ax=axes)
        accuracy = 100 * outcome.validation_accuracy
        title = f"{accuracy:.1f} % validation accuracy, trained on {outcome.trained_on:,}"
        axes.set_title(title, fontsize="medium")
    return figure


def _index_of(hyperparameters: dict[str, Any], columns: dict[str, NDArray[Any]]) -> int:
    """Which of the sets that were tried has these hyperparameters."""
    same = np.flatnonzero(np.all([columns[name] == value for name, value in hyperparameters.items()], axis=0))
    if not len(same):
        raise ValueError(f"The hyperparameters {hyperparameters} are not among those tried: start over with --again.")
    return int(same[0])


def _correlation(validation: NDArray[np.float64], test: NDArray[np.float64]) -> str:
    """Among the sets with a gain on the validation samples; the many with a large loss would dominate it."""
    gaining = validation > 0
    if np.count_nonzero(gaining) < 3 or np.ptp(test[gaining]) == 0 or np.ptp(validation[gaining]) == 0:
        return "none"
    return f"{np.corrcoef(validation[gaining], test[gaining])[0, 1]:+.2f}"


def examples(results: Results, accuracies: Sequence[float] = FIGURE_6) -> list[Outcome]:
    """For each accuracy, the network whose validation accuracy is nearest; no network twice."""
    left, nearest = results.of("sph_chosen"), []
    for accuracy in accuracies:
        nearest.append(min(left, key=lambda outcome: abs(outcome.validation_accuracy - accuracy)))
        left = [outcome for outcome in left if outcome is not nearest[-1]]
    return nearest


# ---- all of them -----------------------------------------------------------------------------------------------------


def draw_all(
    results: Results,
    wastes: dict[str, Waste],
    scores_of: Callable[[Outcome], Scores],
    folder: Path,
    grid: Grid | None = None,
) -> Outcome:
    """Write figure1 to figure6 to ``folder``; the network that Figures 1, 2 and 5 show."""
    shown = shown_network(results)
    scores = scores_of(shown)
    whole = SPHClassifier().fit(scores.val_logits, scores.val_labels)  # D of all validation samples
    of_figure_6 = [(outcome, scores_of(outcome)) for outcome in examples(results)]
    save(responses_by_column(whole), folder / "figure1")
    save(responses_by_row(whole, scores), folder / "figure2")
    save(gains(results), folder / "figure3")
    save(waste(wastes), folder / "figure4")
    save(flow_chart(chosen_head(shown, scores), scores), folder / "figure5")
    save(validation_against_test(of_figure_6, grid), folder / "figure6")
    return shown


def shown_network(results: Results) -> Outcome:
    """The first network of Figure 6, or else of all, for which SPH was chosen; if for none, the first."""
    candidates = [*examples(results), *results.of("sph_chosen")]
    return next((outcome for outcome in candidates if outcome.wins + outcome.losses), candidates[0])


def _legend(figure: Figure, axes: Axes) -> None:
    """The legend of all axes, below them: the paper's range, and the methods."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")


def _samples(axes: Axes) -> None:
    log_samples_axis(axes)
    axes.xaxis.set_minor_formatter("")
    hide_frame(axes)
