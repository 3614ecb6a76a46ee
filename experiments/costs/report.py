"""The report of the experiment on costs: tables, a figure, and the targets with what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aftermax._utils.files import write_text
from aftermax._utils.paired_tests import ALPHA
from aftermax._utils.text import table
from experiments.costs.cases import SETS
from experiments.costs.measure import LABELLED, LABELLED_MANY, Outcome
from experiments.plotting import RULE, hide_frame, new_figure, save
from experiments.runs import provenance

TEMPLATE = Path(__file__).with_suffix(".md")
PLUG_INS = ("plug-in, softmax", "plug-in, temperature")
TUNED = ("tuned threshold", "tuned class weights")
ON_SOFTMAX, ON_AUTO = "Decider on softmax", "Decider on AutoHead"
WITHIN = 1.02  # of the best of plug-in and tuned rules: the target


def write(outcomes: Sequence[Outcome], out: Path) -> str:
    """Write tables, figure and report to ``out``; return the tables as text."""
    tables = {"costs": cost_table(outcomes), "metrics": metric_table(outcomes), "verdict": verdict(outcomes)}
    for name, text in tables.items():
        write_text(out / f"{name}.md", text)
    draw(outcomes, out / "costs.png")
    draws = len({one.draw for one in outcomes})
    made = {"run": provenance.sentence(out), "draws": draws, "labelled": LABELLED, "many": LABELLED_MANY}
    write_text(out / "report.md", TEMPLATE.read_text().format(**made, **tables))
    return "\n".join(tables.values())


# ---- cases -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """What was asked for on one score set, in every draw."""

    scores: str
    asked: str
    outcomes: tuple[Outcome, ...]

    @property
    def name(self) -> str:
        return f"{self.scores}: {self.asked}"

    def values(self, method: str, draws: Sequence[int] | None = None) -> list[float]:
        """The test value of each draw."""
        some = [one for one in self.outcomes if one.method == method]
        return [one.value for one in some if draws is None or one.draw in draws]

    def mean(self, method: str, draws: Sequence[int] | None = None) -> float:
        values = self.values(method, draws)
        return float(np.mean(values)) if values else np.nan

    def draws_of(self, method: str) -> list[int]:
        return [one.draw for one in self.outcomes if one.method == method]

    def against_best(self, method: str) -> float:
        """The mean cost over that of the best plug-in or tuned rule in the same draws; nan if it was not measured."""
        draws = self.draws_of(method)
        others = [self.mean(name, draws) for name in (*PLUG_INS, *TUNED) if self.values(name, draws)]
        return self.mean(method, draws) / min(others) if draws else np.nan


def cases(outcomes: Sequence[Outcome], *, metrics: bool) -> list[Case]:
    """The cases in the order of the score sets."""
    found: dict[tuple[str, str], list[Outcome]] = {}
    for one in sorted(outcomes, key=lambda one: (list(SETS).index(one.scores), one.draw)):
        if one.is_metric == metrics:
            found.setdefault((one.scores, one.asked), []).append(one)
    return [Case(*key, tuple(some)) for key, some in found.items()]


# ---- tables ----------------------------------------------------------------------------------------------------------


def cost_table(outcomes: Sequence[Outcome]) -> str:
    """A line for each cost matrix of each score set."""
    lines = [
        [
            case.scores,
            case.asked,
            *(_number(case.mean(name)) for name in ("argmax", *PLUG_INS)),
            _number(next((case.mean(name) for name in TUNED if case.values(name)), np.nan)),
            _number(case.mean(ON_SOFTMAX)),
            _ratio(case.against_best(ON_SOFTMAX)),
            _number(case.mean(ON_AUTO)),
            _ratio(case.against_best(ON_AUTO)),
        ]
        for case in cases(outcomes, metrics=False)
    ]
    heads = ["scores", "costs", "argmax", "plug-in", "with temperature", "tuned", "Decider on softmax"]
    return table([*heads, "against the best", "Decider on AutoHead", "against the best"], lines, texts=2)


def metric_table(outcomes: Sequence[Outcome]) -> str:
    """A line for each metric of each score set."""
    lines = []
    for case in cases(outcomes, metrics=True):
        judged = [one for one in case.outcomes if not np.isnan(one.worse_p_value)]
        worse = sum(one.worse_p_value < ALPHA for one in judged)
        names = ("plain, softmax", ON_SOFTMAX, "plain, AutoHead", ON_AUTO)
        lines.append(
            [case.scores, case.asked, *(_number(case.mean(name)) for name in names), f"{worse} of {len(judged)}"]
        )
    heads = ["scores", "metric", "softmax", ON_SOFTMAX, "AutoHead", ON_AUTO, "worse"]
    return table(heads, lines, texts=2)


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"


def _ratio(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"


# ---- in words --------------------------------------------------------------------------------------------------------


def verdict(outcomes: Sequence[Outcome]) -> str:
    """The targets, one a line, with what was found."""
    by_costs = cases(outcomes, metrics=False)
    judged = [one for one in outcomes if not np.isnan(one.worse_p_value)]
    worse = [one for one in judged if one.worse_p_value < ALPHA]
    named = ": " + "; ".join(f"{one.scores} ({one.asked}, draw {one.draw})" for one in worse) if worse else ""
    target = "target: expected cost within 2 % of the best of plug-in and tuned rules in every case"
    lines = [f"- {method}, {target}. {_within(by_costs, method)}" for method in (ON_AUTO, ON_SOFTMAX)]
    rules = {"the plug-in rule": PLUG_INS[:1], "with a temperature": PLUG_INS[1:], "tuned rules": TUNED}
    counts = [f"{name} in {_count_within(by_costs, methods)}" for name, methods in rules.items()]
    lines.append(f"- For comparison, within 2 % of the best of these rules are: {', '.join(counts)}.")
    lines.append(
        f"- Metrics, target: never significantly worse than plain predictions. {_kept(not worse)}: {len(worse)} of "
        f"{len(judged)} fits are{named}."
    )
    return "\n".join(lines) + "\n"


def _within(by_costs: Sequence[Case], method: str) -> str:
    ratios = {case.name: case.against_best(method) for case in by_costs}
    known = {name: ratio for name, ratio in ratios.items() if not np.isnan(ratio)}
    beyond = sorted((name for name, ratio in known.items() if ratio > WITHIN), key=lambda name: -known[name])
    told = "; ".join(f"{name} ({known[name]:.3f})" for name in beyond)
    lower = 1 - float(np.exp(np.mean(np.log(list(known.values()))))) if known else np.nan
    return (
        f"{_kept(not beyond)}: {len(known) - len(beyond)} of {len(known)} cases are"
        f"{f'; not {told}' if beyond else ''}. In the mean its cost is {abs(100 * lower):.1f} % "
        f"{'below' if lower >= 0 else 'above'} that of the best rule, which test labels chose."
    )


def _count_within(by_costs: Sequence[Case], methods: Sequence[str]) -> str:
    """In how many of the cases that have one of these methods it is within the target."""
    ratios = [case.against_best(method) for case in by_costs for method in methods if case.values(method)]
    return f"{sum(ratio <= WITHIN for ratio in ratios)} of {len(ratios)} cases"


def _kept(kept: bool) -> str:
    return "Kept" if kept else "Not kept"


# ---- figure ----------------------------------------------------------------------------------------------------------


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """The cost of each case against that of the best rule."""
    by_costs = cases(outcomes, metrics=False)[::-1]
    figure = new_figure(8.0, 1.2 + 0.24 * len(by_costs))
    axes = figure.subplots()
    axes.axvspan(1 / WITHIN, WITHIN, color="#e8eef6", zorder=0)
    axes.axvline(1.0, color=RULE, linewidth=1)
    places = np.arange(len(by_costs))
    for method, marker, colour, fill in (
        ("plug-in, temperature", "s", "#8a8a8a", "white"),
        (ON_SOFTMAX, "o", "#c46a1f", "#c46a1f"),
        (ON_AUTO, "D", "#0b4f9e", "#0b4f9e"),
    ):
        ratios = [case.against_best(method) for case in by_costs]
        label = "plug-in with a temperature" if method.startswith("plug-in") else method
        axes.plot(ratios, places, linestyle="none", marker=marker, color=colour, markerfacecolor=fill, label=label)
    axes.set_yticks(places, [case.name for case in by_costs], fontsize=7)
    axes.set_xscale("log")
    axes.set_xticks([0.6, 0.8, 1.0, 1.2], ["0.6", "0.8", "1", "1.2"])
    axes.minorticks_off()
    axes.set_xlabel("cost against the best other rule (shaded: within 2 %)")
    hide_frame(axes)
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    save(figure, path)
