"""A folded combination as plain values and arrays, and back; see :mod:`aftermax.storage._schema`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.corrections import Gaussian, Space
from aftermax._residual.fitting import Look
from aftermax._residual.head import FoldedHead, FoldedLook
from aftermax._utils.untrusted import Arrays, fields, number, one_of, some

SOURCES = ("logits", "features")


def folded_to_plain(head: FoldedHead, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Its numbers; what is in arrays is added to ``arrays``."""
    arrays["biases"] = head.biases
    looks = []
    for part in head.looks:
        source, gaussian = SOURCES[part.look.source], part.gaussian
        space = part.look.space
        found: dict[str, NDArray[Any]] = {
            "center": space.center,
            "axes": space.axes,
            "reach": part.reach,
            "linear": part.linear,
        }
        found |= {"coefficients": part.coefficients, "used": part.used}
        if gaussian is not None:
            found |= {"means": gaussian.means, "factors": gaussian.factors, "offsets": gaussian.offsets}
        arrays |= {f"{source}_{name}": values for name, values in found.items()}
        floor = None if gaussian is None else gaussian.floor
        looks.append(
            {
                "source": source,
                "depth": part.look.depth,
                "gaussian_weight": part.gaussian_weight,
                "gaussian_floor": floor,
            }
        )
    return {"slope": head.slope, "looks": looks}


def folded_from_plain(described: object, arrays: Arrays, size: int, width: int | None) -> FoldedHead:
    """The combination again, for logits with ``size`` columns and features with ``width``, if there are any."""
    parts = fields(described, {"slope", "looks"}, "the head of AutoHead")
    columns = {"logits": size} if width is None else {"logits": size, "features": width}
    looks = [_look_from_plain(look, arrays, size, columns) for look in some(parts["looks"], None, "looks")]
    return FoldedHead(number(parts["slope"], "slope"), arrays.take("biases", (size,)), tuple(looks))


def _look_from_plain(described: object, arrays: Arrays, size: int, columns: dict[str, int]) -> FoldedLook:
    names = {"source", "depth", "gaussian_weight", "gaussian_floor"}
    parts = fields(described, names, "a look")
    source = one_of(parts["source"], columns, "the source of a look")
    axes = arrays.take(f"{source}_axes", (columns[source], None))
    seen = axes.shape[1]
    reach = arrays.take(f"{source}_reach", (seen + 2, None))
    coefficients = arrays.take(f"{source}_coefficients", (None, reach.shape[1], size))
    gaussian = None
    if parts["gaussian_floor"] is not None:
        floor = number(parts["gaussian_floor"], "gaussian_floor", 0.0, 1.0)
        gaussian = _gaussian_from_plain(source, arrays, size, seen, floor)
    # Where the centers are is in ``reach``, and their own places are not needed to answer.
    look = Look(
        SOURCES.index(source),
        number(parts["depth"], "depth", 0.0, infinite=True),
        Space(arrays.take(f"{source}_center", (columns[source],)), axes),
        np.empty((0, seen)),
    )
    return FoldedLook(
        look,
        reach,
        coefficients,
        arrays.take(f"{source}_used", (len(coefficients),), np.bool_),
        arrays.take(f"{source}_linear", (seen, size)),
        gaussian,
        number(parts["gaussian_weight"], "gaussian_weight", 0.0),
    )


def _gaussian_from_plain(source: str, arrays: Arrays, size: int, seen: int, floor: float) -> Gaussian:
    factors = arrays.take(f"{source}_factors", (None, seen, seen))
    if len(factors) not in (1, size):
        raise ValueError(f"the array {source}_factors has {len(factors)} covariances: 1 or {size} are possible")
    # A class without rows has a logarithm of minus infinity.
    offsets = arrays.take(f"{source}_offsets", (size,), low=-np.inf, infinite=True)
    return Gaussian(arrays.take(f"{source}_means", (size, seen)), factors, offsets, floor)
