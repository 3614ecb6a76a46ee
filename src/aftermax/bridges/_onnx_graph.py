"""A head as the nodes of an ONNX graph, with standard operators only, so that every runtime can run it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from aftermax._wrapped.decision import THRESHOLD
from aftermax.bridges._formula import Formula, certain, evaluate, is_decision

OPSET, IR_VERSION = 13, 7  # of December 2020: the oldest that has all operators in the form used here
AXES_AS_INPUT = 18  # from this opset on, ReduceMax takes its axes as an input
PRECISIONS = ("float32", "float64")
BELOW_ONE = np.float32(1 - 2**-23)  # keeps all other probabilities below the largest


class Value:
    """A tensor of the graph. Arithmetic between values, or with numbers, adds nodes."""

    __hash__ = None  # type: ignore[assignment]  # == adds a node

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.name = name

    def __add__(self, other: Value | float) -> Value:
        return self.graph.add("Add", self, other)

    def __radd__(self, other: float) -> Value:
        return self.graph.add("Add", other, self)

    def __sub__(self, other: Value | float) -> Value:
        return self.graph.add("Sub", self, other)

    def __rsub__(self, other: float) -> Value:
        return self.graph.add("Sub", other, self)

    def __mul__(self, other: Value | float) -> Value:
        return self.graph.add("Mul", self, other)

    def __rmul__(self, other: float) -> Value:
        return self.graph.add("Mul", other, self)

    def __truediv__(self, other: Value | float) -> Value:
        return self.graph.add("Div", self, other)

    def __rtruediv__(self, other: float) -> Value:
        return self.graph.add("Div", other, self)

    def __matmul__(self, other: Value) -> Value:
        return self.graph.add("MatMul", self, other)

    def __lt__(self, other: Value | float) -> Value:
        return self.graph.add("Less", self, other)

    def __gt__(self, other: Value | float) -> Value:
        return self.graph.add("Greater", self, other)

    def __ge__(self, other: Value | float) -> Value:
        return self.graph.add("GreaterOrEqual", self, other)

    def __eq__(self, other: object) -> Any:
        return self.graph.add("Equal", self, other)

    def __and__(self, other: Value) -> Value:
        return self.graph.add("And", self, other)


class Graph:
    """Nodes and constants of a graph that is being built.

    All names start with ``prefix``, except for names that are passed to :meth:`add`.
    """

    def __init__(self, precision: str, opset: int = OPSET, prefix: str = "aftermax/") -> None:
        if precision not in PRECISIONS:
            raise ValueError(f'precision must be "float32" or "float64", got {precision!r}.')
        self.dtype = np.dtype(precision)
        self.opset = opset
        self.prefix = prefix
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._numbers: dict[float, Value] = {}
        self._axes: dict[int, Value] = {}

    def add(self, operator: str, *inputs: Any, name: str | None = None, outputs: int = 1, **attributes: Any) -> Value:
        """Add a node, and return its output; if it has several, the first."""
        node_name = f"{self.prefix}{len(self.nodes)}_{operator}"
        names = [self._value(value).name for value in inputs]
        made = [name or node_name, *(f"{node_name}_{number}" for number in range(1, outputs))]
        self.nodes.append(helper.make_node(operator, names, made, name=node_name, **attributes))
        return Value(self, name or node_name)

    def rounded_constant(self, values: NDArray[Any], name: str) -> Value:
        """Add a constant; floating-point values are rounded to the precision of the graph."""
        if values.dtype.kind != "f":
            return self.constant(values, name)
        with np.errstate(over="ignore"):
            rounded = values.astype(self.dtype)
        if (np.isfinite(values) & ~np.isfinite(rounded)).any():
            raise ValueError(f'The head has values too large for {self.dtype}: pass precision="float64".')
        return self.constant(rounded, name)

    def constant(self, values: NDArray[Any], name: str) -> Value:
        """Add a constant as it is: numbers, booleans, or strings as objects."""
        self.constants.append(numpy_helper.from_array(values, self.prefix + name))
        return Value(self, self.prefix + name)

    def _value(self, value: Any) -> Value:
        """Return a value as it is, and a number as a constant."""
        if isinstance(value, Value):
            return value
        if value not in self._numbers:
            self._numbers[value] = self.rounded_constant(
                np.array(value, dtype=np.float64), f"number_{len(self._numbers)}"
            )
        return self._numbers[value]

    def axis(self, number: int) -> Value:
        """Return a constant with one integer, as for an axis."""
        if number not in self._axes:
            self._axes[number] = self.constant(np.array([number]), f"axis_{len(self._axes)}")
        return self._axes[number]

    def cast(self, value: Value, dtype: np.dtype[Any]) -> Value:
        """Convert a value to another type."""
        return self.add("Cast", value, to=helper.np_dtype_to_tensor_dtype(dtype))


class _Onnx:
    """The formula's array operations in ONNX."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.epsilon = float(np.finfo(graph.dtype).eps)

    def exp(self, value: Value) -> Value:
        return self.graph.add("Exp", value)

    def log(self, value: Value) -> Value:
        return self.graph.add("Log", value)

    def abs(self, value: Value) -> Value:
        return self.graph.add("Abs", value)

    def power(self, value: Value, exponent: float) -> Value:
        if exponent in (1.0, 2.0):
            return value * value if exponent == 2.0 else value
        return self.graph.add("Pow", value, exponent)

    def maximum(self, one: Value, other: Value) -> Value:
        return self.graph.add("Max", one, other)

    def where(self, condition: Value, one: Value, other: Value) -> Value:
        return self.graph.add("Where", condition, one, other)

    def as_float(self, condition: Value) -> Value:
        return self.graph.cast(condition, self.graph.dtype)

    def row_max(self, value: Value) -> Value:
        return self._reduced("ReduceMax", value)

    def row_kth_largest(self, value: Value, k: int) -> Value:
        largest = self.graph.add("TopK", value, self.graph.axis(k), outputs=2, axis=-1)
        return self._reduced("ReduceMin", largest)

    def _reduced(self, operator: str, value: Value) -> Value:
        if self.graph.opset < AXES_AS_INPUT:
            return self.graph.add(operator, value, axes=[-1], keepdims=1)
        return self.graph.add(operator, value, self.graph.axis(-1), keepdims=1)

    def row_sum(self, value: Value) -> Value:
        return self.graph.add("ReduceSum", value, self.graph.axis(-1), keepdims=1)

    def row_argmax(self, value: Value) -> Value:
        return self.graph.add("ArgMax", value, axis=-1, keepdims=1)

    def rows(self, value: Value, first: int, last: int) -> Value:
        return self.graph.add("Slice", value, self.graph.axis(first), self.graph.axis(last), self.graph.axis(0))

    def take_columns(self, value: Value, columns: Value) -> Value:
        return self.graph.add("Gather", value, columns, axis=1)

    def side_by_side(self, parts: Sequence[Value]) -> Value:
        return parts[0] if len(parts) == 1 else self.graph.add("Concat", *parts, axis=1)

    def insert_axis(self, value: Value) -> Value:
        return self.graph.add("Unsqueeze", value, self.graph.axis(1))

    def drop_last_axis(self, value: Value) -> Value:
        return self.graph.add("Squeeze", value, self.graph.axis(2))


def input_widths(formula: Formula) -> dict[str, int]:
    """The number of columns of each input of a head, by name: logits and, if it was fitted with them, features."""
    return {"logits": formula.logits_width} | ({} if formula.width is None else {"features": formula.width})


def write_head(graph: Graph, formula: Formula, inputs: list[Value]) -> None:
    """Add the nodes of a head, with the outputs ``label`` and ``probabilities``.

    The inputs may have any floating-point type. The largest probability is always the label's, also after rounding,
    unless the label is a decision by costs. A head that leaves samples to a person has the output ``certain`` as well.
    """
    operations = _Onnx(graph)
    constants = {name: graph.rounded_constant(values, name) for name, values in formula.constants.items()}
    cast_inputs = [graph.cast(value, graph.dtype) for value in inputs]
    columns, log_probabilities = evaluate(formula.plan, operations, constants, cast_inputs)
    column_numbers = graph.add("Squeeze", columns, graph.axis(1))
    graph.add("Gather", _classes(graph, formula.classes), column_numbers, axis=0, name="label")
    probabilities = graph.cast(operations.exp(log_probabilities), np.dtype(np.float32))
    if is_decision(formula.plan):  # which need not be the most probable class
        graph.add("Identity", probabilities, name="probabilities")
    else:
        largest = operations.row_max(probabilities)
        others = graph.add("Min", probabilities, largest * graph.constant(np.array(BELOW_ONE), "below_one"))
        graph.add("Where", constants["columns"] == columns, largest, others, name="probabilities")
    if THRESHOLD in constants:
        alone = certain(operations, constants, columns, log_probabilities)
        graph.add("Squeeze", alone, graph.axis(1), name="certain")
    used = {name for node in graph.nodes for name in node.input}
    graph.constants = [tensor for tensor in graph.constants if tensor.name in used]


def _classes(graph: Graph, classes: NDArray[Any]) -> Value:
    """The classes as a constant: strings, integers, floats or booleans."""
    names = classes.tolist()
    if all(isinstance(name, str) for name in names):
        return graph.constant(np.array(names, dtype=object), "classes")
    values = np.array(names)
    if values.dtype.kind not in "bif" or values.ndim != 1:
        raise TypeError(f"ONNX has no type for classes such as {names[0]!r}: fit the head on integers or strings.")
    return graph.constant(values, "classes")


def output_infos(graph: Graph, n_samples: int | str | None) -> list[ValueInfoProto]:
    """Types and shapes of the outputs of :func:`write_head`, for a fixed or a named number of samples."""
    classes = next(tensor for tensor in graph.constants if tensor.name == graph.prefix + "classes")
    infos = [
        helper.make_tensor_value_info("label", classes.data_type, [n_samples]),
        helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [n_samples, *classes.dims]),
    ]
    if any("certain" in node.output for node in graph.nodes):
        infos.append(helper.make_tensor_value_info("certain", TensorProto.BOOL, [n_samples]))
    return infos
