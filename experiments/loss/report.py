"""Table, figure and answers of the experiment on losses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aftermax._utils.text import p_value, percent, signed, table
from experiments.loss.measure import AUTO_NETWORKS, BASELINE, Outcome
from experiments.loss.results import AUTO, LEVEL, SAME, Pair, Results
from experiments.loss.training import EPOCHS, MAX_STEPS, epochs_to_try
from experiments.networks.recipes import MAIN, RECIPES
from experiments.plotting import RULE, Style, draw_points, hide_frame, log_samples_axis, new_figure
from experiments.runs.table_report import write_report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOSS_LABELS = {
    "softmax": "softmax",
    "sph": "SPH's pooled score",
    "sph_softmax": "SPH's pooled score + softmax",
    "gaussian": "Gaussian",
    "gaussian_softmax": "Gaussian + softmax",
}
PREDICTOR_LABELS = {
    "argmax": "argmax",
    "running": "its rule, D from training",
    "sph_validation": "SPH's pooling, D from validation",
    "gaussian_validation": "Gaussian, D from validation",
    "auto": "AutoHead",
}
STYLES = {
    "softmax": ("o", "-", "black", "white"),
    "sph": ("^", ":", "#8a8a8a", "white"),
    "sph_softmax": ("v", "--", "#8a8a8a", "#8a8a8a"),
    "gaussian": ("s", ":", "#c46a1f", "white"),
    "gaussian_softmax": ("s", "-", "#c46a1f", "#c46a1f"),
}
BEST = Style("softmax's loss, AutoHead", "D", "-", "#0b4f9e", "#0b4f9e")
MIN_NETWORKS = 10  # for a test to show a difference of a few points
MIN_Y = -80.0  # per cent; the panels end here, at the latest
NOTE = (
    "\\*: p < 0.05 in a paired t-test against softmax's argmax, over the networks of that size, if there are three.\n"
)
INTRODUCTION = f"""# A loss that uses D

The paper's third avenue: "during training, use loss functions that directly utilize D (instead of softmax)". Networks
on flattened MNIST are trained with the cross-entropy of softmax, of minus SPH's pooled score (asymmetric weighted
distances from each class's responses; the weights are constants to the gradient), of the log-likelihood of a Gaussian
for each class (shrunk covariances, log-determinant included), and of softmax's plus either. In training, D comes from
exponentially weighted statistics of the batches. The draws, the architecture, the optimiser and the initial weights are
those of the main experiment. For every loss, the number of epochs was chosen by the error of its own rule on the 4,000
validation samples, from {", ".join(map(str, EPOCHS))} as far as they take at most {MAX_STEPS} batches.

Each network predicts the same 4,000 test samples by argmax where softmax is in the loss, by its own rule with D from
training, by that rule with D estimated again on the validation samples, and with AutoHead fitted on the validation
samples. (For losses without softmax, AutoHead gets the log-probabilities of the network's own rule, as their responses
are not in the order of the classes.) AutoHead takes longest, so it was fitted on all networks with softmax's loss, on
the first {AUTO_NETWORKS["gaussian_softmax"]} of each size with Gaussian + softmax, and on the first with the others.
Fewer errors are relative to softmax's loss with argmax on the same networks. Written by `python -m experiments loss`.
"""


def write(outcomes: Sequence[Outcome], out: Path) -> str:
    """Write table, figure and report to ``out``; return the table and the answers as text."""
    results = Results(outcomes)
    caption = "fewer errors by size and loss"
    return write_report(out, INTRODUCTION, size_table(results), answers(results), draw(results), caption)


def title(pair: Pair) -> str:
    return f"{LOSS_LABELS[pair[0]]}, {PREDICTOR_LABELS[pair[1]]}"


# ---- the table -------------------------------------------------------------------------------------------------------


def size_table(results: Results) -> str:
    """A line for each loss and predictor, a column for each size: mean error, fewer errors, and a star if p < 0.05."""
    heads = ["loss", "predictor", *(f"{size:,}" for size in results.sizes), "networks", "fewer errors, all networks"]
    heads += ["against softmax's loss with AutoHead"]
    lines = []
    for pair in results.pairs:
        cells = [LOSS_LABELS[pair[0]], PREDICTOR_LABELS[pair[1]]]
        cells += [_cell(results, pair, size) for size in results.sizes]
        overall = results.difference(pair)
        cells += [str(overall.networks), signed(overall.mean) if pair != BASELINE else ""]
        lines.append([*cells, _against_auto(results, pair)])
    return f"{table(heads, lines, texts=2)}\n{NOTE}"


def _cell(results: Results, pair: Pair, size: int) -> str:
    group = results.of(pair, size)
    if not group:
        return "-"
    error = percent(float(np.mean([outcome.error for outcome in group])))
    if pair == BASELINE:
        return error
    difference = results.difference(pair, size=size)
    return f"{error} ({signed(difference.mean)}{'' if difference.verdict() == SAME else '*'})"


def _against_auto(results: Results, pair: Pair) -> str:
    difference = results.difference(pair, AUTO)
    if pair == AUTO or not difference.networks:
        return ""
    p = "" if np.isnan(difference.p) else f", p {p_value(difference.p)}"
    return f"{100 * difference.mean:+.1f} points on {difference.networks} networks{p}"


# ---- the answers -----------------------------------------------------------------------------------------------------


def answers(results: Results) -> str:
    """The answers, from the numbers; tests are paired over the networks of all sizes."""
    own = [pair for pair in results.pairs if pair[0] != "softmax" and pair[1] in ("argmax", "running")]
    again = [pair for pair in results.pairs if pair[0] != "softmax" and pair[1].endswith("_validation")]
    heads = [pair for pair in results.pairs if pair[0] != "softmax" and pair[1] == "auto"]
    questions = [
        ("Does such a loss beat softmax's, without a head?", own, BASELINE),
        ("Does it beat softmax's with AutoHead, when D comes from the same validation samples?", again, AUTO),
        ("Does AutoHead gain more on its responses than on those of softmax's loss?", heads, AUTO),
    ]
    lines = [f"- **{question}** {_answer(results, pairs, other)}" for question, pairs, other in questions if pairs]
    epochs = ", ".join(f"{LOSS_LABELS[loss]} {_epochs(results, loss)}" for loss in LOSS_LABELS)
    lines += [f"- Median number of epochs chosen: {epochs}.", f"- {_at_the_end(results)}"]
    return "\n".join(lines) + "\n"


def _answer(results: Results, pairs: Sequence[Pair], other: Pair) -> str:
    """Yes, if one of the pairs is significantly better than the other (Bonferroni-corrected); and all differences."""
    differences = {pair: results.difference(pair, other) for pair in pairs}
    verdicts = {pair: difference.verdict(LEVEL / len(pairs)) for pair, difference in differences.items()}
    better, worse = ([title(pair) for pair in pairs if verdicts[pair] == which] for which in ("better", "worse"))
    networks = min(difference.networks for difference in differences.values())
    few = f" On {networks} networks only little can be shown." if networks < MIN_NETWORKS else ""
    parts = [f"Yes: {'; '.join(better)}." if better else f"None does significantly (paired t-test).{few}"]
    if worse:
        parts.append(f"Significantly worse: {'; '.join(worse)}.")
    listed = "; ".join(
        f"{title(pair)} {100 * difference.mean:+.1f}" for pair, difference in differences.items() if difference.networks
    )
    parts.append(f"Differences in fewer errors, in points: {listed}.")
    return " ".join(parts)


def _at_the_end(results: Results) -> str:
    """How often the most epochs that were tried were the best: more might have been better."""
    chosen = {(o.key, o.loss): o for o in results.outcomes}.values()
    batch = RECIPES[MAIN].batch
    ends = [o for o in chosen if o.epochs == max(epochs_to_try(o.trained_on, batch))]
    return (
        f"In {len(ends)} of {len(chosen)} trainings the most epochs that were tried (at most {MAX_STEPS} batches) were "
        "the best: more might be better still, with softmax's loss too."
    )


def _epochs(results: Results, loss: str) -> str:
    epochs = {o.key: o.epochs for o in results.outcomes if o.loss == loss}
    return f"{np.median(list(epochs.values())):g}" if epochs else "-"


# ---- the figure ------------------------------------------------------------------------------------------------------


def draw(results: Results) -> Figure:
    """Fewer errors by size: A, by the network's own rule; B, with D or a head from the validation samples."""
    figure = new_figure(10.5, 4.6)
    left, right = figure.subplots(1, 2, sharey=True)
    for loss in LOSS_LABELS:
        style = Style(f"loss: {LOSS_LABELS[loss]}", *STYLES[loss])
        _draw_pair(left, results, (loss, "argmax" if loss == "softmax" else "running"), style)
        for rule in ("sph", "gaussian"):
            named = f"softmax's loss, {PREDICTOR_LABELS[f'{rule}_validation']}"
            drawn = Style(named, "x" if rule == "sph" else "P", *STYLES[loss][1:]) if loss == "softmax" else style
            _draw_pair(right, results, (loss, f"{rule}_validation"), drawn)
    _draw_pair(right, results, AUTO, BEST)
    for axes, name in ((left, "A: the network's own rule"), (right, "B: D or a head from 4,000 validation samples")):
        axes.axhline(0.0, color=RULE, linewidth=0.8, zorder=0)
        axes.set_title(name, fontsize="medium")
        axes.set_ylim(max(axes.get_ylim()[0], MIN_Y), None)
        log_samples_axis(axes)
        axes.xaxis.set_minor_formatter("")  # with few sizes, matplotlib would label these ticks too
        hide_frame(axes)
    left.set_ylabel("fewer test errors than softmax's loss\nwith argmax, %; mean and range over networks")
    handles = {
        label: handle for axes in (left, right) for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend([*handles.values()], [*handles], loc="outside lower center", ncols=3, fontsize="small")
    return figure


def _draw_pair(axes: Axes, results: Results, pair: Pair, style: Style) -> None:
    gains = {size: 100 * np.array(list(results.gains(pair, size).values())) for size in results.sizes}
    gains = {size: values for size, values in gains.items() if len(values)}
    if not gains:
        return
    shift = 0.94 + 0.03 * list(LOSS_LABELS).index(pair[0])  # so that no point hides another
    means, low, high = (np.array([end(values) for values in gains.values()]) for end in (np.mean, np.min, np.max))
    draw_points(axes, shift * np.array(list(gains)), means, [means - low, high - means], style)
