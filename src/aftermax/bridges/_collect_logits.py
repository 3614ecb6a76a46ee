"""A frozen PyTorch model run once over a loader: its logits, the labels in step, and a layer's features."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import Dataset, IterableDataset

from aftermax._utils.progress import Progress
from aftermax._utils.validation import as_logits

LABELS = ("labels", "label")  # under which a batch that is a dictionary holds them


class Collected(NamedTuple):
    """What a model said of the rows of a loader, in the order they came; rows in step."""

    logits: NDArray[Any]  # (n_rows, K)
    labels: NDArray[Any] | None  # (n_rows,); None if the loader has none
    features: NDArray[Any] | None  # (n_rows, d); None if no layer was named


def collect_logits(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    layer: str | None = None,
    device: torch.device | str | None = None,
    progress: bool | None = None,
) -> Collected:
    """Run a frozen model once and collect what it says before softmax.

    The model is in eval mode meanwhile, and each of its modules is put back into the mode that it was in, whatever
    happens. No gradients are kept.

    Parameters
    ----------
    model : nn.Module
        Returns a tensor of logits, (n_rows, K), or an object or dictionary with ``logits``, as Hugging Face's do.
    loader : iterable of batches
        A DataLoader, or any iterable. A batch is ``(inputs, labels)``, inputs alone, or a dictionary that is passed
        to the model without its ``"labels"`` or ``"label"``. Inputs that are a list or a dictionary are passed as
        several arguments. It may shuffle: labels come from the same batch as the inputs.
    layer : str, default=None
        Collect features too, from the layer of this name, as in ``model.named_modules()``, flattened to one row for
        each input. Of the layer that gives the logits it is what goes into it, so for the last hidden layer name the
        last layer. Of any other layer it is what comes out of it, before anything is done to that: of a Linear, the
        values before the ReLU that follows. Of a ResNet, ``layer="fc"`` and ``layer="avgpool"`` are the same.
    device : torch.device or str, default=None
        Where inputs go. If None, where the model's first parameter is. The model itself is not moved.
    progress : bool, default=None
        Whether to show a progress bar. If None, only on a terminal, and only if it takes longer than two seconds.

    Returns
    -------
    Collected
        ``logits``, ``labels`` and ``features`` as arrays; float64 stays, all other numbers become float32. Labels are
        None if the loader has none, features if no layer was named.

    Examples
    --------
    >>> import torch
    >>> import aftermax
    >>> from aftermax.bridges.torch import collect_logits
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> images, labels = torch.from_numpy(scores.val_logits[:500]), torch.from_numpy(scores.val_labels[:500])
    >>> loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, labels), batch_size=64)
    >>> model = torch.nn.Identity()  # stands for your network
    >>> rows = collect_logits(model, loader)
    >>> rows.logits.shape
    (500, 10)
    >>> head = aftermax.fit(rows.logits, rows.labels)
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model is a {type(model).__name__}: pass a torch.nn.Module.")
    if isinstance(loader, Dataset) and not isinstance(loader, IterableDataset):  # those may give batches
        raise TypeError(
            f"loader is a {type(loader).__name__}, which gives single rows: pass torch.utils.data.DataLoader(dataset, "
            "batch_size=256)."
        )
    target = _device_of(model) if device is None else torch.device(device)
    logits: list[NDArray[Any]] = []
    labels: list[NDArray[Any]] = []
    features: list[NDArray[Any]] = []
    with (
        _Watch(model, layer) as watch,
        _in_eval_mode(model),
        torch.inference_mode(),
        Progress("Running the model", _length(loader), progress) as bar,
    ):
        for number, batch in enumerate(loader):
            inputs, true = _parts(batch, number)
            said = _logits(_run(model, _moved(inputs, target)))
            logits.append(_as_array(said))
            features += [_as_array(values) for values in watch.take(said)]
            labels += [] if true is None else [_labels(true, len(said), number)]
            if labels and len(labels) != len(logits):
                raise ValueError(f"Up to batch {number} some batches have labels and some have none: make them alike.")
            bar.step()
    if not logits:
        raise ValueError("The loader gave no batches: pass one with rows. (A generator gives its batches only once.)")
    return Collected(
        as_logits(_joined(logits, "logits")),
        np.concatenate(labels) if labels else None,
        _joined(features, "features") if features else None,
    )


# ---- the model -------------------------------------------------------------------------------------------------------


@contextmanager
def _in_eval_mode(model: nn.Module) -> Iterator[None]:
    """Every module in eval mode, and afterwards in the mode that it was in."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        for module, _ in modes:
            module.training = False
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def _device_of(model: nn.Module) -> torch.device | None:
    for values in (*model.parameters(), *model.buffers()):
        return values.device
    return None


def _run(model: nn.Module, inputs: Any) -> Any:
    if isinstance(inputs, dict):
        return model(*inputs.values()) if len(inputs) == 1 else model(**inputs)
    return model(*inputs) if isinstance(inputs, list) else model(inputs)


def _logits(said: Any) -> Tensor:
    """The logits in what a model returned."""
    found = said["logits"] if isinstance(said, Mapping) and "logits" in said else getattr(said, "logits", said)
    if not isinstance(found, Tensor):
        raise TypeError(
            f"The model returned a {type(found).__name__}: wrap it in a module that returns its logits as a tensor."
        )
    if found.ndim != 2:
        raise ValueError(
            f"The model returned logits of shape {tuple(found.shape)}, but (n_rows, n_classes) is needed. Wrap it in a "
            "module that returns one row for each labelled thing; with a single output z for two classes, "
            "torch.stack([-z / 2, z / 2], dim=1)."
        )
    return found


class _Watch:
    """Sees what one layer takes and gives, while in a ``with`` statement; without a name, nothing."""

    def __init__(self, model: nn.Module, name: str | None) -> None:
        self.name = name
        self.layer = None if name is None else _layer(model, name)
        self.seen: list[tuple[Any, Any]] = []
        self.last: bool | None = None  # whether the layer gives the logits

    def __enter__(self) -> Self:
        if self.layer is not None:
            self.handle = self.layer.register_forward_hook(self._see, with_kwargs=True)
        return self

    def __exit__(self, *error: object) -> None:
        if self.layer is not None:
            self.handle.remove()

    def _see(self, _: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any], given: Any) -> None:
        taken = next(iter((*arguments, *named.values())), None)
        # Copies: what comes next may work in place.
        self.seen.append((_copy(taken), _copy(given)))

    def take(self, logits: Tensor) -> list[Tensor]:
        """The features of the rows that the model has just run on, if a layer is watched."""
        if self.layer is None:
            return []
        seen, self.seen = self.seen, []
        if len(seen) != 1:
            raise ValueError(
                f"The model called layer {self.name!r} {len(seen)} times for one batch: name one that it calls once. "
                "(Compiled, scripted and parallel models may hide their layers: pass the plain one.)"
            )
        taken, given = seen[0]
        if self.last is None:
            self.last = isinstance(given, Tensor) and given.shape == logits.shape and bool((given == logits).all())
        features = taken if self.last else given
        if not isinstance(features, Tensor) or features.ndim == 0 or len(features) != len(logits):
            what = tuple(features.shape) if isinstance(features, Tensor) else type(features).__name__
            raise ValueError(
                f"Layer {self.name!r} gives {what} for {len(logits)} rows of logits: name a layer that gives a tensor "
                "with one row for each."
            )
        return [features.reshape(len(features), -1)]


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _layer(model: nn.Module, name: str) -> nn.Module:
    layers: dict[str, nn.Module] = {known: module for known, module in model.named_modules() if known}
    if not isinstance(name, str):
        own = next((known for known, module in layers.items() if module is name or known == str(name)), None)
        which = "as in model.named_modules()" if own is None else f"layer={own!r}"
        raise TypeError(f"layer is a {type(name).__name__}: pass its name, {which}.")
    if name not in layers:
        near = difflib.get_close_matches(name, layers, n=5, cutoff=0.5) or list(layers)[-5:]
        raise ValueError(
            f"The model has no layer {name!r}; it has {', '.join(map(repr, near)) or 'no layers'}, for instance. "
            "Choose among the names of model.named_modules()."
        )
    return layers[name]


# ---- batches ---------------------------------------------------------------------------------------------------------


def _length(loader: Iterable[Any]) -> int | None:
    try:
        return len(loader)  # type: ignore[arg-type]  # for it may have none
    except TypeError:
        return None


def _parts(batch: Any, number: int) -> tuple[Any, Any]:
    """Inputs and labels of a batch; None if it has no labels."""
    if isinstance(batch, Mapping):
        inputs = {name: values for name, values in batch.items() if name not in LABELS}
        return inputs, next((batch[name] for name in LABELS if name in batch), None)
    if isinstance(batch, Tensor | np.ndarray):
        return batch, None
    if isinstance(batch, list | tuple) and len(batch) in (1, 2):
        return batch[0], (batch[1] if len(batch) == 2 else None)
    parts = f" of {len(batch)}" if isinstance(batch, list | tuple) else ""
    raise TypeError(
        f"Batch {number} is a {type(batch).__name__}{parts}: it has to be (inputs, labels), a dictionary or inputs "
        "alone. If there is more in a batch, pick: collect_logits(model, ((x, y) for x, y, _ in loader))."
    )


def _moved(values: Any, device: torch.device | None) -> Any:
    """Inputs where the model is; several of them as a plain list or dictionary."""
    if isinstance(values, Mapping):
        return {name: _moved(value, device) for name, value in values.items()}
    if isinstance(values, list | tuple):
        return [_moved(value, device) for value in values]
    if isinstance(values, Tensor | np.ndarray):
        return torch.as_tensor(values, device=device)
    return values


def _labels(labels: Any, rows: int, number: int) -> NDArray[Any]:
    values = labels.cpu().numpy() if isinstance(labels, Tensor) else np.asarray(labels)
    if values.shape == (rows, 1):
        values = values[:, 0]
    if values.shape != (rows,):
        hint = " Of one-hot labels pass labels.argmax(dim=1)." if values.ndim == 2 else ""
        raise ValueError(
            f"Batch {number} has labels of shape {values.shape} but {rows} rows of logits: pass one for each.{hint}"
        )
    return values


def _as_array(values: Tensor) -> NDArray[Any]:
    """A copy, as float64 if it is that and as float32 otherwise."""
    kept = values if values.dtype == torch.float64 else values.float()
    return kept.cpu().numpy().copy()


def _joined(parts: list[NDArray[Any]], what: str) -> NDArray[Any]:
    """All rows in one array."""
    for number, values in enumerate(parts):
        if values.shape[1] != parts[0].shape[1]:
            raise ValueError(
                f"Batch {number} has {values.shape[1]} columns of {what} and batch 0 has {parts[0].shape[1]}: make the "
                "inputs of all batches alike (padded to one length, say), or take what the model averages over them."
            )
    return np.concatenate(parts)
