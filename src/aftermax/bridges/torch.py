"""PyTorch: a fitted head as a module, and the logits of a frozen model. Needs the ``torch`` extra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._wrapped.decision import THRESHOLD
from aftermax.bridges._formula import NO_THRESHOLD, Formula, certain, evaluate, formula_of
from aftermax.bridges._head_inputs import FirstBatchCheck, wrong_number_of_inputs

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise ImportError("Heads as PyTorch modules need torch: pip install 'aftermax[torch]'") from error

from aftermax.bridges._collect_logits import ONE_ROW_FOR_EACH_LABEL, Collected, collect_logits
from aftermax.bridges._torch_network import NetworkWithHead
from aftermax.bridges._torch_operations import TorchOperations
from aftermax.bridges._torch_state import REBUILD, State, difference, state_from_tensor, state_to_tensor

__all__ = ["Collected", "Head", "NetworkWithHead", "collect_logits"]

DECISIONS, LOG_PROBABILITIES, CERTAIN = 0, 1, 2  # what a formula gives
MIN_BYTES = 4  # of a floating-point number: a head does not compute below float32
VALUES_PER_CHUNK = 2**18  # as many as fit into a processor's cache


class Head(nn.Module):
    """A fitted head as a PyTorch module: takes logits, returns log-probabilities.

    The argmax over the columns is the column that the Python head predicts (of a :class:`~aftermax.Decider`, call
    :meth:`decide`: its decision need not be the most probable class). The module computes and returns float64,
    whatever the type of the logits, because then its predictions equal the Python head's. ``head.float()`` is faster,
    and may change the prediction of samples that are within rounding of another class. Devices without float64 need
    it: ``head.float().to("mps")``. The module never computes below float32: ``model.half()`` converts it to float32,
    and autocast has no effect on it.

    The module has buffers and no parameters, so there is nothing to train. Gradients flow to the logits and features.
    A ``state_dict`` holds the whole head, as tensors only. To load one, build the module from the head's own file,
    ``Head.from_fitted(aftermax.load("head.npz"))``, and then call ``load_state_dict``.

    The first batch is checked once: if it consists of probabilities, as from a model that ends in softmax, the module
    warns.

    ``torch.export`` and ``torch.jit.trace`` accept the module. The exported program processes all samples of a batch
    at once, which for SPH takes n_classes ** 2 values per sample, or 65,536 with more than 256 classes, and for a
    combination some hundreds: use batches.

    Parameters
    ----------
    formula : Formula
        Use :meth:`from_fitted` instead.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The class of each column.
    width : int or None
        The number of features; None if the head was fitted without features.

    Examples
    --------
    >>> import torch
    >>> from aftermax import SPHClassifier
    >>> from aftermax.bridges.torch import Head
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> fitted = SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> head = Head.from_fitted(fitted)
    >>> log_proba = head(torch.from_numpy(scores.test_logits))
    >>> bool((head.classes[log_proba.argmax(dim=1)] == fitted.predict(scores.test_logits)).all())
    True
    >>> model = torch.nn.Sequential(torch.nn.Linear(784, 10), head).eval()  # your network and the head as one model
    """

    def __init__(self, formula: Formula) -> None:
        super().__init__()
        if not isinstance(formula, Formula):
            raise TypeError(f"Head got a {type(formula).__name__}: create the module with Head.from_fitted(head).")
        self.classes: NDArray[Any] = formula.classes
        self.width = formula.width
        self.plan = formula.plan
        self._logits_width = formula.logits_width  # torch.compile in inference mode takes no arrays, such as classes
        self._first_batch_check = FirstBatchCheck()
        for name, values in formula.constants.items():
            self.register_buffer(name, torch.from_numpy(np.array(values, order="C")))

    @classmethod
    def from_fitted(cls, head: Any) -> Head:
        """Create the module from a fitted :class:`~aftermax.AutoHead`, SPHClassifier or SPHClassifierCV."""
        return cls(formula_of(head)).eval()

    @classmethod
    def onto(cls, network: nn.Module, head: Any, *, layer: str | Sequence[str] | None = None) -> NetworkWithHead:
        """Put a fitted head on a network, and on the features of its layers: one module, which takes its inputs.

        Parameters
        ----------
        network : torch.nn.Module
            The network. It is not copied, and is put in eval mode, in which the logits were collected.
        head : AutoHead, SPHClassifier, SPHClassifierCV, SoftmaxClassifier or Decider
            A head that was fitted on the logits of the network.
        layer : str or list of str, default=None
            The layer or layers that features were collected from, as in :func:`collect_logits`, if the head was fitted
            with features.

        Returns
        -------
        NetworkWithHead
            The module, from the network's inputs to log-probabilities. ``torch.compile(..., fullgraph=True)``,
            ``torch.export`` and ``state_dict`` take it as a whole.

        Examples
        --------
        >>> import aftermax
        >>> from aftermax.bridges.torch import Head, collect_logits
        >>> val = collect_logits(network, loader, layer="fc")  # doctest: +SKIP
        >>> head = aftermax.fit(val.logits, val.labels, features=val.features)  # doctest: +SKIP
        >>> shipped = Head.onto(network, head, layer="fc")  # doctest: +SKIP
        >>> log_proba = torch.compile(shipped, fullgraph=True)(images)  # doctest: +SKIP
        """
        return NetworkWithHead(network, cls.from_fitted(head), layer).eval()

    def forward(self, logits: Tensor, features: Tensor | list[Tensor] | tuple[Tensor, ...] | None = None) -> Tensor:
        """Compute log-probabilities.

        A sample with NaN gets NaN: unlike the Python head, the module does not check for missing values.

        Parameters
        ----------
        logits : Tensor of shape (n_samples, n_classes)
            Logits of the model that the head was fitted on. A head that was fitted on one logit takes tensors of shape
            (n_samples,) or (n_samples, 1).
        features : Tensor of shape (n_samples, n_features), or list of such tensors, default=None
            Required if the head was fitted with features, and not allowed otherwise. Those of several layers are put
            side by side, in this order.

        Returns
        -------
        Tensor of shape (n_samples, n_classes)
            Log-probabilities, one column per class in the order of ``classes``.
        """
        return self._evaluated(logits, features, LOG_PROBABILITIES)

    def decide(self, logits: Tensor, features: Tensor | list[Tensor] | tuple[Tensor, ...] | None = None) -> Tensor:
        """Compute what the Python head predicts, as the column of each sample.

        For a :class:`~aftermax.Decider` that is the decision, which need not be the most probable class. For any other
        head it is the argmax of what :meth:`forward` returns.

        Parameters
        ----------
        logits, features
            As for :meth:`forward`.

        Returns
        -------
        Tensor of shape (n_samples,)
            Column numbers: ``head.classes[columns]`` are the classes.
        """
        return self._evaluated(logits, features, DECISIONS).squeeze(1)

    def is_certain(self, logits: Tensor, features: Tensor | list[Tensor] | tuple[Tensor, ...] | None = None) -> Tensor:
        """Compute whether the head may decide each sample alone, for a :class:`~aftermax.Decider` with ``max_error``.

        Parameters
        ----------
        logits, features
            As for :meth:`forward`.

        Returns
        -------
        Tensor of shape (n_samples,)
            Booleans: where they are false, the sample is for a person.
        """
        if THRESHOLD not in self._buffers:
            raise ValueError(NO_THRESHOLD)
        return self._evaluated(logits, features, CERTAIN).squeeze(1)

    def _evaluated(
        self, logits: Tensor, features: Tensor | list[Tensor] | tuple[Tensor, ...] | None, what: int
    ) -> Tensor:
        """One of the results of the formula, for checked inputs."""
        hidden = _side_by_side(features) if isinstance(features, list | tuple) else features
        inputs = [logits] if hidden is None else [logits, hidden]
        self._check_arguments(inputs)
        if self._logits_width == 1 and logits.ndim == 1:
            inputs[0] = logits = logits.unsqueeze(1)
        being_exported = torch.compiler.is_compiling() or not isinstance(logits.shape[0], int)
        if being_exported:  # by torch.export, torch.jit.trace and the like, for any number of samples
            return self._of_formula(inputs, what)
        self._check_shapes(inputs)
        # The caller is past forward and torch's own two calls, or past one of the other methods.
        self._warn_if_probabilities(logits, stacklevel=6 if what == LOG_PROBABILITIES else 4)
        chunks = zip(*(values.split(self._samples_per_chunk) for values in inputs), strict=True)
        return torch.cat([self._of_formula(chunk, what) for chunk in chunks])

    def _of_formula(self, inputs: Sequence[Tensor], what: int) -> Tensor:
        dtype, constants = self._dtype, dict(self.named_buffers())
        with _no_autocast(inputs[0].device.type):
            found = evaluate(self.plan, TorchOperations(dtype), constants, [values.to(dtype) for values in inputs])
            result: Tensor = certain(TorchOperations(dtype), constants, *found) if what == CERTAIN else found[what]
        return result

    @property
    def _dtype(self) -> torch.dtype:
        return next(values.dtype for values in self.buffers() if values.is_floating_point())

    @property
    def _samples_per_chunk(self) -> int:
        """As many samples as keep the largest intermediate array small; SPH has up to 65,536 values per sample."""
        per_sample = max(int(self.plan["values_per_sample"]), len(self.classes))
        return max(1, VALUES_PER_CHUNK // per_sample)

    def _check_arguments(self, inputs: list[Tensor]) -> None:
        call = "head(logits)" if self.width is None else "head(logits, features)"
        for name, values in zip(("logits", "features"), inputs, strict=False):
            if isinstance(values, tuple | list):
                raise TypeError(f"{name} is a {type(values).__name__}: pass each tensor as its own argument, {call}.")
            if not isinstance(values, Tensor):
                raise TypeError(f"{name} must be a tensor, got {type(values).__name__}: pass torch.as_tensor({name}).")
        if (len(inputs) == 2) != (self.width is not None):
            raise wrong_number_of_inputs(self.width, call)

    def _check_shapes(self, inputs: list[Tensor]) -> None:
        sources = (
            ("logits", self._logits_width, "logits of the model"),
            ("features", self.width, "features of the layer"),
        )
        for (name, columns, source), values in zip(sources, inputs, strict=False):
            if values.ndim != 2 or values.shape[1] != columns:
                several = f" For several labels an input: {ONE_ROW_FOR_EACH_LABEL}." * (
                    name == "logits" and values.ndim > 2
                )
                raise ValueError(
                    f"{name} have shape {tuple(values.shape)}, but the head was fitted on {columns} columns: pass the "
                    f"{source} that it was fitted on, of shape (n_samples, {columns}).{several}"
                )
        n_samples, n_others = len(inputs[0]), len(inputs[-1])
        if n_samples != n_others:
            raise ValueError(f"logits have {n_samples} samples and features have {n_others}: pass the same samples.")

    def _warn_if_probabilities(self, logits: Tensor, stacklevel: int) -> None:
        if self._first_batch_check.done:
            return
        try:
            values = logits.detach().cpu().double().numpy()
        except RuntimeError:  # no values to check, as on the meta device and in torch.func
            return
        self._first_batch_check(values, stacklevel=stacklevel)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Head:
        """Move or convert the module, but never below float32."""

        def at_least_float32(values: Tensor) -> Tensor:
            converted = fn(values)
            if converted.is_floating_point() and converted.element_size() < MIN_BYTES:
                return values.to(converted.device, torch.float32)
            return converted

        super()._apply(at_least_float32, recurse)
        return self

    def get_extra_state(self) -> Tensor:
        """Return the part of ``state_dict`` that is not a buffer: the head's kind and classes, as bytes."""
        return state_to_tensor(self._state)

    def set_extra_state(self, state: Tensor) -> None:
        """Load what :meth:`get_extra_state` returned."""
        self.plan, self.classes, self.width = state_from_tensor(state, self._state)

    @property
    def _state(self) -> State:
        return State(self.plan, self.classes, self.width)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Load the whole head, or nothing of it and report an error."""
        loaded = {name.removeprefix(prefix): value for name, value in state_dict.items() if name.startswith(prefix)}
        if loaded:
            reason = difference(loaded, self.state_dict())
            if reason is not None:
                errors: list[str] = rest[-1]
                errors.append(f"The state_dict is of another head ({reason}): {REBUILD}.")
                return
            state_from_tensor(loaded["_extra_state"], self._state)  # raises before any buffer is changed
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def extra_repr(self) -> str:
        """Return the arguments that a model's printout shows."""
        with_features = "" if self.width is None else f", features={self.width}"
        return f"{self.plan['kind']}, classes={len(self.classes)}{with_features}"


def _side_by_side(features: Sequence[Any]) -> Tensor:
    """The features of several layers as one tensor."""
    if not features:
        raise ValueError("features is an empty list: pass the features of the layers that the head was fitted on.")
    for number, values in enumerate(features):
        if not isinstance(values, Tensor) or values.ndim != 2:
            kind = f"shape {tuple(values.shape)}" if isinstance(values, Tensor) else f"type {type(values).__name__}"
            raise ValueError(
                f"features[{number}] is of {kind}: pass tensors of shape (n_samples, n_features). Flatten a layer with "
                "more axes first, values.flatten(1)."
            )
    return torch.cat(list(features), dim=1)


def _no_autocast(device: str) -> AbstractContextManager[object]:
    """Switch autocast off where it is on: it would compute matrix products in half precision."""
    on = device != "meta" and torch.is_autocast_enabled(device)
    return torch.autocast(device, enabled=False) if on else nullcontext()
