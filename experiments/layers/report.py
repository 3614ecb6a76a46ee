"""The report of the experiment on layers: a table of the gains, and answers from the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aftermax._utils.files import write_text
from aftermax._utils.paired_tests import exact_mcnemar
from aftermax._utils.text import percent, signed, table
from experiments.layers.measure import LAYERS, MNIST_NETWORKS, Outcome
from experiments.layers.networks import CIFAR_RECIPE, CLEAN
from experiments.runs import provenance

TEMPLATE = Path(__file__).with_suffix(".md")
LEVEL = 0.05
TITLES = {"vmnist": "vMNIST", "cifar10": "CIFAR-10"}
HEADINGS = {
    "logits": "logits only",
    "last": "last hidden layer",
    "earlier": "earlier layer",
    "both": "both layers",
}


def write(outcomes: Sequence[Outcome], out: Path) -> str:
    """Write table, verdict and report to ``out``; return the table and the verdict as text."""
    write_text(out / "table.md", case_table(outcomes))
    write_text(out / "verdict.md", verdict(outcomes))
    write_text(out / "report.md", report(outcomes, provenance.sentence(out)))
    return f"{case_table(outcomes)}\n{verdict(outcomes)}"


def report(outcomes: Sequence[Outcome], made_by: str) -> str:
    """The report, from its template."""
    return TEMPLATE.read_text().format(
        run=made_by,
        networks=" and ".join(f"{count} of each size with {samples:,}" for samples, count in MNIST_NETWORKS.items()),
        channels="{}, {} and {}".format(*CIFAR_RECIPE.widths),
        earlier=CIFAR_RECIPE.widths[-2],
        epochs=CIFAR_RECIPE.epochs,
        left_out="" if any(one.data == "cifar10" for one in outcomes) else " It was left out of this run.",
        verdict=verdict(outcomes),
        table=case_table(outcomes),
    )


# ---- cases -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A line of the table: networks that were trained alike, with as many labelled samples."""

    data: str
    trained_on: int
    images: str
    samples: int
    outcomes: tuple[Outcome, ...]

    def of(self, layers: str) -> list[Outcome]:
        """The outcomes with some layers, one for each network."""
        return [one for one in self.outcomes if one.layers == layers]

    def gain(self, layers: str) -> float:
        return float(np.mean([one.gain for one in self.of(layers)]))

    def seconds(self, layers: str) -> float:
        return float(np.mean([one.seconds for one in self.of(layers)]))

    def gain_of_chosen(self) -> float:
        """The gain of the head that expects the most of itself."""
        return float(np.mean([one.gain for one in chosen(self.outcomes)]))

    def against_last(self, layers: str) -> tuple[int, float]:
        """By how many more test samples a head is right than with the last hidden layer, and McNemar's p-value."""
        wins = sum(one.wins_over_last for one in self.of(layers))
        losses = sum(one.losses_to_last for one in self.of(layers))
        return wins - losses, exact_mcnemar(wins, losses)

    def against_softmax(self, layers: str) -> tuple[int, float]:
        """The same, compared with softmax."""
        wins, losses = (sum(getattr(one, name) for one in self.of(layers)) for name in ("wins", "losses"))
        return wins - losses, exact_mcnemar(wins, losses)


def cases_of(outcomes: Sequence[Outcome]) -> list[Case]:
    """The lines of the table: vMNIST by size and number of labelled samples, then CIFAR-10."""
    groups: dict[tuple[str, int, str, int], list[Outcome]] = {}
    for one in outcomes:
        groups.setdefault((one.data, one.trained_on, one.images, one.samples), []).append(one)
    order = sorted(groups, key=lambda key: (list(TITLES).index(key[0]), key[1], key[2], key[3]))
    return [Case(*key, tuple(groups[key])) for key in order]


def chosen(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """For each network, the outcome of the head with the highest ``gain_``; of equal ones, that of fewer features."""
    by_network: dict[int, list[Outcome]] = {}
    for one in outcomes:
        by_network.setdefault(one.network, []).append(one)
    return [max(some, key=lambda one: (one.promised, -one.features)) for some in by_network.values()]


# ---- the table -------------------------------------------------------------------------------------------------------


def case_table(outcomes: Sequence[Outcome]) -> str:
    """A line for each case: softmax's error, and fewer errors with every choice of layers."""
    lines = []
    for case in cases_of(outcomes):
        shown = "" if case.images == CLEAN else f", {case.images}"
        before = float(np.mean([one.softmax_error for one in case.of("logits")]))
        cells = [f"{TITLES[case.data]}{shown}", f"{case.trained_on:,}", f"{case.samples:,}"]
        cells += [str(len(case.of("logits"))), percent(before), *(_gain(case, layers) for layers in LAYERS)]
        cells += [signed(case.gain_of_chosen()), f"{case.seconds('both'):.0f} s ({case.seconds('logits'):.0f} s)"]
        lines.append(cells)
    heads = ["data", "trained on", "labelled samples", "networks", "softmax's error", *HEADINGS.values()]
    return table([*heads, "chosen by `gain_`", "time"], lines, texts=1)


def _gain(case: Case, layers: str) -> str:
    more, p = case.against_last(layers)
    mark = "" if p >= LEVEL else "\\*" if more > 0 else "†"
    return f"{signed(case.gain(layers))}{mark}"


# ---- in words --------------------------------------------------------------------------------------------------------


def verdict(outcomes: Sequence[Outcome]) -> str:
    """The answers, one a line, from the numbers."""
    cases = cases_of(outcomes)
    lines = [
        f"- **Do both layers beat the last one? {_answer(cases, 'both')}** {_compared(cases, 'both', 'last')}",
        f"- **Does the earlier layer alone beat the last one? {_answer(cases, 'earlier')}** "
        f"{_compared(cases, 'earlier', 'last')}",
        f"- **Does the last layer beat the logits only? {_answer(cases, 'logits', turned=True)}** "
        f"{_compared(cases, 'last', 'logits')}",
        *_by_group(cases),
        f"- Mean gain over all cases: {_means(cases)}; chosen by `gain_`, without a look at the test samples, "
        f"{signed(float(np.mean([case.gain_of_chosen() for case in cases])))}.",
        f"- Time of a fit, in the mean: {', '.join(_seconds(cases))}.",
        f"- Significantly worse than softmax (p < 0.05): {_harmed(cases)} of {len(cases) * len(LAYERS)}.",
    ]
    return "\n".join(lines) + "\n"


def _answer(cases: Sequence[Case], layers: str, *, turned: bool = False) -> str:
    """Yes, in some cases or no: by how many cases are significantly better, Bonferroni-corrected."""
    better, worse = _counts(cases, layers, turned=turned)
    word = "Yes" if better > len(cases) / 2 and not worse else "In some cases" if better else "No"
    return f"{word}: significantly better in {better} of {len(cases)} cases, worse in {worse}."


def _counts(cases: Sequence[Case], layers: str, *, turned: bool) -> tuple[int, int]:
    """In how many cases these layers are significantly better than the last one, and worse; ``turned``: the reverse."""
    found = [more for more, p in (case.against_last(layers) for case in cases) if p < LEVEL / len(cases)]
    better, worse = sum(more > 0 for more in found), sum(more < 0 for more in found)
    return (worse, better) if turned else (better, worse)


def _compared(cases: Sequence[Case], layers: str, other: str) -> str:
    differences = [100 * (case.gain(layers) - case.gain(other)) for case in cases]
    return (
        f"Fewer errors by {np.mean(differences):+.1f} points in the mean, {np.median(differences):+.1f} in the median, "
        f"{min(differences):+.1f} to {max(differences):+.1f}."
    )


def _by_group(cases: Sequence[Case]) -> list[str]:
    """A line for each kind of network and number of labelled samples: the mean gain of every choice."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        shown = "" if case.images == CLEAN else f", {case.images}"
        groups.setdefault(f"{TITLES[case.data]}{shown}, {case.samples:,} labelled samples", []).append(case)
    return [f"- {name}: {_means(some)}." for name, some in groups.items()]


def _means(cases: Sequence[Case]) -> str:
    """The mean gain with every choice of layers."""
    means = {layers: float(np.mean([case.gain(layers) for case in cases])) for layers in LAYERS}
    return ", ".join(f"{HEADINGS[layers]} {signed(mean)}" for layers, mean in means.items())


def _seconds(cases: Sequence[Case]) -> list[str]:
    means = {layers: float(np.mean([case.seconds(layers) for case in cases])) for layers in LAYERS}
    return [f"{HEADINGS[layers]} {mean:.0f} s" for layers, mean in means.items()]


def _harmed(cases: Sequence[Case]) -> int:
    found = [case.against_softmax(layers) for case in cases for layers in LAYERS]
    return sum(more < 0 and p < LEVEL for more, p in found)
