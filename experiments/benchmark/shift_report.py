"""Tables, text and picture of the shift experiment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from aftermax._utils.files import write_text
from aftermax._utils.text import percent, signed, table
from aftermax.plots._style import RULE, bare, new_figure
from experiments.benchmark import shifted_data as shift
from experiments.data.cifar10 import CIFAR10
from experiments.data.corruptions import SHIFTS
from experiments.data.mnist import MNIST
from experiments.paper.figures import save
from experiments.plotting import Look
from experiments.benchmark.measure import Outcome
from experiments.benchmark.report import NAMES, CaseKey, Results, mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {"shift-mnist": "MNIST", "shift-cifar10": "CIFAR-10"}
SPH = Look("SPH (SPHClassifierCV)", "^", ":", "#c46a1f", "white")
PEER = Look("best single peer", "s", "--", "black", "white")
AUTO = Look("AutoHead", "D", "-", "#0b4f9e", "#0b4f9e")
AUTO_FEATURES = Look("AutoHead with features", "o", "-.", "#6f9fd8", "white")
LEAST_Y = -30.0  # per cent; the picture ends here, and lines that go on run out of it
INTRODUCTION = """# When the world changes

Networks that were trained on clean images are asked about images that have changed: noise, blur, low contrast, rotation
and pixelation, each at three strengths. On MNIST this is a dense network with two hidden layers, trained on 20,000
images; on CIFAR-10, where it is at hand, a small residual network; one of each. Of the changed images, 100, 500 or
2,000 are labelled. No network is trained again: a head is fitted on what the network says of the labelled images.

Every method chooses its settings within the labelled rows, by cross-validation (probmetrics' sms has none to choose).
The test rows, which are other images that changed in the same way, are only for judging. Everything but "AutoHead with
features" sees the logits only. A gain is the relative reduction of softmax's test error. Written by
`aftermax reproduce shift`; a line for each trial and method is in outcomes.csv.

![images under every shift at every strength](examples.png)
"""


class Group(NamedTuple):
    """Cases of a data set over which is averaged, by their names."""

    family: str
    words: str
    names: tuple[str, ...]


class Shifts(Results):
    """Outcomes of the shift trials, by data set and shift, and the methods that are shown."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        super().__init__([outcome for outcome in outcomes if outcome.family in TITLES])
        self.families = [family for family in TITLES if any(case[0] == family for case in self.cases)]
        self.shifts = [name for name in SHIFTS if any(case[1].split()[0] == name for case in self.cases)]
        self.rows = sorted({case[2] for case in self.cases})
        self.peer = self.best_peer() if self.peers else None
        looks = {"sph": SPH, self.peer: PEER, "auto": AUTO, "auto_features": AUTO_FEATURES}
        self.looks = {name: look for name, look in looks.items() if name in self.methods}
        self._means = {name: self.gains(name) for name in self.methods}

    def by_strength(self) -> list[Group]:
        return [
            Group(family, case.name, (case.name,))
            for family in self.families
            for case in shift.CASES
            if any(known[:2] == (family, case.name) for known in self.cases)
        ]

    def by_shift(self) -> list[Group]:
        """Every shift at all its strengths, and all of them."""
        groups = []
        for family in self.families:
            cases = {one.words: one.words.split()[0] for one in self.by_strength() if one.family == family}
            for name in dict.fromkeys(cases.values()):
                groups.append(Group(family, name, tuple(case for case in cases if cases[case] == name)))
            groups.append(Group(family, "all", tuple(cases)))
        return groups

    def gain(self, method: str, group: Group, rows: int) -> float:
        """The mean over networks, and then over cases; nan if there are none."""
        keys: list[CaseKey] = [(group.family, name, rows) for name in group.names]
        gains = [self._means[method][key] for key in keys if key in self._means[method]]
        return mean(gains) if gains else float("nan")

    def softmax_error(self, group: Group) -> float:
        return mean(o.softmax_error for o in self.outcomes if o.family == group.family and o.name in group.names)

    def error(self, method: str, family: str, rows: int) -> float:
        """The error that is left, in the mean over networks, shifts and strengths; nan if there is none."""
        left = [o.softmax_error * (1 - o.gain) for o in self.of(method) if (o.family, o.rows) == (family, rows)]
        return mean(left) if left else float("nan")


def clean_errors(
    mnist: MNIST, cifar10: CIFAR10 | None, kept: Path = shift.KEPT, quick: bool = False
) -> dict[str, float]:
    """Softmax's error on clean test rows, by family and in the mean over networks."""
    worlds = [shift.mnist_world(mnist), *([shift.cifar10_world(cifar10)] if cifar10 else [])]
    errors = {}
    for world in worlds:
        tests = [world.load(number, shift.CLEAN, kept)[1] for number in range(1 if quick else world.networks)]
        errors[f"shift-{world.name}"] = mean(mean(test.logits.argmax(axis=1) != test.labels) for test in tests)
    return errors


def write(outcomes: Sequence[Outcome], clean: dict[str, float], out: Path) -> str:
    """Write tables, report and picture to ``out``, given softmax's error on clean images; the tables as text.

    The report shows examples.png too, which :func:`experiments.shift.draw_examples` draws.
    """
    results = Shifts(outcomes)
    summary, methods = summary_table(results), method_table(results)
    compact, full = (gain_table(results, clean, groups) for groups in (results.by_shift(), results.by_strength()))
    caption = gain_caption(results)
    tables = f"{caption} Means over strengths:\n\n{compact}\nEvery strength:\n\n{full}"
    write_text(out / "summary.md", summary)
    write_text(out / "table.md", tables)
    report = [
        INTRODUCTION,
        "## In short\n",
        "Test error, in the mean over all shifts, strengths and networks:\n",
        summary,
        on_the_peer(results),
        methods,
        "![gain by data set, shift and number of labelled rows, in the mean over strengths](gain.png)\n",
        "## By shift\n",
        tables,
    ]
    write_text(out / "report.md", "\n".join(report))
    save(draw(results), out / "gain")
    return "\n".join([summary, methods, on_the_peer(results), f"{caption} Means over strengths:\n\n{compact}"])


# ---- the tables ------------------------------------------------------------------------------------------------------


def summary_table(results: Shifts) -> str:
    """The errors that are left, a line for each data set and number of labelled rows."""
    shown = [name for name in ("softmax", *results.looks) if name in results.methods]
    lines = []
    for family in results.families:
        for rows in results.rows:
            cells = {name: _error(results.error(name, family, rows)) for name in shown}
            if "auto" in cells:
                cells["auto"] = f"**{cells['auto']}**"
            lines.append([TITLES[family], f"{rows:,}", *cells.values()])
    return table(["data", "labelled rows", *(column(results, name) for name in shown)], lines, texts=1)


def method_table(results: Shifts) -> str:
    """A line for each method that is shown: what it brings over all cases, and what it breaks."""
    heads = ["method", "mean gain", "worst case", "significantly better (McNemar, p < 0.05)", "significantly worse"]
    lines = []
    for name in results.looks:
        gains, group = results.gains(name), results.of(name)
        worst = min(gains, key=lambda case: gains[case])
        better, worse = sum(o.significantly_better for o in group), sum(o.significantly_worse for o in group)
        lines.append(
            [
                column(results, name),
                signed(mean(gains.values())),
                f"{signed(gains[worst])} ({TITLES[worst[0]]}, {worst[1]}; {worst[2]:,} rows)",
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
        "test rows*. Nobody knows it beforehand, so the comparison flatters it.\n"
    )


def gain_caption(results: Shifts) -> str:
    counts = " / ".join(f"{rows:,}" for rows in results.rows)
    return (
        f"Fewer test errors than softmax in %, with {counts} labelled rows of the new world, in the mean over "
        "networks. Bold: the best of those that see the logits only."
    )


def gain_table(results: Shifts, clean: dict[str, float], groups: Iterable[Group]) -> str:
    """A line for each group; in a cell, a method's gains with few and with many labelled rows."""
    lines = []
    for group in groups:
        errors = [clean.get(group.family, float("nan")), results.softmax_error(group)]
        gains = {name: [_whole(results.gain(name, group, rows)) for rows in results.rows] for name in results.looks}
        by_rows = zip(*(numbers for name, numbers in gains.items() if name != "auto_features"), strict=True)
        best = [max((number for number in numbers if number is not None), default=None) for numbers in by_rows]
        cells = [
            " / ".join(
                _cell(number, bold=name != "auto_features" and number == top)
                for number, top in zip(numbers, best or [None] * len(numbers), strict=True)
            )
            for name, numbers in gains.items()
        ]
        lines.append([f"{TITLES[group.family]}, {group.words}", *map(_error, errors), *cells])
    heads = ["shift", "softmax error, clean", "shifted", *(column(results, name) for name in results.looks)]
    return table(heads, lines, texts=1)


def column(results: Shifts, method: str) -> str:
    """What a method is called above its column."""
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


# ---- the picture -----------------------------------------------------------------------------------------------------


def draw(results: Shifts) -> Figure:
    """Gains by number of labelled rows, in the mean over strengths; a line of panels for each data set."""
    down, across = len(results.families), len(results.shifts)
    figure = new_figure(max(0.8 + 1.95 * across, 7.0), 0.9 + 2.4 * down)
    grid = figure.subplots(down, across, sharex=True, sharey="row", squeeze=False)
    groups = {(group.family, group.words): group for group in results.by_shift()}
    for family, line in zip(results.families, grid, strict=True):
        for name, axes in zip(results.shifts, line, strict=True):
            if (family, name) in groups:
                _draw_panel(axes, results, groups[family, name])
            else:
                axes.set_visible(False)
        first = next(axes for axes in line if axes.get_visible())
        first.set_ylim(max(first.get_ylim()[0], LEAST_Y), None)
        first.set_ylabel(f"{TITLES[family]}\nfewer test errors, %", fontsize="small")
    figure.supxlabel("labelled rows of the new world", fontsize="small")
    figure.legend(
        *first.get_legend_handles_labels(),
        loc="outside upper center",
        ncols=4 if across > 2 else 2,
        fontsize="small",
        frameon=False,
    )
    return figure


def _draw_panel(axes: Axes, results: Shifts, group: Group) -> None:
    places = range(len(results.rows))
    axes.axhline(0.0, color=RULE, linewidth=0.8, zorder=0)
    for name, look in results.looks.items():
        axes.plot(
            places,
            [100 * results.gain(name, group, rows) for rows in results.rows],
            marker=look.marker,
            linestyle=look.line,
            color=look.colour,
            markerfacecolor=look.fill,
            markersize=5,
            linewidth=1.4,
            label=f"{look.label}: {NAMES[name]}" if name == results.peer else look.label,
        )
    axes.set_title(f"{group.words}\nsoftmax wrong in {percent(results.softmax_error(group))}", fontsize="small")
    axes.set_xticks(places, [f"{rows:,}" for rows in results.rows])
    axes.set_xlim(-0.3, len(results.rows) - 0.7)
    axes.tick_params(labelsize="small")
    axes.grid(axis="y", color="#eeeeee", linewidth=0.6)
    axes.set_axisbelow(True)
    bare(axes)
