"""The features of one layer of a PyTorch model, recorded by a forward hook."""

from __future__ import annotations

import difflib
from typing import Any, Self

from torch import Tensor, nn


class LayerFeatures:
    """Records the features of a named layer while in a ``with`` statement; records nothing if the name is None."""

    def __init__(self, model: nn.Module, name: str | None) -> None:
        self.name = name
        self.layer = None if name is None else _named_layer(model, name)
        self.calls: list[tuple[Any, Any]] = []  # input and output of each call of the layer
        self.returns_logits: bool | None = None  # decided on the first batch

    def __enter__(self) -> Self:
        if self.layer is not None:
            self.handle = self.layer.register_forward_hook(self._record, with_kwargs=True)
        return self

    def __exit__(self, *error: object) -> None:
        if self.layer is not None:
            self.handle.remove()

    def _record(self, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        first_input = next(iter((*args, *kwargs.values())), None)
        # Cloned, because the next layer may work in place.
        self.calls.append((_clone(first_input), _clone(output)))

    def of_last_batch(self, logits: Tensor) -> list[Tensor]:
        """Features of the batch that the model has just processed, in a list; an empty list without a layer."""
        if self.layer is None:
            return []
        calls, self.calls = self.calls, []
        if len(calls) != 1:
            raise ValueError(
                f"The model called layer {self.name!r} {len(calls)} times for one batch: choose a layer that it calls "
                "once. (Compiled, scripted and parallel models may hide their layers: pass the original model.)"
            )
        layer_input, output = calls[0]
        if self.returns_logits is None:
            self.returns_logits = isinstance(output, Tensor) and _are_equal(output, logits)
        features = layer_input if self.returns_logits else output
        if not isinstance(features, Tensor) or features.ndim == 0 or len(features) != len(logits):
            kind = (
                f"shape {tuple(features.shape)}" if isinstance(features, Tensor) else f"type {type(features).__name__}"
            )
            raise ValueError(
                f"Layer {self.name!r} returned features of {kind} for {len(logits)} samples: choose a layer that "
                "returns a tensor of shape (n_samples, ...)."
            )
        return [features.reshape(len(features), -1)]


def _are_equal(output: Tensor, logits: Tensor) -> bool:
    """Whether a layer's output is the logits; of one logit for each sample, with or without its axis."""
    if logits.shape[1] == 1 and output.ndim == 1:
        output = output.unsqueeze(1)
    return output.shape == logits.shape and bool((output == logits).all())


def _clone(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _named_layer(model: nn.Module, name: str) -> nn.Module:
    layers: dict[str, nn.Module] = {known: module for known, module in model.named_modules() if known}
    if not isinstance(name, str):
        meant = next((known for known, module in layers.items() if module is name or known == str(name)), None)
        hint = "as in model.named_modules()" if meant is None else f"layer={meant!r}"
        raise TypeError(f"layer must be a string, got {type(name).__name__}: pass the layer's name, {hint}.")
    if name not in layers:
        similar = difflib.get_close_matches(name, layers, n=5, cutoff=0.5) or list(layers)[-5:]
        examples = f"it has, for example, {', '.join(map(repr, similar))}" if similar else "it has no layers"
        raise ValueError(f"The model has no layer {name!r}; {examples}. Choose a name from model.named_modules().")
    return layers[name]
