"""What a PyTorch head's ``state_dict`` holds beside its buffers: JSON text as a tensor, checked when it is read."""

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

KINDS_OF_CLASSES = "OUbiuf"  # what numpy calls strings, true and false, and numbers
REBUILD = (
    "build the module with Head.from_fitted(aftermax.load(path)), from the file of the head that the state_dict was "
    "saved with, and load it then"
)


class State(NamedTuple):
    """Which steps a head takes, the class of each column, and how many columns its features have."""

    plan: Plan
    classes: NDArray[Any]
    width: int | None


def state_to_tensor(state: State) -> Tensor:
    """The state as bytes, for files that hold tensors only."""
    names = state.classes.tolist()
    for name in names:
        if not isinstance(name, str | int | float):
            raise TypeError(f"Classes such as {name!r} cannot be in a state_dict: fit the head on strings or numbers.")
    described = {"plan": state.plan, "classes": names, "dtype": state.classes.dtype.str, "width": state.width}
    return torch.frombuffer(bytearray(json.dumps(described).encode()), dtype=torch.uint8)


def state_from_tensor(value: object, own: State) -> State:
    """The state in a ``state_dict``, for a module that has this one so far."""
    try:
        described = fields(_described(value), ("plan", "classes", "dtype", "width"), "it")
        width = described["width"]
        return State(
            _plan(described["plan"], own.plan),
            _classes(described["classes"], described["dtype"], len(own.classes)),
            None if width is None else count(width, "the number of features", least=1),
        )
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"_extra_state is not what this head needs ({error}): {REBUILD}.") from error


def difference(found: Mapping[str, Any], own: Mapping[str, Tensor]) -> str | None:
    """Why tensors by name cannot take the place of a head's own; None if they can."""
    for name in sorted(set(found) ^ set(own)):
        return f"{name!r} is in one of them only"
    for name, values in own.items():
        shape, needed = tuple(getattr(found[name], "shape", ())), tuple(values.shape)
        if shape != needed and name != "_extra_state":
            return f"{name!r} has shape {shape} there and {needed} here"
    return None


def _described(value: object) -> Any:
    if not isinstance(value, Tensor) or value.dtype != torch.uint8 or value.ndim != 1:
        raise ValueError("it is no tensor of bytes")
    return json.loads(bytes(value.cpu().numpy()))


def _plan(value: object, own: Plan) -> Plan:
    """A plan for the same constants: of the steps, only SPH's exponent and whether it vetoes can be others."""
    plan = fields(value, own, "its plan")
    free = {}
    if own["kind"] == "sph":
        free = {"power": number(plan["power"], "its power", 0.0), "vetoes": flag(plan["vetoes"], "its veto")}
    if plan != own | free:
        raise ValueError("its plan is for other constants")
    return plan


def _classes(value: object, dtype: object, size: int) -> NDArray[Any]:
    names = some(value, size, "its classes")
    kind = np.dtype(dtype) if isinstance(dtype, str) else np.dtype(bytes)
    classes = np.array(names, dtype=kind)
    if kind.kind not in KINDS_OF_CLASSES or classes.ndim != 1 or classes.tolist() != names:
        raise ValueError("its classes are not of the type that it names")
    return classes
