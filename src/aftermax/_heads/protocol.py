"""The fitted head: the small frozen value that predicts, whatever estimator made it.

Estimators hold exactly one, in ``fitted_head_``. Storage and bridges use what is written here and nothing else, so a
new kind of head is a new folder and one line in :mod:`aftermax.auto.kinds`. (Plots and the report also show what only
SPH has: its response array, its gate and its routes.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.formula import ArrayOperations, Constants, Plan
from aftermax._utils.untrusted import Arrays

Inputs = Sequence[NDArray[Any]]  # the logits and, for a head that was fitted with them, the features


class State(NamedTuple):
    """All that a fitted head consists of: values that JSON can hold (infinite numbers too), and arrays by name.

    Arrays have one to three dimensions, and names of lower-case letters and underscores; "classes" is taken.
    """

    values: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


class InputShape(NamedTuple):
    """What a head was fitted on: the classes of the columns, and how many features there are, if any."""

    classes: NDArray[Any]
    features_width: int | None = None


class FittedHead(Protocol):
    """What every fitted head can do. Classes are column numbers here; the estimators know their names."""

    kind: ClassVar[str]

    @property
    def uses_features(self) -> bool:
        """Whether predictions depend on features. A head that was fitted with features may do without them."""

    def predict(self, inputs: Inputs) -> NDArray[np.int64]:
        """The predicted class of each sample, as a column number.

        The inputs are arrays with the right number of columns, of any floating-point type; that they are finite is
        checked here, chunk by chunk.
        """

    def predict_proba(self, inputs: Inputs) -> NDArray[np.float64]:
        """The probabilities of the classes; the largest is always at the predicted class."""

    def to_state(self) -> State:
        """What a head file holds of this head."""

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Arrays, shape: InputShape) -> Self:
        """The head again, from a file that anyone may have written: a ValueError says what is wrong with it."""

    def formula(self) -> tuple[Plan, dict[str, NDArray[Any]]]:
        """The head as a plan (plain values, as for JSON) and constants, from which :meth:`evaluate` computes.

        ``plan["values_per_sample"]`` is how many numbers the largest intermediate array has for each sample. At least
        one of the constants is floating-point. The names "columns" and "plan" are taken.
        """

    @staticmethod
    def evaluate(plan: Plan, ops: ArrayOperations, constants: Constants, inputs: Sequence[Any]) -> tuple[Any, Any]:
        """Predicted classes, with one column, and log-probabilities in any array library.

        ``constants["columns"]`` are the column numbers, 0 to n_classes - 1. The plan and all other constants are those
        of :meth:`formula`; see :mod:`aftermax._heads.formula` for what the library can do.
        """
