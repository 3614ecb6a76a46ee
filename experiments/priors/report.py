"""The report on new class proportions: errors, harm, and how well the proportions are told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from aftermax._utils.files import write_text
from aftermax._utils.text import percent, signed, table
from experiments.priors.figure import draw
from experiments.priors.measure import CONCENTRATIONS, GUARDED, METHODS, NOISE, SAMPLES, UNCHANGED, Outcome
from experiments.runs import provenance

TEMPLATE = Path(__file__).with_suffix(".md")
WORLDS = tuple(f"Dirichlet {one:g}" for one in CONCENTRATIONS)
MOST_HARM = 0.05


def write(outcomes: Sequence[Outcome], out: Path) -> str:
    """Write tables, figure and report to ``out``; return the tables as text."""
    tables = {
        "errors": errors_table(outcomes),
        "harm": harm_table(outcomes),
        "other": other_table(outcomes),
        "shares": shares_table(outcomes),
        "verdict": verdict(outcomes),
    }
    for name, text in tables.items():
        write_text(out / f"{name}.md", text)
    draw(outcomes, out)
    write_text(out / "report.md", TEMPLATE.read_text().format(run=provenance.sentence(out), **tables))
    return "\n".join(tables.values())


def of(outcomes: Iterable[Outcome], **wanted: object) -> list[Outcome]:
    """The outcomes with these attributes."""
    return [one for one in outcomes if all(getattr(one, name) == value for name, value in wanted.items())]


def gain(outcomes: Sequence[Outcome]) -> float:
    """The mean over draws of the share of the errors that are gone."""
    return float(np.mean([1 - one.error / one.error_before for one in outcomes])) if outcomes else float("nan")


def harm(outcomes: Sequence[Outcome]) -> float:
    """The share of draws with more errors than without adapting."""
    return float(np.mean([one.is_worse for one in outcomes])) if outcomes else float("nan")


def errors_table(outcomes: Sequence[Outcome]) -> str:
    """The share of errors that are gone, by world and number of unlabelled samples."""
    return _by_world(outcomes, lambda some: signed(gain(some)))


def harm_table(outcomes: Sequence[Outcome]) -> str:
    """How often there are more errors than without adapting."""
    return _by_world(outcomes, lambda some: percent(harm(some)))


def _by_world(outcomes: Sequence[Outcome], show: Callable[[Sequence[Outcome]], str]) -> str:
    lines = []
    for world in WORLDS:
        for samples in SAMPLES:
            some = of(outcomes, world=world, samples=samples)
            own = of(some, method=GUARDED)
            if own:
                adapted = percent(float(np.mean([one.adapted for one in own])))
                lines.append(
                    [
                        world,
                        f"{samples:,}",
                        f"{len(own):,}",
                        adapted,
                        *(show(of(some, method=name)) for name in METHODS),
                    ]
                )
    every = [one for one in outcomes if one.world in WORLDS]
    own = of(every, method=GUARDED)
    adapted = percent(float(np.mean([one.adapted for one in own])))
    lines.append(["all", "", f"{len(own):,}", adapted, *(show(of(every, method=name)) for name in METHODS)])
    return table(["new proportions", "unlabelled", "draws", "adapted", *METHODS], lines, texts=1)


def other_table(outcomes: Sequence[Outcome]) -> str:
    """Worlds whose proportions have not changed: the same world, and other images."""
    lines = []
    for world in (UNCHANGED, *NOISE):
        some = of(outcomes, world=world)
        own = of(some, method=GUARDED)
        if own:
            lines.append(
                [
                    world,
                    f"{len(own):,}",
                    percent(float(np.mean([one.p_moved < 0.05 for one in own]))),
                    percent(float(np.mean([one.p_label_shift < 0.01 for one in own]))),
                    percent(float(np.mean([one.adapted for one in own]))),
                    *(signed(gain(of(some, method=name))) for name in METHODS),
                ]
            )
    return table(["world", "draws", "moved (p < 0.05)", "more has changed", "adapted", *METHODS], lines, texts=1)


def shares_table(outcomes: Sequence[Outcome]) -> str:
    """How far the proportions are from the true ones, and how often the intervals hold these."""
    lines = []
    for world in (*WORLDS, UNCHANGED):
        for samples in SAMPLES:
            some = of(outcomes, world=world, samples=samples)
            own = of(some, method=GUARDED)
            if own:
                distances = [np.mean([one.distance for one in of(some, method=name)]) for name in METHODS]
                covered = percent(float(np.mean([one.covered for one in own])))
                chosen = [f"{value:.3f}" for name, value in zip(METHODS, distances, strict=True) if "guard" not in name]
                lines.append([world, f"{samples:,}", *chosen, covered])
    names = [name for name in METHODS if "guard" not in name]
    return table(["new proportions", "unlabelled", *names, "aftermax's intervals hold"], lines, texts=1)


def verdict(outcomes: Sequence[Outcome]) -> str:
    """The targets, one a line, with what was found."""
    every = [one for one in outcomes if one.world in WORLDS]
    own = of(every, method=GUARDED)
    cells = [(harm(of(own, world=world, samples=n)), world, n) for world in WORLDS for n in SAMPLES]
    worst = max(cell for cell in cells if not np.isnan(cell[0]))
    peers = {name: gain(of(every, method=name)) for name in METHODS if "aftermax" not in name}
    best = max(peers, key=lambda name: peers[name])
    kept = "kept" if harm(own) < MOST_HARM else "missed"
    ahead = "kept" if gain(own) >= peers[best] else "missed"
    harms = ", ".join(f"{name} {percent(harm(of(every, method=name)))}" for name in peers)
    gains = ", ".join(f"{name} {signed(value)}" for name, value in peers.items())
    lines = [
        f"- Worse than not adapting in {percent(harm(own))} of {len(own):,} draws (target: less than 5 %, {kept}); in "
        f"the worst cell ({worst[1]}, {worst[2]:,} unlabelled samples) in {percent(worst[0])}. The others: {harms}.",
        f"- Errors that are gone, in the mean over all draws: aftermax {signed(gain(own))}; {gains} (target: ahead of "
        f"or level with all, {ahead}).",
        *_by_world_lines(every),
    ]
    return "\n".join(lines) + "\n"


def _by_world_lines(every: Sequence[Outcome]) -> list[str]:
    lines = []
    for world in WORLDS:
        some = of(every, world=world)
        if some:
            found = [f"{name} {signed(gain(of(some, method=name)))}" for name in METHODS]
            lines.append(f"- {world}: {', '.join(found)}.")
    return lines
