"""The base of all Displays: where they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aftermax.plots.style import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    AxesList = Sequence[Axes] | NDArray[Any]  # one for each panel

NUMBER_WORDS = {2: "two", 3: "three"}


class Display:
    """What every Display has after it was drawn: ``figure_`` and ``axes_``, one Axes or an array of them."""

    figure_: Figure | SubFigure
    axes_: Any

    def _use_axes(self, ax: Axes | None, width: float, height: float) -> Axes:
        """Take ``ax``, or the Axes of a new figure of this size in inches."""
        axes: Axes = new_figure(width, height).subplots() if ax is None else ax
        self.axes_, self.figure_ = axes, axes.figure
        return axes

    def _use_panels(self, ax: AxesList, number: int) -> NDArray[Any]:
        """Take ``ax``, which must hold one Axes for each panel."""
        panels = np.array(ax, dtype=object).ravel()
        if len(panels) != number:
            word = NUMBER_WORDS.get(number, f"{number}")
            raise ValueError(
                f"ax holds {len(panels)} Axes, and there are {word} panels: pass {word}, as "
                f"figure.subplots(1, {number}) gives."
            )
        self.axes_, self.figure_ = panels, panels[0].figure
        return panels
