"""The paper's Figure 2B: what the other units know about two classes that softmax confuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from aftermax.plots._display import Display
from aftermax.plots._fonts import font_for
from aftermax.plots._inputs import response_array_of
from aftermax.plots._responses import (
    MAX_CLASSES,
    checked_response_array,
    class_indices,
    draw_responses,
    response_scales,
)
from aftermax.plots.style import BAND, RULE, name_lines, new_figure, shortened
from aftermax.sph.response_array import ResponseArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from aftermax.plots._display import AxesList

SEPARATED = 1.0  # a unit whose responses are this many spreads apart separates the two classes


class ClassPairDisplay(Display):
    """Two classes: what softmax compares for the first, and how all units respond to both.

    On the left, every unit's response to the first class, as softmax compares them: where the units of both classes
    (shaded) overlap, it confuses them. On the right, the responses to both classes, each unit in units of its response
    to its own class: units that respond differently to the two separate them. Where a unit's response to its own class
    is less than a tenth of its largest one with its spread, it is in units of that.

    Parameters
    ----------
    response_array : ResponseArray
    first, second : labels of two classes

    Attributes
    ----------
    separation : ndarray of shape (n_classes,)
        For each unit, how many spreads its responses to the two classes are apart; a spread is the mean of the two
        that face each other.
    axes_ : ndarray of two matplotlib Axes
    figure_ : matplotlib Figure or SubFigure

    Examples
    --------
    >>> from aftermax import ResponseArray
    >>> from aftermax.plots import ClassPairDisplay
    >>> array = ResponseArray.fit([[3, 0], [2, 1], [0, 2], [0, 4]], ["cat", "cat", "dog", "dog"])
    >>> display = ClassPairDisplay(array, "cat", "dog")
    >>> display.plot().figure_.savefig("cat-and-dog.png")  # doctest: +SKIP
    """

    def __init__(self, response_array: ResponseArray, first: Any, second: Any) -> None:
        self.response_array = checked_response_array(response_array, type(self))
        self.first, self.second = class_indices(response_array.classes, [first, second])
        if self.first == self.second:
            raise ValueError(f"first and second are both {first!r}: name two classes.")
        self.separation = self._separation()

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        first: Any,
        second: Any,
        *,
        figure: Figure | SubFigure | None = None,
        ax: AxesList | None = None,
    ) -> Self:
        """Draw two classes of the response array of a fitted SPHClassifier, SPHClassifierCV or AutoHead with SPH."""
        return cls(response_array_of(estimator), first, second).plot(figure=figure, ax=ax)

    def plot(self, *, figure: Figure | SubFigure | None = None, ax: AxesList | None = None) -> Self:
        """Draw in two Axes, ``ax``, in ``figure`` or in a new one.

        Of many units, those that separate the two classes best are shown.
        """
        units = self._shown_units()
        new = ax is None
        if ax is None:
            ax = (figure or new_figure(8.5, 2.2 + 0.3 * len(units))).subplots(1, 2, sharey=True)
        left, right = self._use_panels(ax, 2)
        for axes in (left, right):
            self._prepare(axes, units)
        first, second = (shortened(self.response_array.classes[i], 12) for i in (self.first, self.second))
        self._draw_class(left, units, self.first, own_scale=False)
        font = font_for(first, second)
        left.set_title(f"Class {first}, as softmax compares units", fontsize="medium", **font)
        first_is_own = response_scales(self.response_array, "row", [self.first]).are_own.all()
        unit = f"unit {first}'s to its own class" if first_is_own else "the largest"
        left.set_xlabel(f"response ({unit} = 1)", **font)
        left.set_ylabel("unit")
        self._draw_class(right, units, self.first, shift=-0.16)
        self._draw_class(right, units, self.second, shift=0.16)
        self._write_separations(right, units)
        right.set_title(f"Classes {first} and {second}, unit by unit", fontsize="medium", **font)
        own = response_scales(self.response_array, "column", units).are_own
        unit = "each unit's to its own class = 1" if own.all() else "own class = 1; near 0: the largest"
        right.set_xlabel(f"response ({unit})")
        handles, labels = right.get_legend_handles_labels()
        style: dict[str, Any] = {"loc": "outside lower center"} if new else {"bbox_to_anchor": (0.5, -0.2)}
        where = self.figure_ if new else left
        legend = where.legend(handles, labels, ncols=2, fontsize="small", **{"loc": "upper center"} | style)
        for text in legend.get_texts():
            text.update(font_for(text.get_text()))
        return self

    def _separation(self) -> NDArray[np.float64]:
        array, i, k = self.response_array, self.first, self.second
        above = array.center[i] > array.center[k]
        facing = np.where(above, array.left[i] + array.right[k], array.right[i] + array.left[k]) / 2
        return np.asarray(np.abs(array.center[i] - array.center[k]) / facing)

    def _shown_units(self) -> list[int]:
        pair = [self.first, self.second]
        others = [int(unit) for unit in np.argsort(-self.separation, kind="stable") if unit not in pair]
        return sorted(pair + others[: MAX_CLASSES - 2])

    def _prepare(self, axes: Axes, units: list[int]) -> None:
        for line in (units.index(self.first), units.index(self.second)):
            axes.axhspan(line - 0.5, line + 0.5, color=BAND, zorder=0)
        axes.axvline(0.0, color=RULE, linewidth=0.8, zorder=1)
        name_lines(axes, [shortened(self.response_array.classes[unit], 20) for unit in units], margin=0.5)
        axes.tick_params(labelleft=axes is self.axes_[0])

    def _draw_class(
        self, axes: Axes, units: list[int], index: int, *, shift: float = 0.0, own_scale: bool = True
    ) -> None:
        """The responses to a class, each in units of the unit's response to its own class, or of the class's unit."""
        array = self.response_array
        scale = (response_scales(array, "column", units) if own_scale else response_scales(array, "row", [index])).sizes
        center, left, right = (part[index, units] / scale for part in (array.center, array.left, array.right))
        label = f"class {shortened(array.classes[index], 20)}"
        lines = np.arange(len(units)) + shift
        draw_responses(axes, center, lines, (left, right), highlighted=index == self.first, label=label)

    def _write_separations(self, axes: Axes, units: list[int]) -> None:
        beside = axes.get_yaxis_transform()
        style: dict[str, Any] = {"transform": beside, "ha": "right"}
        for line, unit in enumerate(units):
            text = f"{self.separation[unit]:.1f}"
            weight = "bold" if float(text) >= SEPARATED else "normal"
            axes.text(1.06, line, text, va="center", fontsize="small", weight=weight, **style)
        axes.text(1.06, -0.7, "spreads\napart", va="bottom", fontsize="x-small", **style)
