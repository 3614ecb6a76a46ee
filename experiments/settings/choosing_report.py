"""Tables and figures of the experiment on the choice of hyperparameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from aftermax import SPHClassifierCV
from aftermax._utils.files import write_text
from aftermax._utils.text import percent, signed, table
from aftermax.plots import SweepDisplay
from experiments.plotting import (
    BEST_ON_TEST,
    BEST_ON_VALIDATION,
    CHOSEN,
    draw_points,
    hide_frame,
    log_samples_axis,
    new_figure,
    save_png,
)
from experiments.settings.choosing import VALIDATION_SAMPLES, Case, Outcome

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
    """Means over networks, a line for each number of validation samples and each size."""
    heads = [
        "validation samples",
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
    for count in VALIDATION_SAMPLES:
        for size in sorted({outcome.trained_on for outcome in outcomes}):
            group = [o for o in outcomes if (o.validation_rows, o.trained_on) == (count, size)]
            cells = [
                f"{count:,}",
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
    """Over all networks: how often the head was worse, and how often the gain was within the interval."""
    heads = [
        "validation samples",
        "networks",
        "significantly worse than softmax (McNemar, p < 0.05)",
        "gain on test within the interval given beforehand",
        "the same, where softmax was not kept",
    ]
    lines = []
    for count in VALIDATION_SAMPLES:
        group = [o for o in outcomes if o.validation_rows == count]
        gaining = [o for o in group if not o.fell_back]
        cells = [
            f"{count:,}",
            str(len(group)),
            f"{sum(o.significantly_worse for o in group)}",
            f"{sum(o.as_expected for o in group)} ({percent(mean(group, lambda o: o.as_expected))})",
            f"{sum(o.as_expected for o in gaining)} of {len(gaining)}",
        ]
        lines.append(cells)
    return table(heads, lines)


def by_file(outcomes: Sequence[Outcome]) -> str:
    """A line for each score file."""
    heads = [
        "scores",
        "validation samples",
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
    panels = figure.subplots(1, len(VALIDATION_SAMPLES), sharey=True)
    sizes = sorted({outcome.trained_on for outcome in outcomes})
    for axes, count in zip(panels, VALIDATION_SAMPLES, strict=True):
        axes.axhline(0.0, color="#bbbbbb", linewidth=0.8)
        for offset, (name, style) in zip((0.94, 1.0, 1.06), WAYS.items(), strict=True):
            gains = [
                [100 * getattr(o, name) for o in outcomes if (o.validation_rows, o.trained_on) == (count, size)]
                for size in sizes
            ]
            means, spreads = ([statistic(group) for group in gains] for statistic in (np.mean, np.std))
            draw_points(axes, offset * np.array(sizes), means, spreads, style)
        log_samples_axis(axes)
        axes.set_title(f"{count:,} validation samples", fontsize="medium")
        hide_frame(axes)
    panels[0].set_ylabel("fewer test errors than softmax, %\nmean and standard deviation over networks")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    save_png(figure, path, dpi=150)


def draw_sweeps(cases: Sequence[Case], path: Path) -> None:
    """The paper's Figure 6 for some networks, side by side."""
    figure = new_figure(4.4 * len(cases), 4.6)
    for axes, case in zip(np.atleast_1d(figure.subplots(1, len(cases))), cases, strict=True):
        scores = case.scores()
        head = SPHClassifierCV(progress=False).fit(scores.val_logits, scores.val_labels)
        SweepDisplay.from_estimator(head, *scores, ax=axes)
        accuracy = np.mean(scores.test_logits.argmax(axis=1) == scores.test_labels)
        axes.set_title(f"trained on {case.trained_on:,}: softmax accuracy {percent(accuracy)}", fontsize="medium")
    save_png(figure, path, dpi=150)


def mean(group: Sequence[Outcome], value: Callable[[Outcome], float]) -> float:
    return float(np.mean([value(outcome) for outcome in group]))
