"""The heads that stand for themselves, and how a head around one of them keeps its state and its formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from aftermax._heads.formula import ArrayOperations, Constants, Plan
from aftermax._heads.protocol import FittedHead, InputShape, State
from aftermax._heads.softmax import SoftmaxHead
from aftermax._many.head import ManyClassesHead
from aftermax._residual.head import ResidualHead
from aftermax._utils.untrusted import Arrays, fields, one_of
from aftermax.sph.fitted import FittedSPH

Kinds = Mapping[str, type[FittedHead]]

BASE_HEADS: dict[str, type[FittedHead]] = {
    head.kind: head for head in (SoftmaxHead, FittedSPH, ResidualHead, ManyClassesHead)
}
INNER = "inner"  # where the values and the plan of the inner head are


def state_around(inner: FittedHead, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> State:
    """The state of a head around another one. Its own arrays have names that no other head uses."""
    state = inner.to_state()
    return State({INNER: {"kind": inner.kind, **state.values}, **values}, {**state.arrays, **arrays})


def inner_from_state(described: object, arrays: Arrays, shape: InputShape, kinds: Kinds = BASE_HEADS) -> FittedHead:
    """The inner head again; ``described`` is the value of ``INNER``. Its arrays are taken, and no others."""
    values = dict(fields(described, None, "the inner head"))
    kind = one_of(values.pop("kind", None), kinds, "the kind of the inner head")
    return kinds[kind].from_state(values, arrays, shape)


def formula_around(
    inner: FittedHead, plan: Plan, constants: dict[str, NDArray[Any]]
) -> tuple[Plan, dict[str, NDArray[Any]]]:
    """The formula of a head around another one."""
    its_plan, its_constants = inner.formula()
    size = max(its_plan["values_per_sample"], plan.get("values_per_sample", 1))
    return {**plan, INNER: {"kind": inner.kind, **its_plan}, "values_per_sample": size}, {**its_constants, **constants}


def evaluate_inner(
    plan: Plan, ops: ArrayOperations, constants: Constants, inputs: Sequence[Any], kinds: Kinds = BASE_HEADS
) -> tuple[Any, Any]:
    """Predicted classes and log-probabilities of the inner head of a plan."""
    inner = plan[INNER]
    return kinds[inner["kind"]].evaluate(inner, ops, constants, inputs)


def innermost(head: FittedHead) -> FittedHead:
    """The head that others are around."""
    inner: FittedHead | None = getattr(head, INNER, None)
    return head if inner is None else innermost(inner)
