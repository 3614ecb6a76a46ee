"""A residual head as plain values and arrays, for head files, and back with everything checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.protocol import InputShape, State
from aftermax._residual.gaussian import GaussianCorrection
from aftermax._residual.projection import Projection
from aftermax._residual.terms import InputTerms
from aftermax._utils.untrusted import LARGEST, Arrays, fields, number, one_of, some

SOURCES = ("logits", "features")
ROUNDING = 1e-6  # of exponents, relative


def to_state(slope: float, biases: NDArray[np.float64], terms: Sequence[InputTerms]) -> State:
    """The head's numbers, and its arrays with the name of the input before theirs."""
    arrays: dict[str, NDArray[Any]] = {"biases": biases}
    described = []
    for one in terms:
        source, gaussian = SOURCES[one.projection.source], one.gaussian
        own: dict[str, NDArray[Any]] = {
            "mean": one.projection.mean,
            "components": one.projection.components,
            "exponents": one.exponents,
            "coefficients": one.coefficients,
            "used": one.used,
            "linear": one.linear,
        }
        if gaussian is not None:
            own |= {"means": gaussian.means, "factors": gaussian.factors, "intercepts": gaussian.intercepts}
        arrays |= {f"{source}_{name}": values for name, values in own.items()}
        described.append(
            {
                "source": source,
                "clip_depth": one.projection.clip_depth,
                "gaussian_weight": one.gaussian_weight,
                "gaussian_floor": None if gaussian is None else gaussian.floor,
            }
        )
    return State({"slope": slope, "terms": described}, arrays)


def from_state(
    values: Mapping[str, Any], arrays: Arrays, shape: InputShape
) -> tuple[float, NDArray[np.float64], tuple[InputTerms, ...]]:
    """Slope, biases and terms."""
    named = fields(values, {"slope", "terms"}, "the residual head")
    n_classes, width = len(shape.classes), shape.features_width
    columns = {"logits": n_classes} if width is None else {"logits": n_classes, "features": width}
    terms = [_terms(one, arrays, n_classes, columns) for one in some(named["terms"], None, "the list of terms")]
    return number(named["slope"], "slope", -LARGEST, LARGEST), arrays.take("biases", (n_classes,)), tuple(terms)


def _terms(described: object, arrays: Arrays, n_classes: int, columns: dict[str, int]) -> InputTerms:
    named = fields(described, {"source", "clip_depth", "gaussian_weight", "gaussian_floor"}, "an entry of terms")
    source = one_of(named["source"], columns, "the source of terms")
    components = arrays.take(f"{source}_components", (columns[source], None))
    dimensions = components.shape[1]
    if dimensions == 0:
        raise ValueError(f"the array {source}_components has no columns")
    exponents = arrays.take(f"{source}_exponents", (dimensions + 2, None))
    _check_exponents(exponents, f"{source}_exponents")
    coefficients = arrays.take(f"{source}_coefficients", (None, exponents.shape[1], n_classes))
    used = arrays.take(f"{source}_used", (len(coefficients),), np.bool_)
    if coefficients[~used].any():
        raise ValueError(f"the array {source}_coefficients has values for kernels that {source}_used leaves out")
    gaussian = None
    if named["gaussian_floor"] is not None:
        floor = number(named["gaussian_floor"], "gaussian_floor", 0.0, 1.0)
        gaussian = _gaussian(source, arrays, n_classes, dimensions, floor)
    projection = Projection(
        SOURCES.index(source),
        number(named["clip_depth"], "clip_depth", 0.0, infinite=True),
        arrays.take(f"{source}_mean", (columns[source],)),
        components,
    )
    return InputTerms(
        projection,
        exponents,
        coefficients,
        used,
        arrays.take(f"{source}_linear", (dimensions, n_classes)),
        gaussian,
        number(named["gaussian_weight"], "gaussian_weight", 0.0, LARGEST),
    )


def _check_exponents(exponents: NDArray[np.float64], name: str) -> None:
    """Refuse those of no RBF kernels, whose values are at most 1: predictions in single precision rely on that.

    w z + a + b |z|^2 is at most a - |w|^2 / (4 b), if b is below 0.
    """
    squares, constants, curvatures = np.square(exponents[:-2]).sum(axis=0), exponents[-2], exponents[-1]
    with np.errstate(all="ignore"):
        highest = constants + np.where(squares > 0, squares / (-4 * curvatures), 0.0)
    bounded = (curvatures < 0) | ((curvatures == 0) & (squares == 0))
    if not (bounded & (highest <= ROUNDING * (1 + np.abs(constants)))).all():
        raise ValueError(f"the array {name} gives kernels that are larger than 1")


def _gaussian(source: str, arrays: Arrays, n_classes: int, dimensions: int, floor: float) -> GaussianCorrection:
    factors = arrays.take(f"{source}_factors", (None, dimensions, dimensions))
    if len(factors) not in (1, n_classes):
        raise ValueError(f"the array {source}_factors has {len(factors)} covariances: 1 or {n_classes} are possible")
    # A class without samples has a log prior of minus infinity.
    intercepts = arrays.take(f"{source}_intercepts", (n_classes,), low=-np.inf, infinite=True)
    if not np.isfinite(intercepts.max()):
        raise ValueError(f"the array {source}_intercepts holds infinity, or nothing finite")
    return GaussianCorrection(arrays.take(f"{source}_means", (n_classes, dimensions)), factors, intercepts, floor)
