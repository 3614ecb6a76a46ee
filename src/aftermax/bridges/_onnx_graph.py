"""A head's steps as the nodes of an ONNX graph: standard operators only, so that every runtime can run them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from aftermax.bridges._formula import Formula, evaluate

OPSET, IR_VERSION = 13, 7  # of December 2020: the oldest with all operators as they are used here
AXES_AS_INPUT = 18  # from this opset on, ReduceMax takes its axes as an input
PRECISIONS = ("float32", "float64")
BELOW_ONE = np.float32(1 - 2**-23)


class Value:
    """A tensor of the graph. Operators between values, and with numbers, add nodes."""

    __hash__ = None  # type: ignore[assignment]  # == adds a node

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.name = name

    def __add__(self, other: Value | float) -> Value:
        return self.graph.add("Add", self, other)

    def __sub__(self, other: Value | float) -> Value:
        return self.graph.add("Sub", self, other)

    def __rsub__(self, other: float) -> Value:
        return self.graph.add("Sub", other, self)

    def __mul__(self, other: Value | float) -> Value:
        return self.graph.add("Mul", self, other)

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
    """Nodes and constants, as they are added.

    All names start with ``prefix``, but for those that :meth:`add` is given.
    """

    def __init__(self, precision: str, opset: int = OPSET, prefix: str = "aftermax/") -> None:
        if precision not in PRECISIONS:
            raise ValueError(f'precision={precision!r} is not known: use "float32" or "float64".')
        self.type = np.dtype(precision)
        self.opset = opset
        self.prefix = prefix
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._numbers: dict[float, Value] = {}
        self._axes: dict[int, Value] = {}

    def add(self, operator: str, *inputs: Any, name: str | None = None, **attributes: Any) -> Value:
        """Add a node, and get what it computes."""
        own = f"{self.prefix}{len(self.nodes)}_{operator}"
        names = [self._value(value).name for value in inputs]
        self.nodes.append(helper.make_node(operator, names, [name or own], name=own, **attributes))
        return Value(self, name or own)

    def numbers(self, values: NDArray[Any], name: str) -> Value:
        """Add a constant; numbers with a point in the precision of the graph."""
        if values.dtype.kind != "f":
            return self.constant(values, name)
        with np.errstate(over="ignore"):
            rounded = values.astype(self.type)
        if (np.isfinite(values) & ~np.isfinite(rounded)).any():
            raise ValueError(f'The head has numbers too large for {self.type}: pass precision="float64".')
        return self.constant(rounded, name)

    def constant(self, values: NDArray[Any], name: str) -> Value:
        """Add a constant as it is: numbers, conditions, or texts as objects."""
        self.constants.append(numpy_helper.from_array(values, self.prefix + name))
        return Value(self, self.prefix + name)

    def _value(self, value: Any) -> Value:
        """A value as it is; a number as a constant."""
        if isinstance(value, Value):
            return value
        if value not in self._numbers:
            self._numbers[value] = self.numbers(np.array(value, dtype=np.float64), f"number_{len(self._numbers)}")
        return self._numbers[value]

    def axis(self, number: int) -> Value:
        """A constant that says which axis is meant."""
        if number not in self._axes:
            self._axes[number] = self.constant(np.array([number]), f"axis_{len(self._axes)}")
        return self._axes[number]

    def cast(self, value: Value, kind: np.dtype[Any], name: str | None = None) -> Value:
        """A value in another type."""
        return self.add("Cast", value, to=helper.np_dtype_to_tensor_dtype(kind), name=name)


class _Onnx:
    """ONNX's dialect of the formula."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.epsilon = float(np.finfo(graph.type).eps)

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
        return self.graph.cast(condition, self.graph.type)

    def row_max(self, value: Value) -> Value:
        if self.graph.opset < AXES_AS_INPUT:
            return self.graph.add("ReduceMax", value, axes=[-1], keepdims=1)
        return self.graph.add("ReduceMax", value, self.graph.axis(-1), keepdims=1)

    def row_sum(self, value: Value) -> Value:
        return self.graph.add("ReduceSum", value, self.graph.axis(-1), keepdims=1)

    def row_argmax(self, value: Value) -> Value:
        return self.graph.add("ArgMax", value, axis=-1, keepdims=1)

    def insert_axis(self, value: Value) -> Value:
        return self.graph.add("Unsqueeze", value, self.graph.axis(1))

    def drop_last_axis(self, value: Value) -> Value:
        return self.graph.add("Squeeze", value, self.graph.axis(2))


def write_head(graph: Graph, formula: Formula, inputs: list[Value]) -> None:
    """Add all nodes of a head; what comes out is called ``label`` and ``probabilities``.

    The inputs have any type of numbers with a point. The largest probability is at the label, also after rounding.
    """
    dialect = _Onnx(graph)
    constants = {name: graph.numbers(values, name) for name, values in formula.constants.items()}
    answers, logs = evaluate(formula.plan, dialect, constants, [graph.cast(value, graph.type) for value in inputs])
    places = graph.add("Squeeze", answers, graph.axis(1))
    graph.add("Gather", _classes(graph, formula.classes), places, axis=0, name="label")
    likely = graph.cast(dialect.exp(logs), np.dtype(np.float32))
    largest = dialect.row_max(likely)
    others = graph.add("Min", likely, largest * graph.constant(np.array(BELOW_ONE), "below_one"))
    graph.add("Where", constants["columns"] == answers, largest, others, name="probabilities")
    used = {name for node in graph.nodes for name in node.input}
    graph.constants = [tensor for tensor in graph.constants if tensor.name in used]


def _classes(graph: Graph, classes: NDArray[Any]) -> Value:
    """The classes as a constant: texts, whole numbers, other numbers, or true and false."""
    names = classes.tolist()
    if all(isinstance(name, str) for name in names):
        return graph.constant(np.array(names, dtype=object), "classes")
    values = np.array(names)
    if values.dtype.kind not in "bif" or values.ndim != 1:
        raise TypeError(f"Classes such as {names[0]!r} have no type in ONNX: fit the head on whole numbers or strings.")
    return graph.constant(values, "classes")


def outputs_of(graph: Graph, rows: int | str | None) -> list[ValueInfoProto]:
    """What :func:`write_head` has added as outputs, with a name or number for the rows."""
    classes = next(tensor for tensor in graph.constants if tensor.name == graph.prefix + "classes")
    return [
        helper.make_tensor_value_info("label", classes.data_type, [rows]),
        helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [rows, *classes.dims]),
    ]
