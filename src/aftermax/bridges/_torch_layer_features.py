"""The features of layers of a PyTorch model, recorded by forward hooks."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import combinations
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from aftermax.bridges._torch_returned_logits import ReturnedLogits


class LayersFeatures:
    """Records the features of the named layers while in a ``with`` statement; records nothing if there are none."""

    def __init__(self, model: nn.Module, names: str | Sequence[str] | None) -> None:
        self.layers = [_LayerFeatures(model, name) for name in layer_names(names)]
        self.compared = False

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for layer in self.layers:
                stack.enter_context(layer)
            self._hooks = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._hooks.close()

    def of_last_batch(self, logits: Tensor) -> list[Tensor]:
        """Features of the batch that the model has just processed, of each layer, (n_samples, n_features)."""
        features = [layer.of_last_batch(logits) for layer in self.layers]
        if not self.compared:
            self.compared = True
            self._warn_if_equal(features)
        return features

    def _warn_if_equal(self, features: list[Tensor]) -> None:
        """Warn of a layer whose features are those of another one, such as the input of the last layer."""
        by_name = zip((layer.name for layer in self.layers), features, strict=True)
        for (name, one), (other_name, other) in combinations(by_name, 2):
            if one.device == other.device and torch.equal(one, other):
                warnings.warn(
                    f"The layers {name!r} and {other_name!r} have the same features: name one of them. (The features "
                    "of the layer that returns the logits are its input.)",
                    UserWarning,
                    stacklevel=4,
                )


def layer_names(names: Any) -> list[Any]:
    """What was passed as ``layer``, as a list; empty if nothing was."""
    if names is None or not isinstance(names, list | tuple):
        return [] if names is None else [names]
    if not names:
        raise ValueError("layer is an empty list: name at least one layer, or leave it out.")
    twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
    if twice is not None:
        raise ValueError(f"layer names {twice!r} twice: name each layer once.")
    return list(names)


class _LayerFeatures:
    """Records the features of a named layer while in a ``with`` statement."""

    def __init__(self, model: nn.Module, name: str) -> None:
        self.name = name
        self.layer = named_layer(model, name)
        self.calls: list[Call] = []
        self.returned_logits = ReturnedLogits(name)

    def __enter__(self) -> Self:
        self.calls = []  # an error may have left some
        self.handle = self.layer.register_forward_hook(self._record, with_kwargs=True)
        return self

    def __exit__(self, *error: object) -> None:
        self.handle.remove()

    def _record(self, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        self.calls.append(Call.of(args, kwargs, output))

    def of_last_batch(self, logits: Tensor) -> Tensor:
        """Features of the batch that the model has just processed, of shape (n_samples, n_features)."""
        calls, self.calls = self.calls, []
        call = only_call(self.name, calls)
        return features_of(self.name, call, self.returned_logits.seen(call, logits), logits)


class Call(NamedTuple):
    """What a layer was called with and returned. Both are copies, because the next layer may work in place."""

    layer_input: Any
    output: Any
    returned: Any  # the output itself

    @classmethod
    def of(cls, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Call:
        """Record a call from the arguments of a forward hook."""
        return cls(_clone(next(iter((*args, *kwargs.values())), None)), _clone(output), output)


def only_call(name: str, calls: Sequence[Call]) -> Call:
    """The call of a layer for one batch; a layer that is called several times has no one output."""
    if len(calls) != 1:
        raise ValueError(
            f"The model called layer {name!r} {len(calls)} times for one batch: choose a layer that it calls "
            "once. (Compiled, scripted and parallel models may hide their layers: pass the original model.)"
        )
    return calls[0]


def features_of(name: str, call: Call, returns_logits: bool, logits: Tensor) -> Tensor:
    """The features of a layer: what it returns or, if that is the logits, its input, of shape (n_samples, ...)."""
    features = call.layer_input if returns_logits else call.output
    if not isinstance(features, Tensor) or features.ndim == 0 or _differ(features.shape[0], logits.shape[0]):
        kind = f"shape {tuple(features.shape)}" if isinstance(features, Tensor) else f"type {type(features).__name__}"
        raise ValueError(
            f"Layer {name!r} returned features of {kind} for {len(logits)} samples: choose a layer that "
            "returns a tensor of shape (n_samples, ...)."
        )
    return features.unsqueeze(1) if features.ndim == 1 else features.flatten(1)


def _differ(one: Any, other: Any) -> bool:
    """Whether two numbers of samples differ, as far as they are known: while torch traces, they may not be."""
    return isinstance(one, int) and isinstance(other, int) and one != other


def _clone(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def named_layer(model: nn.Module, name: str) -> nn.Module:
    """The layer of a model with this name, as in ``model.named_modules()``."""
    named = model.named_modules(remove_duplicate=False)  # a shared layer has several names
    layers: dict[str, nn.Module] = {known: module for known, module in named if known}
    if not isinstance(name, str):
        meant = next((known for known, module in layers.items() if module is name or known == str(name)), None)
        hint = "as in model.named_modules()" if meant is None else f"layer={meant!r}"
        raise TypeError(
            f"layer must be a string or a list of strings, got {type(name).__name__}: pass the layer's name, {hint}."
        )
    if name not in layers:
        similar = difflib.get_close_matches(name, layers, n=5, cutoff=0.5) or list(layers)[-5:]
        examples = f"it has, for example, {', '.join(map(repr, similar))}" if similar else "it has no layers"
        raise ValueError(f"The model has no layer {name!r}; {examples}. Choose a name from model.named_modules().")
    return layers[name]
