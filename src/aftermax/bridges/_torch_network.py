"""A PyTorch network and a head on it as one module, which torch.compile and torch.export take as a whole."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from aftermax.bridges._collect_logits import logits_in
from aftermax.bridges._torch_layer_features import Call, features_of, layer_names, named_layer, only_call
from aftermax.bridges._torch_returned_logits import ReturnedLogits

if TYPE_CHECKING:
    from aftermax.bridges.torch import Head


class NetworkWithHead(nn.Module):
    """A network with a head on its logits and on the features of its layers: from inputs to log-probabilities.

    Create it with :meth:`Head.onto <aftermax.bridges.torch.Head.onto>`. It takes what the network takes. The network is
    used as it is, not copied: ``network`` and ``head`` are submodules, so that both move with ``.to()`` and are in
    ``state_dict``. The head sees what :func:`~aftermax.bridges.torch.collect_logits` collects from the same layers.

    ``torch.compile(model, fullgraph=True)``, ``torch.export.export`` and ``torch.jit.trace`` take it as a whole. It may
    be called in several threads.

    Parameters
    ----------
    network, head, layer
        Use :meth:`Head.onto <aftermax.bridges.torch.Head.onto>` instead.

    Attributes
    ----------
    network : torch.nn.Module
        The network.
    head : Head
        The head.
    layers : list of str
        The layers that features are taken from.
    """

    def __init__(self, network: nn.Module, head: Head, layer: str | Sequence[str] | None) -> None:
        super().__init__()
        if not isinstance(network, nn.Module):
            raise TypeError(f"network must be a torch.nn.Module, got {type(network).__name__}.")
        if layer is None and head.width is not None:
            raise ValueError(
                f"This head was fitted with {head.width} features: name the layer that they are from, "
                "Head.onto(network, head, layer=...)."
            )
        if layer is not None and head.width is None:
            raise ValueError("This head was fitted without features: leave out layer, Head.onto(network, head).")
        self.network, self.head = network, head
        self.layers: list[str] = layer_names(layer)
        self._recorders = [_Recorder() for _ in self.layers]
        width = head.width if len(self.layers) == 1 else None  # of several layers, only the sum is known
        self._returned_logits = [ReturnedLogits(name, width) for name in self.layers]
        for name, recorder in zip(self.layers, self._recorders, strict=True):
            hook = named_layer(network, name).register_forward_hook(recorder.record, with_kwargs=True)
            weakref.finalize(self, hook.remove)

    @property
    def classes(self) -> NDArray[Any]:
        """The class of each column."""
        return self.head.classes

    def forward(self, inputs: Any = None, /, *args: Any, **kwargs: Any) -> Tensor:
        """Compute log-probabilities from the inputs of the network; see :meth:`Head.forward`."""
        return self._with(self.head, _positional(inputs, args), kwargs)

    def decide(self, inputs: Any = None, /, *args: Any, **kwargs: Any) -> Tensor:
        """Compute the column of each prediction from the inputs of the network; see :meth:`Head.decide`."""
        return self._with(self.head.decide, _positional(inputs, args), kwargs)

    def is_certain(self, inputs: Any = None, /, *args: Any, **kwargs: Any) -> Tensor:
        """Compute whether the head may decide each sample alone; see :meth:`Head.is_certain`."""
        return self._with(self.head.is_certain, _positional(inputs, args), kwargs)

    def _with(self, method: Callable[..., Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        calls: list[list[Call]] = [[] for _ in self.layers]
        for recorder, own in zip(self._recorders, calls, strict=True):
            recorder.calls = own
        try:
            output = self.network(*args, **kwargs)
        finally:
            for recorder in self._recorders:
                recorder.calls = None
        logits = logits_in(output, [*args, *kwargs.values()])
        return method(logits, [self._features(number, own, logits) for number, own in enumerate(calls)] or None)

    def _features(self, number: int, calls: list[Call], logits: Tensor) -> Tensor:
        name, returned = self.layers[number], self._returned_logits[number]
        call = only_call(name, calls)
        decided = returned.seen(call, logits) if _has_values(logits) else returned.while_traced(call, logits)
        return features_of(name, call, decided, logits)


class _Recorder(threading.local):
    """Records the calls of a layer, in each thread those of its own; only while ``calls`` is a list."""

    calls: list[Call] | None = None

    def record(self, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        """Record a call, as a forward hook."""
        if self.calls is not None:
            self.calls.append(Call.of(args, kwargs, output))

    def __reduce__(self) -> tuple[type[_Recorder], tuple[()]]:
        return _Recorder, ()


def _positional(inputs: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """All positional arguments. The first has a name for torch.export, whose dynamic_shapes follow the signature."""
    return args if inputs is None and not args else (inputs, *args)


def _has_values(logits: Tensor) -> bool:
    """Whether there are samples to look at: not while torch traces, and not on the meta device."""
    traced = torch.compiler.is_compiling() or not isinstance(logits.shape[0], int)
    return not traced and not logits.is_meta and len(logits) > 0
