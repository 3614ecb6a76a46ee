"""Tables and pictures of the experiment on choosing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from aftermax import SPHClassifierCV
from aftermax._utils.files import write_atomically, write_text
from aftermax._utils.text import percent, signed, table
from aftermax.plots import SweepDisplay
from aftermax.plots._style import bare, new_figure
from experiments.settings.choosing import VALIDATION_ROWS, Case, Outcome
from experiments.plotting import BEST_ON_TEST, BEST_ON_VALIDATION, CHOSEN, draw_points

WAYS = {"ceiling_gain": BEST_ON_TEST, "luckiest_gain": BEST_ON_VALIDATION, "gain": CHOSEN}


def write(outcomes: Sequence[Outcome], out: Path) -> str:
    """Write tables and figure to ``out``; the tables as text."""
    networks = [outcome for outcome in outcomes if outcome.trained_on]
    files = [outcome for outcome in outcomes if not outcome.trained_on]
    tables = {"vmnist": by_size(networks), "summary": summary(networks)}
    if files:
        tables["files"] = by_file(files)
    for name, text in tables.items():
        write_text(out / f"{name}.md", text)
    draw(networks, out / "gain.png")
    return "\n".join(tables.values())


def by_size(outcomes: Sequence[Outcome]) -> str:
    """Means over networks, a line for each number of validation rows and each size."""
    heads = [
        "validation rows",
        "trained on",
        "softmax error",
        "fewer errors: SPHClassifierCV",
        "expected beforehand",
        "kept softmax",
        "significantly worse (McNemar, p < 0.05)",
        "best on validation",
        "best on test (*looks at its labels, the paper's way*)",
    ]
    lines = []
    for rows in VALIDATION_ROWS:
        for size in sorted({outcome.trained_on for outcome in outcomes}):
            group = [o for o in outcomes if (o.validation_rows, o.trained_on) == (rows, size)]
            cells = [
                f"{rows:,}",
                f"{size:,}",
                percent(mean(group, lambda o: o.softmax_error)),
                f"**{signed(mean(group, lambda o: o.gain))}**",
                signed(mean(group, lambda o: o.expected_gain)),
                f"{sum(o.fell_back for o in group)} of {len(group)}",
                f"{sum(o.significantly_worse for o in group)} of {len(group)}",
                signed(mean(group, lambda o: o.luckiest_gain)),
                signed(mean(group, lambda o: o.ceiling_gain)),
            ]
            lines.append(cells)
    return table(heads, lines)


def summary(outcomes: Sequence[Outcome]) -> str:
    """Over all networks: how often it did harm, and how often it gained what it had promised."""
    heads = [
        "validation rows",
        "networks",
        "significantly worse than softmax (McNemar, p < 0.05)",
        "gain on test within the interval given beforehand",
        "the same, where softmax was not kept",
    ]
    lines = []
    for rows in VALIDATION_ROWS:
        group = [o for o in outcomes if o.validation_rows == rows]
        kept = [o for o in group if not o.fell_back]
        cells = [
            f"{rows:,}",
            str(len(group)),
            f"{sum(o.significantly_worse for o in group)}",
            f"{sum(o.as_expected for o in group)} ({percent(mean(group, lambda o: o.as_expected))})",
            f"{sum(o.as_expected for o in kept)} of {len(kept)}",
        ]
        lines.append(cells)
    return table(heads, lines)


def by_file(outcomes: Sequence[Outcome]) -> str:
    """A line for each score file."""
    heads = [
        "scores",
        "validation rows",
        "softmax error",
        "fewer errors: SPHClassifierCV",
        "expected beforehand (95 %)",
        "kept softmax",
        "best on validation",
        "best on test (*looks at its labels*)",
    ]
    lines = []
    for o in outcomes:
        cells = [
            o.name,
            f"{o.validation_rows:,}",
            percent(o.softmax_error),
            f"**{signed(o.gain)}**",
            f"{signed(o.expected_gain)} ({signed(o.expected_low)} to {signed(o.expected_high)})",
            "yes" if o.fell_back else "no",
            signed(o.luckiest_gain),
            signed(o.ceiling_gain),
        ]
        lines.append(cells)
    return table(heads, lines, texts=1)


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """Gain on test against the number of training samples: mean over networks and one standard deviation."""
    figure = new_figure(9.5, 4.2)
    panels = figure.subplots(1, len(VALIDATION_ROWS), sharey=True)
    sizes = sorted({outcome.trained_on for outcome in outcomes})
    for axes, rows in zip(panels, VALIDATION_ROWS, strict=True):
        axes.axhline(0.0, color="#bbbbbb", linewidth=0.8)
        for shift, (name, look) in zip((0.94, 1.0, 1.06), WAYS.items(), strict=True):
            gains = [
                [100 * getattr(o, name) for o in outcomes if (o.validation_rows, o.trained_on) == (rows, size)]
                for size in sizes
            ]
            means, spreads = ([figure_of(group) for group in gains] for figure_of in (np.mean, np.std))
            draw_points(axes, shift * np.array(sizes), means, spreads, look)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_title(f"{rows:,} validation rows", fontsize="medium")
        axes.set_xlabel("training samples")
        bare(axes)
    panels[0].set_ylabel("fewer test errors than softmax, %\nmean and standard deviation over networks")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    with write_atomically(path) as unfinished:
        figure.savefig(unfinished, format="png", dpi=150)


def draw_sweeps(cases: Sequence[Case], path: Path) -> None:
    """The paper's Figure 6 for some networks, side by side."""
    figure = new_figure(4.4 * len(cases), 4.6)
    for axes, case in zip(np.atleast_1d(figure.subplots(1, len(cases))), cases, strict=True):
        scores = case.scores()
        head = SPHClassifierCV(progress=False).fit(scores.val_logits, scores.val_labels)
        SweepDisplay.from_estimator(head, *scores, ax=axes)
        accuracy = np.mean(scores.test_logits.argmax(axis=1) == scores.test_labels)
        axes.set_title(f"trained on {case.trained_on:,}: softmax right in {percent(accuracy)}", fontsize="medium")
    with write_atomically(path) as unfinished:
        figure.savefig(unfinished, format="png", dpi=150)


def mean(group: Sequence[Outcome], value: Callable[[Outcome], float]) -> float:
    return float(np.mean([value(outcome) for outcome in group]))
