"""Compare the predictions of an ONNX model with the Python head's, sample by sample."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from onnx import ModelProto

from aftermax._utils.validation import as_features
from aftermax.bridges._onnx_files import Model

TOLERANCE = 1e-3  # probabilities that differ by no more than this are taken as equal
ROUNDING = 1e-5  # relative to a sample's largest value: how far rounding may move it, about 100 times float32's epsilon
N_PERTURBATIONS = 64  # of a sample, to find one within rounding that explains the ONNX model's probabilities
VALUES_PER_BATCH = 2**24  # SPH needs n_classes ** 2 per sample
DTYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
OUTPUTS = ("label", "probabilities")


class Agreement(NamedTuple):
    """How the predictions of an ONNX model compare with the Python head's. Print it to read a summary.

    A sample is within rounding if the ONNX model's probabilities equal the Python head's (to 0.001) for the sample
    itself, or for the sample with its values perturbed by at most 0.00001 of the largest. At a threshold, such as SPH's
    gate or veto, so small a perturbation can change the prediction and all probabilities.
    """

    rows: int  # number of samples
    same: int  # samples with the same prediction
    within_rounding: int  # samples with another prediction, within rounding
    differing: int  # samples with another prediction, beyond rounding
    at_threshold: int  # samples whose probabilities equal those of a perturbed sample, but not their own
    largest_difference: float  # between probabilities, over all samples that are not at a threshold

    def __str__(self) -> str:
        n_other = self.rows - self.same
        other = f"; of the other {n_other:,}, {self.within_rounding:,} are within rounding" if n_other else ""
        threshold = f", except for {self.at_threshold:,} at a threshold such as SPH's gate" if self.at_threshold else ""
        return (
            f"{self.same:,} of {self.rows:,} samples have the Python head's prediction{other}. Probabilities differ by "
            f"at most {self.largest_difference:.1g}{threshold}."
        )


def agreement(
    model: Model,
    head: Any,
    logits: ArrayLike,
    features: ArrayLike | None = None,
    *,
    inputs: ArrayLike | Mapping[str, ArrayLike] | None = None,
) -> Agreement:
    """Run an ONNX model in onnxruntime, and count the samples for which it predicts what the Python head predicts.

    Parameters
    ----------
    model : str, path-like or onnx.ModelProto
        A model from :func:`~aftermax.bridges.onnx.to_onnx` or :func:`~aftermax.bridges.onnx.attach`.
    head : AutoHead, SPHClassifier or SPHClassifierCV
        The head that the model was made from.
    logits : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
        Logits, as for the head's ``predict``.
    features : array-like of shape (n_samples, n_features), or list of such arrays, default=None
        Features, if the head was fitted with features, as for the head's ``predict``.
    inputs : array-like, or dict of array-like, default=None
        For a head that is attached to a network: the network's inputs for the same samples, as an array or, if the
        network has several inputs, as a dictionary by name.

    Returns
    -------
    Agreement
        The counts, and the largest difference between probabilities.

    Examples
    --------
    >>> from aftermax import SPHClassifier
    >>> from aftermax.bridges.onnx import agreement, to_onnx
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> head = SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> counts = agreement(to_onnx(head, precision="float64"), head, scores.test_logits)
    >>> counts.same, counts.differing
    (4000, 0)
    """
    scores = np.asarray(logits)
    arrays = [scores.reshape(-1, 1) if scores.ndim == 1 else scores]  # one logit for each sample is one column
    if features is not None:
        arrays.append(as_features(features, len(scores)))
    predictions, expected = np.asarray(head.predict(*arrays)), head.predict_proba(*arrays)
    model_inputs = dict(zip(("logits", "features"), arrays, strict=False)) if inputs is None else inputs
    labels, probabilities = _run(_session(model), model_inputs, expected.shape)
    if probabilities.shape != expected.shape:
        raise ValueError(
            f"The model returns {probabilities.shape[1]} probabilities and the head {expected.shape[1]}: pass the head "
            "that the model was made from."
        )
    same = np.asarray(labels == predictions, dtype=bool)
    difference = np.abs(probabilities - expected).max(axis=1)
    far = ~(difference <= TOLERANCE)  # also true for NaN
    at_threshold = np.zeros_like(far)
    at_threshold[far] = _explained_by_rounding(head, [values[far] for values in arrays], probabilities[far])
    rounded = ~same & (~far | at_threshold)
    return Agreement(
        rows=len(same),
        same=int(same.sum()),
        within_rounding=int(rounded.sum()),
        differing=int((~same & ~rounded).sum()),
        at_threshold=int(at_threshold.sum()),
        largest_difference=float(difference[~at_threshold].max(initial=0.0)),
    )


def _explained_by_rounding(head: Any, arrays: list[NDArray[Any]], probabilities: NDArray[Any]) -> NDArray[np.bool_]:
    """For each sample, whether a perturbation within rounding has these probabilities. The seed is fixed."""
    rng = np.random.default_rng(0)
    explained = np.zeros(len(probabilities), dtype=bool)
    for trial in range(N_PERTURBATIONS):
        rest = np.flatnonzero(~explained)
        if len(rest) == 0:
            break
        scale = ROUNDING / 10 ** (trial % 3)
        perturbed = []
        for values in arrays:
            largest = np.abs(values[rest]).max(axis=1, keepdims=True)
            noise = rng.uniform(-1.0, 1.0, size=(len(rest), values.shape[1]))
            perturbed.append(values[rest] + scale * largest * noise)
        explained[rest] = np.abs(head.predict_proba(*perturbed) - probabilities[rest]).max(axis=1) <= TOLERANCE
    return explained


# ---- onnxruntime -----------------------------------------------------------------------------------------------------


def _session(model: Model) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError("Running ONNX models needs onnxruntime: pip install 'aftermax[onnx]'") from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only, which are raised as well
    source = model.SerializeToString() if isinstance(model, ModelProto) else os.fspath(model)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def _run(
    session: Any, inputs: ArrayLike | Mapping[str, ArrayLike], shape: tuple[int, int]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Labels and probabilities of all samples, computed in batches."""
    n_samples, n_classes = shape
    missing = set(OUTPUTS) - {value.name for value in session.get_outputs()}
    if missing:
        raise ValueError(f"The model has no output {min(missing)!r}: pass a model from to_onnx or attach.")
    feeds = _feeds(session, inputs, n_samples)
    batch_size = session.get_inputs()[0].shape[0]
    if not isinstance(batch_size, int):
        batch_size = max(1, VALUES_PER_BATCH // n_classes**2)
    elif n_samples % batch_size:
        raise ValueError(
            f"The model has a fixed batch size of {batch_size}, and there are {n_samples} samples: pass a multiple of "
            f"{batch_size}."
        )
    batches = [
        session.run(list(OUTPUTS), {name: values[first : first + batch_size] for name, values in feeds.items()})
        for first in range(0, n_samples, batch_size)
    ]
    labels, probabilities = (np.concatenate(values) for values in zip(*batches, strict=True))
    return labels, probabilities


def _feeds(session: Any, inputs: ArrayLike | Mapping[str, ArrayLike], n_samples: int) -> dict[str, NDArray[Any]]:
    """The model's inputs by name, in the types that it needs."""
    types = {value.name: value.type for value in session.get_inputs()}
    by_name = inputs if isinstance(inputs, Mapping) else dict.fromkeys(list(types)[:1], inputs)
    if set(by_name) != set(types):
        raise ValueError(
            f"The model's inputs are {', '.join(map(repr, types))}, got {', '.join(map(repr, by_name))}: for a head "
            "that is attached to a network, pass the network's inputs, inputs={name: array}."
        )
    feeds = {name: np.asarray(values) for name, values in by_name.items()}
    feeds = {name: values.astype(DTYPES.get(types[name], values.dtype)) for name, values in feeds.items()}
    for name, values in feeds.items():
        if len(values) != n_samples:
            raise ValueError(
                f"Input {name!r} has {len(values)} samples and logits have {n_samples}: pass the same samples."
            )
    return feeds
