"""PyTorch: a fitted head as a module, and a frozen model's logits collected. Needs the ``torch`` extra."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.validation import PROBABILITIES_TOLD, look_like_probabilities
from aftermax.bridges._formula import Formula, evaluate, formula_of

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise ImportError("Heads as PyTorch modules need torch: pip install 'aftermax[torch]'") from error

from aftermax.bridges._collect_logits import Collected, collect_logits
from aftermax.bridges._torch_state import REBUILD, State, difference, state_from_tensor, state_to_tensor

__all__ = ["Collected", "Head", "collect_logits"]

LEAST_BYTES = 4  # of a number that a head computes with
VALUES_AT_A_TIME = 2**18  # as many as stay in a processor's cache


class Head(nn.Module):
    """A fitted head as a module: from logits to log-probabilities.

    The argmax of a row is the column that the Python head's ``predict`` answers with. The head computes in float64,
    whatever the logits come in, for then its answers are the Python head's. ``head.float()`` makes it faster and may
    change the answer to rows that are within rounding of another; devices without float64 need it:
    ``head.float().to("mps")``. Below float32 it does not go: with ``model.half()`` it moves to float32, and
    autocast passes it by. What it returns has the precision that it computes in.

    It holds constants only, as buffers: nothing to train. Gradients flow through to the logits and features. A
    ``state_dict`` holds all of it, as tensors only. To load one, build the module from the head's own file,
    ``Head.from_fitted(aftermax.load("head.npz"))``, and call ``load_state_dict`` then.

    The first batch that it is called with is looked at once: probabilities, from a model that ends in softmax, are
    warned about.

    ``torch.export`` and ``torch.jit.trace`` take it; what they make has all rows in memory at once, which for SPH is
    K * K numbers for each row, and for a combination some hundreds: pass it batches.

    Parameters
    ----------
    formula : Formula
        Use :meth:`from_fitted`.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        The class of each column.
    width : int or None
        How many columns the features have; None for a head that takes none.

    Examples
    --------
    >>> import torch
    >>> from aftermax import SPHClassifier
    >>> from aftermax.bridges.torch import Head
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> fitted = SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> head = Head.from_fitted(fitted)
    >>> logs = head(torch.from_numpy(scores.test_logits))
    >>> bool((head.classes[logs.argmax(dim=1)] == fitted.predict(scores.test_logits)).all())
    True
    >>> model = torch.nn.Sequential(torch.nn.Linear(784, 10), head).eval()  # onto a network, to ship as one
    """

    _looked = False  # at the first batch

    def __init__(self, formula: Formula) -> None:
        super().__init__()
        self.classes: NDArray[Any] = formula.classes
        self.width = formula.width
        self.plan = formula.plan
        for name, values in formula.constants.items():
            self.register_buffer(name, torch.from_numpy(np.array(values, order="C")))

    @classmethod
    def from_fitted(cls, head: Any) -> Head:
        """The module of a fitted :class:`~aftermax.AutoHead`, SPHClassifier or SPHClassifierCV."""
        return cls(formula_of(head)).eval()

    def forward(self, logits: Tensor, features: Tensor | None = None) -> Tensor:
        """Log-probabilities of the classes, of shape (n_rows, K).

        NaN in, NaN out: unlike the Python head it does not look for them.

        Parameters
        ----------
        logits : Tensor of shape (n_rows, K)
            As the head was fitted on.
        features : Tensor of shape (n_rows, d), default=None
            For a head that was fitted with features, and only for such a head.
        """
        inputs = [logits] if features is None else [logits, features]
        self._check_arguments(inputs)
        recorded = torch.compiler.is_compiling() or not isinstance(logits.shape[0], int)
        if recorded:  # by torch.export, torch.jit.trace and the like, for any number of rows
            return self._tell(inputs)
        self._check_shapes(inputs)
        self._look_at(logits)
        parts = zip(*(values.split(self._rows_at_a_time) for values in inputs), strict=True)
        return torch.cat([self._tell(some) for some in parts])

    def _tell(self, inputs: Sequence[Tensor]) -> Tensor:
        precision, constants = self._precision, dict(self.named_buffers())
        with _no_autocast(inputs[0].device.type):
            logs: Tensor = evaluate(
                self.plan, _Torch(precision), constants, [values.to(precision) for values in inputs]
            )[1]
        return logs

    @property
    def _precision(self) -> torch.dtype:
        return next(values.dtype for values in self.buffers() if values.is_floating_point())

    @property
    def _rows_at_a_time(self) -> int:
        """So many that the largest array on the way is not too large; for SPH it has K * K values for each row."""
        arrays = [values for values in self.buffers() if values.ndim]
        wide = max(values.numel() if self.plan["kind"] == "sph" else values.shape[-1] for values in arrays)
        return max(1, VALUES_AT_A_TIME // wide)

    def _check_arguments(self, inputs: list[Tensor]) -> None:
        """Refuse what is no tensor, and features that are missing or too many."""
        for name, values in zip(("logits", "features"), inputs, strict=False):
            if isinstance(values, tuple | list):
                call = "head(logits)" if self.width is None else "head(logits, features)"
                raise TypeError(f"{name} are a {type(values).__name__}: pass each tensor as an argument, {call}.")
            if not isinstance(values, Tensor):
                raise TypeError(f"{name} are of type {type(values).__name__}: pass a tensor, torch.as_tensor({name}).")
        if (len(inputs) == 2) != (self.width is not None):
            raise ValueError(
                "This head was fitted without features: pass logits only."
                if self.width is None
                else f"This head was fitted with features: pass those of these rows too ({self.width} columns), "
                "head(logits, features)."
            )

    def _check_shapes(self, inputs: list[Tensor]) -> None:
        """Refuse another shape than the head was fitted on."""
        sources = (("logits", len(self.classes), "the logits of the model"), ("features", self.width, "the layer"))
        for (name, columns, source), values in zip(sources, inputs, strict=False):
            if values.ndim != 2 or values.shape[1] != columns:
                raise ValueError(
                    f"{name} have shape {tuple(values.shape)}, but the head was fitted on {columns} columns: pass "
                    f"{source} that it was fitted on, as (n_rows, {columns})."
                )
        rows, others = len(inputs[0]), len(inputs[-1])
        if rows != others:
            raise ValueError(f"features have {others} rows but logits have {rows}: pass one for each.")

    def _look_at(self, logits: Tensor) -> None:
        """Warn if the first rows that come are probabilities."""
        if self._looked or len(logits) == 0:
            return
        try:
            values = logits.detach().cpu().double().numpy()
        except RuntimeError:  # without numbers, as on the meta device and in torch.func
            return
        self._looked = True
        if look_like_probabilities(values):
            warnings.warn(PROBABILITIES_TOLD, UserWarning, stacklevel=5)  # past torch's own two calls

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Head:
        """Move or convert, but never below float32."""

        def no_lower(values: Tensor) -> Tensor:
            moved = fn(values)
            if moved.is_floating_point() and moved.element_size() < LEAST_BYTES:
                return values.to(moved.device, torch.float32)
            return moved

        super()._apply(no_lower, recurse)
        return self

    def get_extra_state(self) -> Tensor:
        """What ``state_dict`` holds beside the buffers: which steps the head takes, and its classes, as bytes."""
        return state_to_tensor(self._state)

    def set_extra_state(self, state: Tensor) -> None:
        """Take over what another head's ``state_dict`` holds."""
        self.plan, self.classes, self.width = state_from_tensor(state, self._state)

    @property
    def _state(self) -> State:
        return State(self.plan, self.classes, self.width)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """All of another head, or nothing of it and a word of what to do."""
        found = {name.removeprefix(prefix): value for name, value in state_dict.items() if name.startswith(prefix)}
        if found:
            told = difference(found, self.state_dict())
            if told is not None:
                errors: list[str] = rest[-1]
                errors.append(f"The state_dict is of another head ({told}): {REBUILD}.")
                return
            state_from_tensor(found["_extra_state"], self._state)  # before anything is taken over
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def extra_repr(self) -> str:
        """What is shown in a model's printout."""
        with_features = "" if self.width is None else f", features={self.width}"
        return f"{self.plan['kind']}, classes={len(self.classes)}{with_features}"


def _no_autocast(device: str) -> AbstractContextManager[object]:
    """Where autocast is on, products in float32 would be taken in half precision: switch it off."""
    on = device != "meta" and torch.is_autocast_enabled(device)
    return torch.autocast(device, enabled=False) if on else nullcontext()


class _Torch:
    """PyTorch's dialect of the formula."""

    exp, log, abs = staticmethod(torch.exp), staticmethod(torch.log), staticmethod(torch.abs)
    maximum = staticmethod(torch.maximum)

    def __init__(self, precision: torch.dtype) -> None:
        self.precision = precision
        self.epsilon = torch.finfo(precision).eps

    def power(self, value: Tensor, exponent: float) -> Tensor:
        if exponent == 2.0:
            return value * value
        if 0.0 < exponent < 1.0:  # at 0 its slope has no bounds, and gradients would be NaN
            positive = value > 0.0
            return torch.where(positive, torch.where(positive, value, 1.0) ** exponent, 0.0)
        return value**exponent

    def where(self, condition: Tensor, one: Tensor, other: Tensor) -> Tensor:
        return torch.where(condition, one, other)

    def as_float(self, condition: Tensor) -> Tensor:
        return condition.to(self.precision)

    def row_max(self, value: Tensor) -> Tensor:
        return value.amax(dim=-1, keepdim=True)

    def row_sum(self, value: Tensor) -> Tensor:
        return value.sum(dim=-1, keepdim=True)

    def row_argmax(self, value: Tensor) -> Tensor:
        return value.argmax(dim=-1, keepdim=True)

    def insert_axis(self, value: Tensor) -> Tensor:
        return value.unsqueeze(1)

    def drop_last_axis(self, value: Tensor) -> Tensor:
        return value.squeeze(2)
