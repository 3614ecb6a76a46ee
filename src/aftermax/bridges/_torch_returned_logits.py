"""Whether a layer of a PyTorch model returns the logits, so that its features are its input."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from aftermax.bridges._torch_layer_features import Call


class ReturnedLogits:
    """Whether a layer returns the logits, as far as the batches so far tell; the same for all batches.

    It does if the model returns what the layer returned, the same tensor or a view of it, also where the values were
    changed in place. Of other tensors, which may be copies of it, the values tell: one difference is proof that the
    layer does not return the logits. That they are equal is none, as a clamp may leave the values of a batch alone.

    Parameters
    ----------
    name : str
        The name of the layer.
    width : int, default=None
        The number of features that are expected of it. It tells where only the layer's input or its output has it.
    """

    def __init__(self, name: str, width: int | None = None) -> None:
        self.name, self.width = name, width
        self.known: bool | None = None
        self._by_values = False  # the logits were equal to the layer's output so far

    def seen(self, call: Call, logits: Tensor) -> bool:
        """Whether the layer returns the logits, after one more batch."""
        if self.known is False or (self.known and not self._by_values):
            return self.known
        if is_same_memory(call.returned, logits):
            self.known, self._by_values = True, False
        elif differs(call.output, logits):
            self._differed()
        elif self.known is None:
            self._decide_on_equal(call, logits)
        return bool(self.known)

    def while_traced(self, call: Call, logits: Tensor) -> bool:
        """Whether the layer returns the logits, where there are no values to look at: as torch traces the model."""
        if self.known is not None:
            return self.known
        is_returned = call.returned is logits
        if not is_returned and (isinstance(logits.shape[0], Tensor) or has_shape_of(call.output, logits)):
            raise ValueError(
                f"Whether layer {self.name!r} returns the logits is decided on the first batch: call the model on one "
                "before you compile, export or trace it. (A batch of zeros, or without samples, may not decide it.)"
            )
        return is_returned

    def _differed(self) -> None:
        """Keep that the layer does not return the logits; refuse to go on if features were taken as if it did."""
        took_input, self.known = self.known, False
        if took_input:
            raise ValueError(
                f"Layer {self.name!r} does not return the logits, as this batch shows, though its output was equal to "
                "them in each batch before: the model changes some of them after this layer, as a clamp does. So its "
                "features are its output, and those of the batches before were its input. Run these batches again, "
                "with this one first, or with all samples in one batch."
            )

    def _decide_on_equal(self, call: Call, logits: Tensor) -> None:
        """Decide on a batch in which the layer's output is equal to the logits, if the batch tells anything."""
        widths = {True: width_of(call.layer_input), False: width_of(call.output)}
        fitting = [choice for choice, width in widths.items() if width == self.width]
        if len(fitting) == 1:
            self.known = fitting[0]
        elif bool((logits.isfinite() & (logits != 0)).any()) and differs(call.layer_input, logits):
            self._by_values = self.known = True


def is_same_memory(returned: Any, logits: Tensor) -> bool:
    """Whether a layer's output and the logits are one tensor, or one is a view of the other."""
    if returned is logits:
        return True
    if not has_shape_of(returned, logits) or returned.device != logits.device or returned.dtype != logits.dtype:
        return False
    view = returned.reshape(logits.shape)
    try:
        return bool(logits.numel() and view.stride() == logits.stride() and view.data_ptr() == logits.data_ptr() != 0)
    except RuntimeError:  # these tensors have no memory of their own, as in torch.func
        return False


def differs(values: Any, logits: Tensor) -> bool:
    """Whether a layer's input or output has other values than the logits; NaN in the same place is the same."""
    if not has_shape_of(values, logits):
        return True
    shaped = values.reshape(logits.shape).to(logits.device)
    return bool(((shaped != logits) & ~(torch.isnan(shaped) & torch.isnan(logits))).any())


def has_shape_of(output: Any, logits: Tensor) -> bool:
    """Whether a layer's output may be the logits, by its shape: (n, K), (n, K, 1, 1) of convolutions, (n,) of K = 1."""
    if not isinstance(output, Tensor):
        return False
    if output.ndim == 1:
        return logits.shape == (len(output), 1)
    return output.shape[:2] == logits.shape and all(size == 1 for size in output.shape[2:])


def width_of(features: Any) -> int | None:
    """How many features a layer's input or output has for each sample; None if it is no tensor with samples."""
    if not isinstance(features, Tensor) or features.ndim == 0:
        return None
    return math.prod(features.shape[1:])
