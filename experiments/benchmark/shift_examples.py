"""A figure of a few images under every shift at every strength."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.benchmark.shifted_data import CLEAN, Case, ShiftedData, data_sets
from experiments.data.cifar10 import CIFAR10
from experiments.data.corruptions import SHIFTS, STRENGTHS, UNITS
from experiments.data.mnist import MNIST
from experiments.plotting import new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN, GAP = 3, 0.07  # images of each data set, and the space between them as a share of an image's side


def draw_examples(mnist: MNIST, cifar10: CIFAR10 | None, path: Path) -> None:
    """Write the figure as .png and as .pdf."""
    rows = data_sets(mnist, cifar10)
    columns = [[CLEAN], *([Case(shift, strength) for strength in STRENGTHS] for shift in SHIFTS)]
    figure = new_figure(10.5, 0.5 + 2.1 * len(rows))
    widths = [len(cases) + (len(cases) - 1) * GAP for cases in columns]
    grid = figure.subplots(len(rows), len(columns), squeeze=False, width_ratios=widths)
    for data, line in zip(rows, grid, strict=True):
        for cases, axes in zip(columns, line, strict=True):
            _draw_tiles(axes, data, cases)
    for cases, above, below in zip(columns, grid[0], grid[-1], strict=True):
        above.set_title(cases[0].shift, fontsize="medium")
        below.set_xlabel(UNITS.get(cases[0].shift, ""), fontsize="small")
    save(figure, path)


def _draw_tiles(axes: Axes, data: ShiftedData, cases: Sequence[Case]) -> None:
    """Images of different classes below each other, cases side by side."""
    shown = [int(np.flatnonzero(data.labels == label)[0]) for label in np.unique(data.labels)[1 : 2 * SHOWN : 2]]
    few = replace(data, images=data.images[shown], labels=data.labels[shown])
    side = data.images.shape[-1]
    gap = round(GAP * side)
    tiles = np.ones((len(shown) * (side + gap) - gap, len(cases) * (side + gap) - gap, 3), dtype=np.float32)
    for across, case in enumerate(cases):
        for down, image in enumerate(few.corrupted(case)):
            coloured = np.moveaxis(np.broadcast_to(image, (3, side, side)), 0, -1)
            top, left = down * (side + gap), across * (side + gap)
            tiles[top : top + side, left : left + side] = coloured
    axes.imshow(tiles, interpolation="nearest")
    axes.set_yticks([])
    middles = [across * (side + gap) + side / 2 - 0.5 for across in range(len(cases))]
    amounts = [f"{data.amount(case):g}" if case.strength else "" for case in cases]
    axes.set_xticks(middles, amounts, fontsize="small")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
