"""The paper's Figures 1 and 2A: the response array by column and by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from numpy.typing import ArrayLike

from aftermax.plots._display import Display
from aftermax.plots._fonts import font_for
from aftermax.plots._inputs import response_array_of
from aftermax.plots._responses import checked_response_array, class_indices, draw_responses, response_scales
from aftermax.plots.style import BAND, RULE, name_lines, new_figure, shortened
from aftermax.sph.response_array import ResponseArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from aftermax.plots._display import AxesList

LARGEST = "max"  # in place of 1, where the own response is near zero
CROWDED = 8.0  # a panel this wide has no room for the labels of both 0 and 1


class Texts(NamedTuple):
    """The texts of a plot by column or by row."""

    panel: str
    line: str
    scale: str
    title: str
    title_of_some: str


TEXTS = {
    "column": Texts(
        "unit",
        "true class",
        "the unit's response to its own class",
        "Response of each unit to every class",
        "Response of each unit to {} classes",
    ),
    "row": Texts(
        "class",
        "unit",
        "the response of the class's own unit",
        "Responses of all units to each class",
        "Responses of {} units to each class",
    ),
}


class ResponseArrayDisplay(Display):
    """The response array by column or by row, center and one spread to either side. The paper's Figures 1 and 2A.

    Column j holds the responses of unit j to every class, in units of its response to its own class: how they differ
    from class to class is what softmax ignores. Row i holds the responses of every unit to class i, in units of the
    response of the class's own unit: this is what softmax compares. Where that response is less than a tenth of the
    largest of the panel with its spread, they are in units of that, which the axis calls "max".

    Parameters
    ----------
    response_array : ResponseArray

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, one for each column or row shown
    figure_ : matplotlib Figure or SubFigure

    Examples
    --------
    >>> from aftermax import ResponseArray
    >>> from aftermax.plots import ResponseArrayDisplay
    >>> array = ResponseArray.fit([[3, 0], [2, 1], [0, 2], [0, 4]], ["cat", "cat", "dog", "dog"])
    >>> ResponseArrayDisplay(array).plot().figure_.savefig("response-array.png")  # doctest: +SKIP
    """

    def __init__(self, response_array: ResponseArray) -> None:
        self.response_array = checked_response_array(response_array, type(self))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        by: Literal["column", "row"] = "column",
        classes: ArrayLike | None = None,
        figure: Figure | SubFigure | None = None,
        ax: AxesList | None = None,
    ) -> Self:
        """Draw the response array of a fitted SPHClassifier or SPHClassifierCV, or of an AutoHead that chose SPH.

        Arguments are as for :meth:`plot`.
        """
        return cls(response_array_of(estimator)).plot(by=by, classes=classes, figure=figure, ax=ax)

    def plot(
        self,
        *,
        by: Literal["column", "row"] = "column",
        classes: ArrayLike | None = None,
        figure: Figure | SubFigure | None = None,
        ax: AxesList | None = None,
    ) -> Self:
        """Draw the response array.

        Parameters
        ----------
        by : {"column", "row"}, default="column"
            A panel for each unit, with its response to every class, or for each class, with every unit's response.
        classes : array-like, default=None
            The classes to show, as rows and as columns, at most fifty. If None, the first twelve.
        figure : matplotlib Figure or SubFigure, default=None
            Where to draw. If None, a new figure.
        ax : sequence of matplotlib Axes, default=None
            Where to draw instead, one for each class shown; then there is no title.
        """
        if by not in TEXTS:
            raise ValueError(f"by={by!r} is not known: choose 'column' or 'row'.")
        shown = class_indices(self.response_array.classes, classes)
        new = ax is None
        if ax is None:
            size = max(7.5, 2.0 + 0.95 * len(shown)), 1.9 + 0.3 * len(shown)
            ax = (figure or new_figure(*size)).subplots(1, len(shown), sharey=True)
        panels = self._use_panels(ax, len(shown))
        for axes, panel in zip(panels, shown, strict=True):
            self._draw_panel(axes, by, panel, shown)
        texts = TEXTS[by]
        panels[0].set_ylabel(texts.line)
        label = f"response, in units of {texts.scale} (diamond)"
        if not new:
            panels[len(shown) // 2].set_xlabel(label)
            return self
        self.figure_.supxlabel(label, fontsize="medium")
        complete = len(shown) == len(self.response_array.classes)
        title = texts.title if complete else texts.title_of_some.format(len(shown))
        self.figure_.suptitle(f"{title}: center and one spread to either side", fontsize="large")
        return self

    def _draw_panel(self, axes: Axes, by: str, panel: int, shown: list[int]) -> None:
        array = self.response_array
        (scale,), (is_own,) = response_scales(array, by, [panel])
        cells = (shown, panel) if by == "column" else (panel, shown)
        center, left, right = (part[cells] / scale for part in (array.center, array.left, array.right))
        own = shown.index(panel)
        axes.axhspan(own - 0.5, own + 0.5, color=BAND, zorder=0)
        axes.axvline(0.0, color=RULE, linewidth=0.8, zorder=1)
        for line in range(len(shown)):
            one = slice(line, line + 1)
            spreads = left[one], right[one]
            draw_responses(axes, center[one], [line], spreads, highlighted=line == own)
        low, high = axes.get_xlim()
        low, high = min(low, -0.2), max(high, 0.2)
        one_unit = -1.0 if (center[own] if is_own else low + high) < 0 else 1.0
        ticks = {one_unit: f"{one_unit:g}" if is_own else LARGEST}
        if high - low < CROWDED:
            ticks[0.0] = "0"
        axes.set_xticks(sorted(ticks), [ticks[value] for value in sorted(ticks)])
        axes.set_xlim(low, high)
        names = array.classes
        title = f"{TEXTS[by].panel} {shortened(names[panel], 20 if len(shown) <= 4 else 7)}"
        axes.set_title(title, fontsize="small", **font_for(title))
        name_lines(axes, [shortened(names[i], 20) for i in shown], margin=0.5)
        axes.tick_params(labelleft=axes is self.axes_[0])
