"""Tables, text and figure of the shift experiment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from aftermax._utils.files import write_text
from aftermax._utils.text import percent, signed, table
from experiments.benchmark import shifted_data
from experiments.benchmark.measure import Outcome
from experiments.benchmark.results import NAMES, CaseKey, Results, mean
from experiments.data.cifar10 import CIFAR10
from experiments.data.corruptions import SHIFTS
from experiments.data.mnist import MNIST
from experiments.plotting import RULE, Style, hide_frame, new_figure, save
from experiments.runs import provenance

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {"shift-mnist": "MNIST", "shift-cifar10": "CIFAR-10"}
SPH = Style("SPH (SPHClassifierCV)", "^", ":", "#c46a1f", "white")
PEER = Style("best single peer", "s", "--", "black", "white")
AUTO = Style("AutoHead", "D", "-", "#0b4f9e", "#0b4f9e")
AUTO_FEATURES = Style("AutoHead with features", "o", "-.", "#6f9fd8", "white")
MIN_Y = -30.0  # per cent; the figure ends here, and longer lines are cut
INTRODUCTION = """# Shifted data

Networks that were trained on clean images are tested on corrupted ones: noise, blur, low contrast, rotation and
pixelation, each at three strengths. On MNIST this is a dense network with two hidden layers, trained on 20,000 images;
on CIFAR-10, where it is available, a small residual network; one of each. Of the corrupted images, 100, 500 or 2,000
are labelled. No network is retrained: a head is fitted on the network's outputs for the labelled images.

Every method chooses its hyperparameters by cross-validation on the labelled samples (probmetrics' sms has none to
choose). The test samples, which are other images with the same corruption, are used for testing only. Everything but
"AutoHead with features" sees the logits only. A gain is the relative reduction of softmax's test error. Written by
`python -m experiments shift`; a line for each trial and method is in outcomes.csv.

{made_by}
![images under every shift at every strength](examples.png)
"""


class Group(NamedTuple):
    """Cases of a data set that are averaged, by their names."""

    family: str
    title: str
    names: tuple[str, ...]


class Shifts(Results):
    """Outcomes of the shift trials, by data set and shift, and the methods that are shown."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        super().__init__([outcome for outcome in outcomes if outcome.family in TITLES])
        self.families = [family for family in TITLES if any(case[0] == family for case in self.cases)]
        self.shifts = [name for name in SHIFTS if any(case[1].split()[0] == name for case in self.cases)]
        self.counts = sorted({case[2] for case in self.cases})
        self.peer = self.best_peer() if self.peers else None
        styles = {"sph": SPH, self.peer: PEER, "auto": AUTO, "auto_features": AUTO_FEATURES}
        self.styles = {name: style for name, style in styles.items() if name in self.methods}
        self._means = {name: self.gains(name) for name in self.methods}

    def by_strength(self) -> list[Group]:
        return [
            Group(family, case.name, (case.name,))
            for family in self.families
            for case in shifted_data.CASES
            if any(known[:2] == (family, case.name) for known in self.cases)
        ]

    def by_shift(self) -> list[Group]:
        """Every shift at all its strengths, and all of them."""
        groups = []
        for family in self.families:
            cases = {one.title: one.title.split()[0] for one in self.by_strength() if one.family == family}
            for name in dict.fromkeys(cases.values()):
                groups.append(Group(family, name, tuple(case for case in cases if cases[case] == name)))
            groups.append(Group(family, "all", tuple(cases)))
        return groups

    def gain(self, method: str, group: Group, count: int) -> float:
        """The mean over networks, and then over cases; nan if there are none."""
        keys: list[CaseKey] = [(group.family, name, count) for name in group.names]
        gains = [self._means[method][key] for key in keys if key in self._means[method]]
        return mean(gains) if gains else float("nan")

    def softmax_error(self, group: Group) -> float:
        return mean(o.softmax_error for o in self.outcomes if o.family == group.family and o.name in group.names)

    def error(self, method: str, family: str, count: int) -> float:
        """The error that is left, in the mean over networks, shifts and strengths; nan if there is none."""
        left = [o.softmax_error * (1 - o.gain) for o in self.of(method) if (o.family, o.rows) == (family, count)]
        return mean(left) if left else float("nan")


def clean_errors(
    mnist: MNIST, cifar10: CIFAR10 | None, kept: Path = shifted_data.SCORES_FOLDER, quick: bool = False
) -> dict[str, float]:
    """Softmax's error on clean test samples, by family and in the mean over networks."""
    errors = {}
    for data in shifted_data.data_sets(mnist, cifar10):
        tests = [data.load(number, shifted_data.CLEAN, kept)[1] for number in range(1 if quick else data.networks)]
        errors[f"shift-{data.name}"] = mean(mean(test.logits.argmax(axis=1) != test.labels) for test in tests)
    return errors


def write(outcomes: Sequence[Outcome], clean: dict[str, float], out: Path) -> str:
    """Write tables, report and figure to ``out``, given softmax's error on clean images; return the tables as text.

    The report shows examples.png too, which :func:`experiments.benchmark.shift_examples.draw_examples` draws.
    """
    results = Shifts(outcomes)
    summary, methods = summary_table(results), method_table(results)
    compact, full = (gain_table(results, clean, groups) for groups in (results.by_shift(), results.by_strength()))
    caption = gain_caption(results)
    tables = f"{caption} Means over strengths:\n\n{compact}\nEvery strength:\n\n{full}"
    write_text(out / "summary.md", summary)
    write_text(out / "table.md", tables)
    report = [
        INTRODUCTION.format(made_by=provenance.sentence(out)),
        "## In short\n",
        "Test error, in the mean over all shifts, strengths and networks. Bold: the lowest of those that see the "
        "logits only.\n",
        summary,
        on_the_peer(results),
        methods,
        "![gain by data set, shift and number of labelled samples, in the mean over strengths](gain.png)\n",
        "## By shift\n",
        tables,
    ]
    write_text(out / "report.md", "\n".join(report))
    save(draw(results), out / "gain")
    return "\n".join([summary, methods, on_the_peer(results), f"{caption} Means over strengths:\n\n{compact}"])


# ---- the tables ------------------------------------------------------------------------------------------------------


def summary_table(results: Shifts) -> str:
    """The errors that are left, a line for each data set and number of labelled samples; bold: the lowest on logits."""
    shown = [name for name in ("softmax", *results.styles) if name in results.methods]
    lines = []
    for family in results.families:
        for count in results.counts:
            errors = {name: results.error(name, family, count) for name in shown}
            best = _error(np.nanmin([error for name, error in errors.items() if name != "auto_features"]))
            cells = {name: _error(error) for name, error in errors.items()}
            marked = [
                f"**{cell}**" if cell == best and name != "auto_features" else cell for name, cell in cells.items()
            ]
            lines.append([TITLES[family], f"{count:,}", *marked])
    return table(["data", "labelled samples", *(column(results, name) for name in shown)], lines, texts=1)


def method_table(results: Shifts) -> str:
    """A line for each method that is shown: its gains over all cases, and how often it is worse."""
    heads = ["method", "mean gain", "worst case", "significantly better (McNemar, p < 0.05)", "significantly worse"]
    lines = []
    for name in results.styles:
        gains, group = results.gains(name), results.of(name)
        worst = min(gains, key=lambda case: gains[case])
        better, worse = sum(o.significantly_better for o in group), sum(o.significantly_worse for o in group)
        lines.append(
            [
                column(results, name),
                signed(mean(gains.values())),
                f"{signed(gains[worst])} ({TITLES[worst[0]]}, {worst[1]}; {worst[2]:,} samples)",
                f"{better} of {len(group)} trials",
                f"{worse} of {len(group)}",
            ]
        )
    return table(heads, lines, texts=1)


def on_the_peer(results: Shifts) -> str:
    """How the best single peer was found."""
    if not results.peer:
        return ""
    return (
        f"The best single peer is the one of {len(results.peers)} whose mean gain over all cases is the best *on the "
        "test samples*. Nobody knows it beforehand, so the comparison favours it.\n"
    )


def gain_caption(results: Shifts) -> str:
    counts = " / ".join(f"{count:,}" for count in results.counts)
    return (
        f"Fewer test errors than softmax in %, with {counts} labelled samples of the shifted data, in the mean over "
        "networks. Bold: the best of those that see the logits only."
    )


def gain_table(results: Shifts, clean: dict[str, float], groups: Iterable[Group]) -> str:
    """A line for each group; in a cell, a method's gains with few and with many labelled samples."""
    lines = []
    for group in groups:
        errors = [clean.get(group.family, float("nan")), results.softmax_error(group)]
        gains = {
            name: [_whole(results.gain(name, group, count)) for count in results.counts] for name in results.styles
        }
        by_count = zip(*(numbers for name, numbers in gains.items() if name != "auto_features"), strict=True)
        best = [max((number for number in numbers if number is not None), default=None) for numbers in by_count]
        cells = [
            " / ".join(
                _cell(number, bold=name != "auto_features" and number == top)
                for number, top in zip(numbers, best or [None] * len(numbers), strict=True)
            )
            for name, numbers in gains.items()
        ]
        lines.append([f"{TITLES[group.family]}, {group.title}", *map(_error, errors), *cells])
    heads = ["shift", "softmax error, clean", "shifted", *(column(results, name) for name in results.styles)]
    return table(heads, lines, texts=1)


def column(results: Shifts, method: str) -> str:
    """The heading of a method's column."""
    return f"{PEER.label}: {NAMES[method]}" if method == results.peer else NAMES[method]


def _whole(gain: float) -> int | None:
    """In per cent, rounded."""
    return None if np.isnan(gain) else round(100 * gain)


def _cell(number: int | None, *, bold: bool) -> str:
    if number is None:
        return "-"
    return f"**{number:+d}**" if bold else f"{number:+d}"


def _error(share: float) -> str:
    return "-" if np.isnan(share) else percent(share)


# ---- the figure ------------------------------------------------------------------------------------------------------


def draw(results: Shifts) -> Figure:
    """Gains by number of labelled samples, in the mean over strengths; a line of panels for each data set."""
    down, across = len(results.families), len(results.shifts)
    figure = new_figure(max(0.8 + 1.95 * across, 7.0), 0.9 + 2.4 * down)
    grid = figure.subplots(down, across, sharex=True, sharey="row", squeeze=False)
    groups = {(group.family, group.title): group for group in results.by_shift()}
    for family, line in zip(results.families, grid, strict=True):
        for name, axes in zip(results.shifts, line, strict=True):
            if (family, name) in groups:
                _draw_panel(axes, results, groups[family, name])
            else:
                axes.set_visible(False)
        first = next(axes for axes in line if axes.get_visible())
        first.set_ylim(max(first.get_ylim()[0], MIN_Y), None)
        first.set_ylabel(f"{TITLES[family]}\nfewer test errors, %", fontsize="small")
    figure.supxlabel("labelled samples of the shifted data", fontsize="small")
    figure.legend(
        *first.get_legend_handles_labels(),
        loc="outside upper center",
        ncols=4 if across > 2 else 2,
        fontsize="small",
        frameon=False,
    )
    return figure


def _draw_panel(axes: Axes, results: Shifts, group: Group) -> None:
    positions = range(len(results.counts))
    axes.axhline(0.0, color=RULE, linewidth=0.8, zorder=0)
    for name, style in results.styles.items():
        axes.plot(
            positions,
            [100 * results.gain(name, group, count) for count in results.counts],
            **style.options,
            label=f"{style.label}: {NAMES[name]}" if name == results.peer else style.label,
        )
    axes.set_title(f"{group.title}\nsoftmax error {percent(results.softmax_error(group))}", fontsize="small")
    axes.set_xticks(positions, [f"{count:,}" for count in results.counts])
    axes.set_xlim(-0.3, len(results.counts) - 0.7)
    axes.tick_params(labelsize="small")
    axes.grid(axis="y", color="#eeeeee", linewidth=0.6)
    axes.set_axisbelow(True)
    hide_frame(axes)
