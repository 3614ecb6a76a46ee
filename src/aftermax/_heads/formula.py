"""A fitted head as a formula: a plan and constants, evaluated with the operations of any array library.

PyTorch, Keras and ONNX each implement :class:`ArrayOperations`. What is computed is written once for all of them, next
to each kind of head (``evaluate``), and rounds a little differently from the compiled code that predicts in Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

Constants = Mapping[str, Any]  # by name, as arrays of the library
Plan = dict[str, Any]  # which steps to take; plain values, as for JSON


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

    def insert_axis(self, value: Any) -> Any:
        """From (n, k) to (n, 1, k)."""

    def drop_last_axis(self, value: Any) -> Any:
        """From (n, k, 1) to (n, k)."""


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
