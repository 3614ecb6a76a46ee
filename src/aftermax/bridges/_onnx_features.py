"""Which tensors of a user's network are the features that a head takes: those named, or what the last layer takes.

No graph tells which tensor the head was fitted on, and another one with as many columns gives wrong predictions in
silence: so what is assumed is told, and how to compare.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from onnx import ModelProto

from aftermax.bridges._onnx_last_layer import is_changed_into, last_layer_input
from aftermax.bridges._onnx_tensors import Tensor, named_tensor

NAME = "features=..., --features-from"
COMPARE = (
    "Compare its predictions with the Python head's, on some samples: agreement(model, head, logits, features, "
    "inputs=...), or aftermax export with --check and --inputs."
)


def features_of_last_layer(network: ModelProto, tensors: dict[str, Tensor], logits: str, width: int) -> str | None:
    """The tensor that the layer of the logits takes, if it can be the features that the head was fitted on."""
    tensor = tensors.get(last_layer_input(network, logits) or "")
    fits = tensor is not None and tensor.is_float and tensor.columns in (None, width)
    return tensor.name if tensor is not None and fits else None


def warn_of_assumption(features: str, stacklevel: int) -> None:
    """Warn that the features were not named; ``stacklevel`` is as if the caller called ``warnings.warn`` itself."""
    message = (
        f"The features are not named, so the head takes {features!r}, as the layer of the logits does. If it was "
        f"fitted on another layer, name that one; otherwise, name this one ({NAME}). {COMPARE}"
    )
    warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)


def warn_if_changed(
    network: ModelProto, tensors: dict[str, Tensor], logits: str, features: Sequence[Tensor], stacklevel: int
) -> None:
    """Warn of features such as those before an activation, if the layer of the logits takes those after it."""
    taken = last_layer_input(network, logits)
    names = [tensor.name for tensor in features]
    if taken is None or taken in names or taken not in tensors or not tensors[taken].is_float:
        return
    changed = next((name for name in names if is_changed_into(network, name, taken)), None)
    if changed is not None:
        message = (
            f"The layer of the logits takes {taken!r}, which is made of {changed!r} and has other values. If the head "
            f"was fitted on the input of that layer, name {taken!r} ({NAME}). {COMPARE}"
        )
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)


def named_features(
    network: ModelProto, tensors: dict[str, Tensor], names: str | Sequence[str], width: int
) -> list[Tensor]:
    """The tensors of these names; raises ValueError if they cannot be the features that the head was fitted on."""
    names = [names] if isinstance(names, str) else names
    if len(names) == 1:
        return [named_tensor(network, tensors, names[0], "features", width)]
    if not names:
        raise ValueError("features is an empty list: name at least one tensor.")
    twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
    if twice is not None:
        raise ValueError(f"features names {twice!r} twice: name each tensor once.")
    found = [named_tensor(network, tensors, name, "features", None) for name in names]
    sizes = [tensor.columns for tensor in found]
    known = sum(size for size in sizes if size is not None)
    if known > width or (known != width and None not in sizes):
        listed = "; ".join(map(str, found))
        raise ValueError(
            f"{listed}: together they have {known} columns, but the head was fitted on features with {width} columns. "
            "Name the layers that it was fitted on, in the same order."
        )
    return found
