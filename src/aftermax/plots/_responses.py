"""What the plots of a response array share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._utils.text import listed
from aftermax.plots.style import ACCENT, GREY
from aftermax.sph.response_array import ResponseArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_CLASSES = 12  # that are drawn, unless others are chosen
MOST_CHOSEN = 50
LEAST_OWN = 0.1  # of the largest response: below, the response to the own class is no unit to measure in


def checked_response_array(response_array: ResponseArray, display: type) -> ResponseArray:
    """The array, if it is one."""
    if not isinstance(response_array, ResponseArray):
        raise TypeError(
            f"{display.__name__} takes a ResponseArray, not {type(response_array).__name__}: for a fitted head use "
            f"{display.__name__}.from_estimator(head)."
        )
    return response_array


def class_indices(known: NDArray[Any], wanted: ArrayLike | None) -> list[int]:
    """The indices of the wanted classes; if None, of the first twelve."""
    if wanted is None:
        return list(range(min(len(known), MAX_CLASSES)))
    names, chosen = {name: index for index, name in enumerate(known.tolist())}, np.asarray(wanted).tolist()
    unknown = [name for name in chosen if name not in names]
    if unknown or not chosen:
        raise ValueError(f"classes=[{listed(unknown)}] cannot be shown: choose from [{listed(list(names))}].")
    if len(chosen) > MOST_CHOSEN:
        raise ValueError(f"classes names {len(chosen):,} classes, each with a panel: choose at most {MOST_CHOSEN}.")
    return [names[name] for name in chosen]


class Scales(NamedTuple):
    """What responses are divided by, and whether that is the response to the own class."""

    sizes: NDArray[np.float64]
    are_own: NDArray[np.bool_]


def response_scales(array: ResponseArray, by: str, some: ArrayLike) -> Scales:
    """The size of the response of some units to their own class.

    Where that is unknown or near zero, as far as the largest of the unit's column or of the class's row reaches, with
    its spread: divided by next to nothing, responses and spreads would be huge numbers.
    """
    wanted = np.asarray(some)
    own = np.abs(array.center[wanted, wanted])
    reach = np.abs(array.center) + np.maximum(array.left, array.right)
    largest = np.nanmax(reach[:, wanted].T if by == "column" else reach[wanted], axis=1, initial=0.0)
    usable = np.isfinite(own) & (own > 0) & (own >= LEAST_OWN * largest)
    return Scales(np.where(usable, own, np.where(largest > 0, largest, 1.0)), usable)


def draw_responses(
    axes: Axes,
    center: NDArray[np.float64],
    lines: ArrayLike,
    spreads: tuple[NDArray[np.float64], NDArray[np.float64]],
    *,
    highlighted: bool,
    label: str | None = None,
) -> None:
    """Centers with one spread to either side, at y = ``lines``."""
    axes.errorbar(
        center,
        lines,
        xerr=np.stack(spreads),
        fmt="D" if highlighted else "o",
        color=ACCENT if highlighted else GREY,
        markerfacecolor=ACCENT if highlighted else "white",
        markersize=5 if highlighted else 4.3,
        linewidth=1.8 if highlighted else 1.1,
        label=label,
        zorder=3,
    )
