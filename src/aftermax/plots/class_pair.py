"""The paper's Figure 2B: what the other units know about two classes that softmax confuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aftermax.plots._style import BAND, HOME, OTHER, RULE, bare, new_figure, panels, shortened
from aftermax.plots.response_array import MOST_CLASSES, array_of, checked_array, home_sizes, shown_classes
from aftermax.sph.response_array import ResponseArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

APART = 1.0  # a unit whose responses to the two classes are this many spreads apart tells them apart


class ClassPairDisplay:
    """The rows of two classes: what softmax compares for the first, and how all units answer to both.

    On the left, every unit's response to the first class, as softmax sees it: where the units of both classes (shaded)
    overlap, it will confuse them. On the right, the rows of both classes, each unit in units of its response to its
    own class: units that answer differently to the two can tell them apart.

    Parameters
    ----------
    response_array : ResponseArray
    first, second : labels of two classes

    Attributes
    ----------
    figure_ : matplotlib Figure or SubFigure
    axes_ : ndarray of two matplotlib Axes
    separation : ndarray of shape (n_classes,)
        For each unit, how many spreads its responses to the two classes are apart, the mean of the spreads that face
        each other being one.

    Examples
    --------
    >>> from aftermax import ResponseArray
    >>> from aftermax.plots import ClassPairDisplay
    >>> array = ResponseArray.fit([[3, 0], [2, 1], [0, 2], [0, 4]], ["cat", "cat", "dog", "dog"])
    >>> display = ClassPairDisplay(array, "cat", "dog")
    >>> display.plot().figure_.savefig("cat-and-dog.png")  # doctest: +SKIP
    """

    figure_: Figure | SubFigure
    axes_: NDArray[Any]

    def __init__(self, response_array: ResponseArray, first: Any, second: Any) -> None:
        self.response_array = checked_array(response_array, type(self))
        self.first, self.second = shown_classes(response_array.classes, [first, second])
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
        ax: Sequence[Axes] | NDArray[Any] | None = None,
    ) -> ClassPairDisplay:
        """Draw two rows of the response array of a fitted head."""
        return cls(array_of(estimator), first, second).plot(figure=figure, ax=ax)

    def plot(
        self, *, figure: Figure | SubFigure | None = None, ax: Sequence[Axes] | NDArray[Any] | None = None
    ) -> ClassPairDisplay:
        """Draw it, in two Axes, ``ax``, in ``figure`` or in a new one.

        Of many units, those that tell the two classes apart best are shown.
        """
        units = self._shown_units()
        given = ax
        if ax is None:
            ax = (figure or new_figure(8.5, 2.2 + 0.3 * len(units))).subplots(1, 2, sharey=True)
        left, right = self.axes_ = panels(ax, 2)
        self.figure_ = left.figure
        for axes in self.axes_:
            self._prepare(axes, units)
        names = self.response_array.classes
        first, second = (shortened(names[i], 12) for i in (self.first, self.second))
        self._draw_row(left, units, self.first, own_scale=False)
        left.set_title(f"One row, as softmax sees it: class {first}", fontsize="medium")
        left.set_xlabel(f"response, in units of unit {first}'s to its own class")
        self._draw_row(right, units, self.first, shift=-0.16)
        self._draw_row(right, units, self.second, shift=0.16)
        self._write_separations(right, units)
        right.set_title(f"Two rows: classes {first} and {second}", fontsize="medium")
        right.set_xlabel("response, in units of the unit's to its own class")
        left.set_ylabel("unit")
        handles, labels = right.get_legend_handles_labels()
        if given is None:
            self.figure_.legend(handles, labels, loc="outside lower center", ncols=2, fontsize="small")
        else:
            left.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, fontsize="small")
        return self

    def _separation(self) -> NDArray[np.float64]:
        array, i, k = self.response_array, self.first, self.second
        above = array.center[i] > array.center[k]
        facing = np.where(above, array.left[i] + array.right[k], array.right[i] + array.left[k]) / 2
        return np.asarray(np.abs(array.center[i] - array.center[k]) / facing)

    def _shown_units(self) -> list[int]:
        pair = [self.first, self.second]
        others = [int(unit) for unit in np.argsort(-self.separation, kind="stable") if unit not in pair]
        return sorted(pair + others[: MOST_CLASSES - 2])

    def _prepare(self, axes: Axes, units: list[int]) -> None:
        for place in (units.index(self.first), units.index(self.second)):
            axes.axhspan(place - 0.5, place + 0.5, color=BAND, zorder=0)
        axes.axvline(0.0, color=RULE, linewidth=0.8, zorder=1)
        names = [shortened(self.response_array.classes[unit], 20) for unit in units]
        axes.set_yticks(range(len(units)), names)
        axes.set_ylim(len(units) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0, labelleft=axes is self.axes_[0])
        bare(axes, "top", "right", "left")

    def _draw_row(self, axes: Axes, units: list[int], row: int, *, shift: float = 0.0, own_scale: bool = True) -> None:
        """A class's row: every unit in units of its own response to its own class, or of the class's own unit's."""
        array, scales = self.response_array, home_sizes(self.response_array, "column")
        scale = scales[units] if own_scale else home_sizes(array, "row")[row]
        is_first = row == self.first
        axes.errorbar(
            array.center[row, units] / scale,
            np.arange(len(units)) + shift,
            xerr=np.stack([array.left[row, units], array.right[row, units]]) / scale,
            fmt="D" if is_first else "o",
            color=HOME if is_first else OTHER,
            markerfacecolor=HOME if is_first else "white",
            markersize=4.5,
            linewidth=1.5 if is_first else 1.1,
            label=f"class {shortened(array.classes[row], 20)}",
            zorder=3,
        )

    def _write_separations(self, axes: Axes, units: list[int]) -> None:
        beside = axes.get_yaxis_transform()
        for place, unit in enumerate(units):
            text = f"{self.separation[unit]:.1f}"
            weight = "bold" if float(text) >= APART else "normal"
            axes.text(1.06, place, text, transform=beside, ha="right", va="center", fontsize="small", weight=weight)
        axes.text(1.06, -0.7, "spreads\napart", transform=beside, ha="right", va="bottom", fontsize="x-small")
