"""Tables, text and picture of the money table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aftermax._utils.files import write_text
from aftermax._utils.text import percent, signed, table
from aftermax.plots._style import RULE, bare, new_figure
from experiments.paper.figures import save
from experiments.plotting import Look
from experiments.benchmark.measure import Outcome
from experiments.benchmark.peers import PEERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {
    "softmax": "softmax",
    "sph": "SPH",
    "auto": "AutoHead",
    "auto_features": "AutoHead with features",
    "logistic": "logistic regression",
    "svc": "SVC",
    "knn": "kNN",
    "qda": "QDA mixed with softmax",
    "naive_bayes": "naive Bayes",
    "boosting": "gradient boosting",
    "sms": "probmetrics' sms",
}
TITLES = {
    "vmnist": "vMNIST",
    "files": "score files",
    "shift-mnist": "MNIST, shifted",
    "shift-cifar10": "CIFAR-10, shifted",
}
COLUMNS = (("vmnist", "files"), ("shift-mnist",), ("shift-cifar10",))  # of the picture
# What was to be reached: relative reductions of the error in per cent, by what the network was trained on or by file.
SIZES = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
LOGITS_4000 = dict(zip(SIZES, (61, 49, 27, 21, 20, 21, 8, 9, 0), strict=True))
LOGITS_400 = dict(zip(SIZES[:5], (41, 25, 8, 6, 6), strict=True))  # above 0 from 5,000 on
FEATURES_4000 = {100: 67, 500: 33, 1_000: 27, 2_000: 26, 5_000: 27, 10_000: 12}
SHIFTED_FILES = {
    "cifar10-resnet20-noise": {100: 33, 500: 39, 2_000: 41},
    "cifar10-resnet20-contrast": {100: 12, 500: 19, 2_000: 21},
}
OURS = {
    "sph": Look("SPH (SPHClassifierCV)", "^", "", "#c46a1f", "white"),
    "auto": Look("AutoHead", "D", "", "#0b4f9e", "#0b4f9e"),
}
LEAST_X = -45.0  # per cent; the picture ends here, and lines that go on run out of it
INTRODUCTION = """# The money table

Relative reduction of softmax's test error, in the mean over networks. Every method was fitted on the same labelled
rows, chose its settings within them by cross-validation (probmetrics' sms has none to choose), and answered the same
test rows. Everything but "AutoHead with features" sees the logits only. SPH (SPHClassifierCV) is left out where there
are more than 20 classes, as its time grows with their square. Times are on one core, while another trial runs on the
other. Written by `aftermax bench --peers`; a line for each trial and method is in outcomes.csv. Where run.json has an
entry "redone", these methods were run later than the others, with newer code.
"""

CaseKey = tuple[str, str, int]


class Results:
    """Outcomes by case and method. Cases and methods are in the order in which they come."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = outcomes
        self.cases = list(dict.fromkeys(outcome.case for outcome in outcomes))
        self.methods = [name for name in NAMES if any(outcome.method == name for outcome in outcomes)]
        self.peers = [name for name in PEERS if name in self.methods]
        self._gains: dict[str, dict[CaseKey, list[float]]] = {name: {} for name in self.methods}
        for outcome in outcomes:
            self._gains[outcome.method].setdefault(outcome.case, []).append(outcome.gain)

    def of(self, method: str) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.method == method]

    def gains(self, method: str) -> dict[CaseKey, float]:
        """The mean gain over networks in each case that the method has."""
        return {case: float(np.mean(gains)) for case, gains in self._gains.get(method, {}).items()}

    def best_peer(self) -> str:
        """The peer with the best mean over all cases."""
        return max(self.peers, key=lambda peer: mean(self.gains(peer).values()))

    def best_in(self, case: CaseKey) -> float:
        """The best gain of any peer in one case."""
        return max(self.gains(peer)[case] for peer in self.peers)

    def ratios(
        self, method: str, to: str, value: Callable[[Outcome], float], where: Callable[[Outcome], bool] | None = None
    ) -> list[float]:
        """A method's times relative to another's in the same trial."""
        base = {outcome.trial: value(outcome) for outcome in self.of(to)}
        return [
            value(outcome) / base[outcome.trial]
            for outcome in self.of(method)
            if base.get(outcome.trial) and (where is None or where(outcome))
        ]


def write(outcomes: Sequence[Outcome], out: Path) -> str:
    """Write tables, report and picture to ``out``; the tables as text."""
    results = Results(outcomes)
    tables = {"cases": case_table(results), "methods": method_table(results)}
    if results.peers and "auto" in results.methods:
        tables["peers"] = in_words(results)
        tables["targets"] = target_table(targets(results))
    for name, text in tables.items():
        write_text(out / f"{name}.md", text)
    write_text(out / "report.md", "\n".join([INTRODUCTION, *tables.values(), "![gain by case](gain.png)\n"]))
    save(draw(results), out / "gain")
    return "\n".join(tables.values())


# ---- the tables ------------------------------------------------------------------------------------------------------


def case_table(results: Results) -> str:
    """A line for each case, a column for each method."""
    shown = [name for name in results.methods if name != "softmax"]
    columns = {name: results.gains(name) for name in shown}
    lines = []
    for case in results.cases:
        of_case = [outcome for outcome in results.outcomes if outcome.case == case]
        cells = [case_in_words(case), f"{case[2]:,}", percent(mean(outcome.softmax_error for outcome in of_case))]
        for name, gains in columns.items():
            cell = signed(gains[case]) if case in gains else "-"
            cells.append(f"**{cell}**" if name == "auto" else cell)
        lines.append(cells)
    return table(["case", "rows", "softmax error", *(NAMES[name] for name in shown)], lines, texts=1)


def case_in_words(case: CaseKey) -> str:
    family, name, _ = case
    words = {"vmnist": "vMNIST, trained on {}", "shift-mnist": "MNIST, {}", "shift-cifar10": "CIFAR-10, {}"}
    return words.get(family, "{}").format(f"{int(name):,}" if name.isdigit() else name)


def method_table(results: Results) -> str:
    """A line for each method: what it brings over all cases, what it breaks, and what it costs."""
    heads = [
        "method",
        "cases",
        "mean gain",
        "worst case",
        "significantly better (McNemar, p < 0.05)",
        "significantly worse",
        "fit time, SVC's search = 1",
        "predict time, softmax = 1",
        "log-loss minus that of softmax with a temperature",
    ]
    lines = []
    for name in results.methods:
        gains, group = results.gains(name), results.of(name)
        worst = min(gains, key=lambda case: gains[case])
        fit = results.ratios(name, "svc", lambda o: o.fit_seconds)
        predict = results.ratios(name, "softmax", lambda o: o.predict_seconds)
        lines.append(
            [
                NAMES[name],
                str(len(gains)),
                signed(mean(gains.values())),
                f"{signed(gains[worst])} ({case_in_words(worst)}; {worst[2]:,} rows)" if name != "softmax" else "",
                percent(mean(outcome.significantly_better for outcome in group)),
                percent(mean(outcome.significantly_worse for outcome in group)),
                times(fit) if name != "softmax" else "",
                times(predict),
                f"{excess:+.3f}" if np.isfinite(excess := excess_log_loss(group)) else "-",
            ]
        )
    return table(heads, lines, texts=1)


def times(ratios: Sequence[float]) -> str:
    """The median."""
    if not len(ratios):
        return "-"
    median = np.median(ratios)
    return f"{median:,.0f} x" if median >= 10 else f"{median:.2g} x"


def excess_log_loss(group: Iterable[Outcome]) -> float:
    return mean(outcome.log_loss - outcome.softmax_log_loss for outcome in group)


def in_words(results: Results) -> str:
    """AutoHead against the best single peer, and against the best peer of each case."""
    best, ours = results.best_peer(), results.gains("auto")
    mean_ours, mean_best = mean(ours.values()), mean(results.gains(best).values())
    near = near_the_best(results)
    share = percent(near / len(ours))
    return (
        f"AutoHead gains {signed(mean_ours)} in the mean over all {len(ours)} cases; the best single peer, "
        f"{NAMES[best]}, {signed(mean_best)}: {100 * (mean_ours - mean_best):+.1f} points. AutoHead is ahead of, or "
        f"within one point of, the best peer *of each case* in {near} of {len(ours)} cases ({share}). "
        "That best peer differs from case to case, and nobody knows it beforehand.\n"
    )


def near_the_best(results: Results) -> int:
    """In how many cases AutoHead is at most one point behind the best peer of the case."""
    return sum(gain >= results.best_in(case) - 0.01 for case, gain in results.gains("auto").items())


# ---- what was to be reached ------------------------------------------------------------------------------------------


class Target(NamedTuple):
    """One of the project's targets, and what was measured."""

    what: str
    target: str
    measured: str
    met: bool


def targets(results: Results) -> list[Target]:
    """All targets whose cases were tried."""
    found = [*_of_cases(results), *_of_strong_networks(results)]
    ours, best = mean(results.gains("auto").values()), results.best_peer()
    ahead, near = ours - mean(results.gains(best).values()), near_the_best(results) / len(results.gains("auto"))
    found += [
        Target(f"ahead of the best single peer ({NAMES[best]})", "at least 2 points", _points(ahead), ahead >= 0.02),
        Target("ahead of or within 1 point of each case's best peer", "80 % of cases", percent(near), near >= 0.8),
    ]
    excess = excess_log_loss(results.of("auto"))
    found.append(Target("log-loss less that of softmax with a temperature", "at most 0", f"{excess:+.3f}", excess <= 0))
    fit = results.ratios("auto", "svc", lambda o: o.fit_seconds, lambda o: (o.rows, o.classes) == (4_000, 10))
    predict = results.ratios("auto", "softmax", lambda o: o.predict_seconds, lambda o: o.classes == 10)
    for what, ratios, most in (
        ("fit on 4,000 x 10, SVC's search = 1, each on one core", fit, 3),
        ("predict at 10 classes, softmax = 1, each on one core", predict, 10),
    ):
        if ratios:
            found.append(Target(what, f"at most {most} x", times(ratios), bool(np.median(ratios) <= most)))
    return found


def _of_cases(results: Results) -> list[Target]:
    """Gains that single cases are to reach."""
    wanted: list[tuple[str, CaseKey, float]] = []
    for method, rows, by_size in (
        ("auto", 4_000, LOGITS_4000),
        ("auto", 400, LOGITS_400),
        ("auto_features", 4_000, FEATURES_4000),
    ):
        wanted += [(method, ("vmnist", str(size), rows), gain) for size, gain in by_size.items()]
    for name, by_rows in SHIFTED_FILES.items():
        wanted += [("auto", ("files", name, rows), gain) for rows, gain in by_rows.items()]
    found = []
    for method, case, least in wanted:
        gain = results.gains(method).get(case)
        if gain is not None:
            target = f"at least {least:+.0f} %"
            found.append(Target(_what(method, case), target, signed(gain), 100 * gain >= least))
    for case in [("vmnist", str(size), 400) for size in SIZES if size not in LOGITS_400]:
        gain = results.gains("auto").get(case)
        if gain is not None:
            found.append(Target(_what("auto", case), "above 0", signed(gain), gain > 0))
    return found


def _of_strong_networks(results: Results) -> list[Target]:
    """Files of networks in their own domain: no harm, and a little good."""
    group = [o for o in results.of("auto") if o.family == "files" and o.name not in SHIFTED_FILES]
    if not group:
        return []
    worst, worse = min(group, key=lambda o: o.gain), sum(o.significantly_worse for o in group)
    average = mean(o.gain for o in group)
    what = f"{len(group)} other files, all validation rows"
    return [
        Target(f"{what}: mean", "above 0", signed(average), average > 0),
        Target(f"{what}: worst", "at least -1 %", f"{signed(worst.gain)} ({worst.name})", worst.gain >= -0.01),
        Target(f"{what}: significantly worse", "none", str(worse), worse == 0),
    ]


def target_table(found: Sequence[Target]) -> str:
    lines = [[one.what, one.target, one.measured, "met" if one.met else "**missed**"] for one in found]
    met = sum(one.met for one in found)
    said = f"Met: {met} of {len(found)}. Memory, and times with all cores, are in results/bench/auto.md.\n"
    return table(["AutoHead", "target", "measured", "verdict"], lines, texts=1) + "\n" + said


def _what(method: str, case: CaseKey) -> str:
    return f"{case_in_words(case)}; {case[2]:,} rows" + (", with features" if method == "auto_features" else "")


def _points(share: float) -> str:
    return f"{100 * share:+.1f} points"


# ---- the picture -----------------------------------------------------------------------------------------------------


def draw(results: Results) -> Figure:
    """Gains by case: AutoHead, SPH, the best single peer, and from the worst to the best peer; a panel for a family."""
    cases = {family: [case for case in results.cases if case[0] == family] for family in TITLES}
    columns = [shown for column in COLUMNS if (shown := [family for family in column if cases[family]])]
    tallest = max(sum(len(cases[family]) + 4 for family in column) for column in columns)
    figure = new_figure(max(4.6 * len(columns), 7.0), 1.0 + 0.17 * tallest)
    handles: dict[str, Any] = {}
    for part, column in zip(figure.subfigures(1, len(columns), squeeze=False)[0], columns, strict=True):
        heights = [len(cases[family]) for family in column]
        panels = part.subplots(len(column), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, family in zip(panels, column, strict=True):
            _draw_family(axes, results, cases[family])
            axes.set_title(TITLES[family], fontsize="medium")
            handles |= {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        panels[-1].set_xlabel("fewer test errors than softmax, %; mean over networks", fontsize="small")
    figure.legend([*handles.values()], [*handles], loc="outside lower center", ncols=4, fontsize="small")
    return figure


def _draw_family(axes: Axes, results: Results, cases: Sequence[CaseKey]) -> None:
    places = np.arange(len(cases))
    axes.axvline(0.0, color=RULE, linewidth=0.8, zorder=0)
    if results.peers:
        spans = [[100 * results.gains(peer)[case] for peer in results.peers] for case in cases]
        low, high = (np.maximum([end(span) for span in spans], 2 * LEAST_X) for end in (min, max))
        axes.hlines(places, low, high, color="#c4c4c4", linewidth=4, label="worst to best peer", zorder=1)
    for method, look in looks(results).items():
        gains = results.gains(method)
        shown = [(100 * gains[case], place) for place, case in enumerate(cases) if case in gains]
        if shown:
            x, y = zip(*shown, strict=True)
            size = 5 if method in OURS else 7  # so that none hides another
            axes.plot(
                x, y, look.marker, color=look.colour, markerfacecolor=look.fill, markersize=size, label=look.label
            )
    labels = [f"{case_in_words(case).split(', ')[-1]}; {case[2]:,} rows" for case in cases]
    axes.set_yticks(places, labels, fontsize="x-small")
    axes.set_ylim(len(cases) - 0.4, -0.6)
    axes.set_xlim(max(axes.get_xlim()[0], LEAST_X), None)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize="small")
    axes.grid(axis="y", color="#eeeeee", linewidth=0.6)
    axes.set_axisbelow(True)
    bare(axes, "top", "right", "left")


def looks(results: Results) -> dict[str, Look]:
    """Of the methods that are drawn, the most important last and so on top."""
    peer = {}
    if results.peers:
        best = results.best_peer()
        peer = {best: Look(f"best single peer: {NAMES[best]}", "s", "", "black", "white")}
    return {**peer, **{name: look for name, look in OURS.items() if name in results.methods}}


def mean(values: Iterable[float]) -> float:
    return float(np.mean([*values]))
