"""The part of a PyTorch head's ``state_dict`` that is not a buffer: JSON as a tensor, checked on loading."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from aftermax._heads.formula import Plan
from aftermax._utils.untrusted import count, fields, flag, number, some

CLASS_DTYPE_KINDS = "OUbiuf"  # numpy's codes for objects, strings, booleans and numbers
REBUILD = (
    "build the module with Head.from_fitted(aftermax.load(path)), from the file of the head that the state_dict was "
    "saved with, and then call load_state_dict"
)


class State(NamedTuple):
    """The head's plan, the class of each column, and the number of features."""

    plan: Plan
    classes: NDArray[Any]
    width: int | None


def state_to_tensor(state: State) -> Tensor:
    """Encode the state as bytes, for file formats that hold tensors only."""
    classes = state.classes.tolist()
    for name in classes:
        if not isinstance(name, str | int | float):
            raise TypeError(f"Classes such as {name!r} cannot be in a state_dict: fit the head on strings or numbers.")
    content = {"plan": state.plan, "classes": classes, "dtype": state.classes.dtype.str, "width": state.width}
    return torch.frombuffer(bytearray(json.dumps(content).encode()), dtype=torch.uint8)


def state_from_tensor(value: object, own: State) -> State:
    """Decode and check a state from a ``state_dict``, to be loaded into a module with the state ``own``."""
    try:
        content = fields(_decoded(value), ("plan", "classes", "dtype", "width"), "it")
        width = content["width"]
        return State(
            _checked_plan(content["plan"], own.plan),
            _checked_classes(content["classes"], content["dtype"], len(own.classes)),
            None if width is None else count(width, "the number of features", least=1),
        )
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"_extra_state does not fit this head ({error}): {REBUILD}.") from error


def difference(loaded: Mapping[str, Any], own: Mapping[str, Tensor]) -> str | None:
    """Return why the tensors of a ``state_dict`` cannot replace a head's own; None if they can."""
    for name in sorted(set(loaded) ^ set(own)):
        return f"{name!r} is in only one of the two"
    for name, values in own.items():
        shape, needed = tuple(getattr(loaded[name], "shape", ())), tuple(values.shape)
        if shape != needed and name != "_extra_state":
            return f"{name!r} has shape {shape} in the state_dict and {needed} in the module"
    return None


def _decoded(value: object) -> Any:
    if not isinstance(value, Tensor) or value.dtype != torch.uint8 or value.ndim != 1:
        raise ValueError("it is not a tensor of bytes")
    return json.loads(bytes(value.cpu().numpy()))


def _checked_plan(value: object, own: Plan) -> Plan:
    """A plan for the same constants: only SPH's distance power and whether it vetoes may differ."""
    plan = fields(value, own, "its plan")
    may_differ = {}
    if own["kind"] == "sph":
        may_differ = {"power": number(plan["power"], "its power", 0.0), "vetoes": flag(plan["vetoes"], "its veto")}
    if plan != own | may_differ:
        raise ValueError("its plan is for other constants")
    return plan


def _checked_classes(value: object, dtype: object, n_classes: int) -> NDArray[Any]:
    names = some(value, n_classes, "its classes")
    class_dtype = np.dtype(dtype) if isinstance(dtype, str) else np.dtype(bytes)
    classes = np.array(names, dtype=class_dtype)
    if class_dtype.kind not in CLASS_DTYPE_KINDS or classes.ndim != 1 or classes.tolist() != names:
        raise ValueError("its classes are not of the stated dtype")
    return classes
