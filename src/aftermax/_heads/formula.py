"""A fitted head as a formula: a plan and constants, evaluated with the operations of any array library.

PyTorch, Keras and ONNX each implement :class:`ArrayOperations`. What is computed is written once for all of them, next
to each kind of head (``evaluate``), and rounds a little differently from the compiled code that predicts in Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

Constants = Mapping[str, Any]  # by name, as arrays of the library
Plan = dict[str, Any]  # which steps to take; plain values, as for JSON

VALUES_AT_ONCE, LEAST_CLASSES_AT_ONCE = 2**16, 16  # for each sample


class ArrayOperations(Protocol):
    """What a formula needs of an array library, beyond arithmetic operators between its arrays.

    Arrays have a row for each sample. Reductions are along the last axis and keep it, with one column.
    """

    epsilon: float  # the machine epsilon of the precision that is computed in

    def exp(self, value: Any) -> Any: ...
    def log(self, value: Any) -> Any: ...
    def abs(self, value: Any) -> Any: ...
    def power(self, value: Any, exponent: float) -> Any: ...

    def maximum(self, one: Any, other: Any) -> Any:
        """The larger of two arrays, element by element."""

    def where(self, condition: Any, one: Any, other: Any) -> Any:
        """One array where the condition holds, the other elsewhere."""

    def as_float(self, condition: Any) -> Any:
        """1.0 where a condition holds and 0.0 elsewhere."""

    def row_max(self, value: Any) -> Any:
        """The largest value of each row."""

    def row_kth_largest(self, value: Any, k: int) -> Any:
        """The k-th largest value of each row."""

    def row_sum(self, value: Any) -> Any:
        """The sum of each row."""

    def row_argmax(self, value: Any) -> Any:
        """The index of the largest value of each row, the first of equals, as an integer."""

    def rows(self, value: Any, first: int, last: int) -> Any:
        """The rows of a constant from ``first`` up to ``last``."""

    def take_columns(self, value: Any, columns: Any) -> Any:
        """From (n, k), with column numbers of shape (a, b), to (n, a, b)."""

    def side_by_side(self, parts: Sequence[Any]) -> Any:
        """From several of shape (n, k) to one, with the columns of all of them in order."""

    def insert_axis(self, value: Any) -> Any:
        """From (n, k) to (n, 1, k)."""

    def drop_last_axis(self, value: Any) -> Any:
        """From (n, k, 1) to (n, k)."""


class Part(NamedTuple):
    """Some of the classes: from the first up to the last, not included."""

    first: int
    last: int
    whole: bool  # whether these are all classes

    def of(self, ops: ArrayOperations, constant: Any) -> Any:
        """The rows of these classes."""
        return constant if self.whole else ops.rows(constant, self.first, self.last)


def parts_of_classes(n_classes: int, values_per_class: int) -> list[Part]:
    """Parts of the classes to evaluate one after the other, where there are several values for a sample and a class.

    So intermediate arrays stay small.

    Examples
    --------
    >>> from aftermax._heads.formula import parts_of_classes
    >>> parts_of_classes(200, 200)
    [Part(first=0, last=200, whole=True)]
    >>> parts_of_classes(1000, 1000)[1]
    Part(first=65, last=130, whole=False)
    """
    step = classes_at_once(n_classes, values_per_class)
    return [Part(first, min(first + step, n_classes), step == n_classes) for first in range(0, n_classes, step)]


def classes_at_once(n_classes: int, values_per_class: int) -> int:
    """How many classes are evaluated at once; not too few, as each part is some operations more."""
    return min(n_classes, max(LEAST_CLASSES_AT_ONCE, VALUES_AT_ONCE // values_per_class))


def largest_at(ops: ArrayOperations, constants: Constants, predictions: Any, logs: Any) -> Any:
    """Log-probabilities that are largest at the predicted class, one column of numbers.

    Where rounding made the predicted class share the largest value with another one, this lifts it by the least step.
    """
    # Not times 1 - 2 * epsilon: TorchScript takes constants that are nearly the same for one, and this for a 1.
    largest = ops.row_max(logs)
    lifted = largest - largest * (2 * ops.epsilon)
    return ops.where(constants["columns"] == predictions, lifted, logs)


def log_softmax(ops: ArrayOperations, scores: Any) -> Any:
    """The logarithm of softmax of each row."""
    below = scores - ops.row_max(scores)
    return below - ops.log(ops.row_sum(ops.exp(below)))
