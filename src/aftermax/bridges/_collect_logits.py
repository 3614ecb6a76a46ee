"""Run a frozen PyTorch model once over a data loader, and collect logits, labels and features of layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import Dataset, IterableDataset

from aftermax._utils.progress import Progress
from aftermax._utils.validation import as_logits
from aftermax.bridges._torch_layer_features import LayersFeatures
from aftermax.bridges._torch_run import in_eval_mode, run

LABEL_KEYS = ("labels", "label")  # of a batch that is a dictionary


class Collected(NamedTuple):
    """Logits, labels and features of the samples of a loader, in the order of the loader."""

    logits: NDArray[Any]  # (n_samples, n_classes), or (n_samples, 1) of a binary model with one logit
    labels: NDArray[Any] | None  # (n_samples,); None if the loader has no labels
    features: NDArray[Any] | None  # (n_samples, n_features); None if no layer was named


def collect_logits(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    layer: str | Sequence[str] | None = None,
    device: torch.device | str | None = None,
    progress: bool | None = None,
) -> Collected:
    """Run a frozen model once over a loader and collect its logits.

    The model runs in eval mode and without gradients. Afterwards each of its modules is back in the mode that it was
    in, also after an error.

    Parameters
    ----------
    model : nn.Module
        Returns logits as a tensor of shape (n_samples, n_classes), or an object or dictionary with ``logits``, as
        models of Hugging Face do. A binary model may return one logit for each sample, of shape (n_samples,) or
        (n_samples, 1): the log-odds of the second class. It is collected as one column.
    loader : iterable of batches
        A DataLoader, or any iterable. A batch is ``(inputs, labels)``, inputs alone, or a dictionary (as of Hugging
        Face's collators), which is passed to the model by name, without its ``"labels"`` or ``"label"``. Inputs that
        are a list or a dictionary are passed as several arguments. The loader may shuffle: labels come from the same
        batch as the inputs.
    layer : str or list of str, default=None
        Also collect features from the layer of this name, as in ``model.named_modules()``, flattened to shape
        (n_samples, n_features). For the layer that returns the logits, the features are its *input*: to get the last
        hidden layer, name the last layer. For any other layer, they are its output, before any later operation: for a
        Linear, the values before the ReLU that follows. In a ResNet, ``layer="fc"`` and ``layer="avgpool"`` give the
        same features. The features of several layers, ``layer=["layer3", "avgpool"]``, are put side by side, in this
        order. A layer returns the logits if the model returns its output: the same tensor (it may have been changed in
        place), a view of it, or a copy that is equal to it in all batches.
    device : torch.device or str, default=None
        The device that inputs are moved to. If None, the device of the model's first parameter. The model is not moved.
    progress : bool, default=None
        Whether to show a progress bar. If None, only on a terminal, and only if it takes longer than two seconds.

    Returns
    -------
    Collected
        ``logits``, ``labels`` and ``features`` as arrays. float64 stays float64; any other type becomes float32.
        ``labels`` is None if the loader has no labels, ``features`` if no layer was named.

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
    >>> collected = collect_logits(model, loader)
    >>> collected.logits.shape
    (500, 10)
    >>> head = aftermax.fit(collected.logits, collected.labels)
    """
    _check_arguments(model, loader)
    target = _device_of(model) if device is None else torch.device(device)
    logits: list[NDArray[Any]] = []
    labels: list[NDArray[Any]] = []
    features: list[NDArray[Any]] = []
    with (
        LayersFeatures(model, layer) as layers,
        in_eval_mode(model),
        torch.inference_mode(),
        Progress("Running the model", _length(loader), progress) as bar,
    ):
        for number, batch in enumerate(loader):
            inputs, batch_labels = _inputs_and_labels(batch, number)
            moved = _moved(inputs, target)
            batch_logits = logits_in(run(model, moved, number), moved)
            logits.append(as_array(batch_logits))
            of_layers = [as_array(values) for values in layers.of_last_batch(batch_logits)]
            features += [np.hstack(of_layers)] if of_layers else []
            labels += [] if batch_labels is None else [_as_labels(batch_labels, len(batch_logits), number)]
            if labels and len(labels) != len(logits):
                raise ValueError(f"Up to batch {number}, some batches have labels and some do not: use all or none.")
            bar.step()
    if not logits:
        raise ValueError("The loader has no batches: pass one with samples. (A generator can be used only once.)")
    all_logits = concatenated(logits, "logits")
    as_logits(all_logits, strict=False)  # warns of probabilities; one logit stays one column
    return Collected(
        all_logits,
        np.concatenate(labels) if labels else None,
        concatenated(features, "features") if features else None,
    )


def _check_arguments(model: object, loader: object) -> None:
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}.")
    if isinstance(loader, Dataset) and not isinstance(loader, IterableDataset):  # which may yield batches
        raise TypeError(
            f"loader is a {type(loader).__name__}, which yields single samples: pass "
            "torch.utils.data.DataLoader(dataset, batch_size=256)."
        )
    if isinstance(loader, Tensor | np.ndarray):
        raise TypeError(
            "loader is an array, whose items are single samples: pass a list with it as the only batch, [inputs] or "
            "[(inputs, labels)], or a DataLoader."
        )
    if _is_one_batch(loader):
        raise TypeError(
            "loader is (inputs, labels), which is a batch: pass a list with it as the only one, [(inputs, labels)], or "
            "a DataLoader."
        )


def _is_one_batch(loader: Any) -> bool:
    """Whether it is inputs and their labels, and not two batches of inputs."""
    if not (isinstance(loader, list | tuple) and len(loader) == 2):
        return False
    inputs, labels = loader
    are_arrays = isinstance(inputs, Tensor | np.ndarray) and isinstance(labels, Tensor | np.ndarray)
    return are_arrays and inputs.ndim > 1 and labels.ndim == 1 and len(inputs) == len(labels)


# ---- the model -------------------------------------------------------------------------------------------------------


def _device_of(model: nn.Module) -> torch.device | None:
    for values in (*model.parameters(), *model.buffers()):
        return values.device
    return None


ONE_ROW_FOR_EACH_LABEL = (
    "logits.flatten(0, -2) if the classes are the last axis, logits.movedim(1, -1).flatten(0, -2) if they are the "
    "second, as in (N, K, H, W)"
)


def logits_in(output: Any, inputs: Any) -> Tensor:
    """The logits in a model's output for some inputs, with two dimensions."""
    has_key = isinstance(output, Mapping) and "logits" in output
    logits = output["logits"] if has_key else getattr(output, "logits", output)
    if not isinstance(logits, Tensor):
        hint = " For a model of Hugging Face, set model.config.return_dict = True." if isinstance(logits, tuple) else ""
        holds = f" with {', '.join(map(repr, logits))}, but no logits" if isinstance(logits, Mapping) else ""
        raise TypeError(
            f"The model returned a {type(logits).__name__}{holds}: wrap it in a module that returns its logits as a "
            f"tensor.{hint}"
        )
    if logits.ndim == 1 and len(logits) == _n_samples(inputs):
        return logits.unsqueeze(1)  # one logit for each sample, of a binary model
    if logits.ndim != 2:
        advice = (
            "If the loader yields single samples, pass batches: a DataLoader, or [inputs]."
            if logits.ndim < 2
            else f"Wrap the model in a module that returns one row for each label: {ONE_ROW_FOR_EACH_LABEL}. Pass the "
            "labels as labels.flatten(). Pixels of one image and words of one text are not independent: fit the head "
            "with groups=, the number of the image or text of each row."
        )
        raise ValueError(
            f"The model returned logits of shape {tuple(logits.shape)}, but (n_samples, n_classes) is needed. {advice}"
        )
    return logits


def _n_samples(inputs: Any) -> int | None:
    """The length of the first tensor among a batch's inputs."""
    values = list(inputs.values()) if isinstance(inputs, dict) else inputs if isinstance(inputs, list) else [inputs]
    tensors = (value for value in values if isinstance(value, Tensor) and value.ndim > 0)
    return next((len(value) for value in tensors), None)


# ---- batches ---------------------------------------------------------------------------------------------------------


def _length(loader: Iterable[Any]) -> int | None:
    try:
        return len(loader)  # type: ignore[arg-type]  # it may have no length
    except TypeError:
        return None


def _inputs_and_labels(batch: Any, number: int) -> tuple[Any, Any]:
    """Inputs and labels of a batch; None as labels if it has none."""
    if isinstance(batch, Mapping):
        inputs = {name: values for name, values in batch.items() if name not in LABEL_KEYS}
        return inputs, next((batch[name] for name in LABEL_KEYS if name in batch), None)
    if isinstance(batch, Tensor | np.ndarray):
        return batch, None
    if isinstance(batch, list | tuple) and len(batch) in (1, 2):
        return batch[0], (batch[1] if len(batch) == 2 else None)
    length = f" of length {len(batch)}" if isinstance(batch, list | tuple) else ""
    raise TypeError(
        f"Batch {number} is a {type(batch).__name__}{length}: a batch must be (inputs, labels), a dictionary or inputs "
        "alone. If your batches hold more, select: collect_logits(model, ((x, y) for x, y, _ in loader))."
    )


def _moved(values: Any, device: torch.device | None) -> Any:
    """Inputs on the device of the model; several inputs as a plain list or dictionary."""
    if isinstance(values, Mapping):
        return {name: _moved(value, device) for name, value in values.items()}
    if isinstance(values, list | tuple):
        return [_moved(value, device) for value in values]
    if isinstance(values, Tensor | np.ndarray):
        return torch.as_tensor(values, device=device)
    return values


def _as_labels(labels: Any, n_samples: int, number: int) -> NDArray[Any]:
    values = labels.cpu().numpy() if isinstance(labels, Tensor) else np.asarray(labels)
    if values.shape == (n_samples, 1):
        values = values[:, 0]
    if values.shape != (n_samples,):
        hint = " For one-hot labels, pass labels.argmax(dim=1)." if values.ndim == 2 else ""
        raise ValueError(
            f"Batch {number} has labels of shape {values.shape}, but logits of {n_samples} samples: pass one label per "
            f"sample.{hint}"
        )
    return values


def as_array(values: Tensor) -> NDArray[Any]:
    """A copy as an array: float64 stays float64, any other type becomes float32."""
    converted = values if values.dtype == torch.float64 else values.float()
    return converted.cpu().numpy().copy()


def concatenated(batches: list[NDArray[Any]], name: str) -> NDArray[Any]:
    """The samples of all batches in one array."""
    for number, values in enumerate(batches):
        if values.shape[1] != batches[0].shape[1]:
            raise ValueError(
                f"Batch {number} has {values.shape[1]} columns of {name} and batch 0 has {batches[0].shape[1]}: make "
                "the inputs of all batches the same size (by padding, for example), or choose a layer whose output "
                "does not depend on the size of the input."
            )
    return np.concatenate(batches)
