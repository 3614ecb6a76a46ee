"""How things are measured, and how the results are written."""

import csv
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np


@dataclass
class Result:
    """One line of the table. ``value`` is in ``unit``: "x" is a ratio to the baseline's time."""

    what: str
    baseline: str
    value: float
    unit: str


def alternate(ours: Callable[[], object], baseline: Callable[[], object], repeats: int = 7) -> float:
    """Ratio of the best times of two calls, taken in turns so that both have the same noise."""
    times = np.empty((repeats, 2))
    for turn in times:
        for place, call in enumerate((ours, baseline)):
            start = time.perf_counter()
            call()
            turn[place] = time.perf_counter() - start
    best = times.min(axis=0)
    return float(best[0] / best[1])


def best_time(call: Callable[[], object], repeats: int = 7) -> float:
    """The shortest of several times, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def in_new_process(code: str, *arguments: str) -> list[float]:
    """Run ``code`` in a new interpreter; the numbers that it prints."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]


def shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def write(results: list[Result], folder: Path, name: str) -> str:
    """Write the results as CSV and as a Markdown table, and return the latter."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Result))
        writer.writerows(astuple(result) for result in results)
    lines = ["| what | against | measured |", "|---|---|---|"]
    for result in results:
        lines.append(f"| {result.what} | {result.baseline} | {shown(result.value)} {result.unit} |")
    text = "\n".join(lines) + "\n"
    (folder / f"{name}.md").write_text(text)
    return text


def plain_ticks(axis: Any) -> None:
    """Numbers at 1, 2 and 5 times powers of ten, on a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())
