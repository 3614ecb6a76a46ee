"""Whether an ONNX model answers as the Python head does, row by row."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from onnx import ModelProto

from aftermax.bridges._onnx_files import Model

CLOSE = 1e-3  # probabilities that differ by no more than this are alike
ROUNDING = 1e-5  # of a row's largest number: how far rounding may have moved a row, about 100 steps of float32
MOVES = 64  # tries to find a row within rounding that explains an answer
VALUES_AT_A_TIME = 2**24  # SPH has K * K for each row
TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}


class Agreement(NamedTuple):
    """How an ONNX model's answers compare with the Python head's. Print it to see it in words.

    A row is within rounding if the ONNX model's probabilities are the Python head's (to 0.001) for the row itself, or
    for the row with its numbers moved by no more than 0.00001 of the largest. At a threshold, as SPH's gate and veto
    are, so small a move can change the answer, and all probabilities at once.
    """

    rows: int
    same: int  # rows with the same answer
    within_rounding: int  # rows with another answer, within rounding
    differing: int  # rows with another answer, beyond rounding
    at_threshold: int  # rows whose probabilities are another row's within rounding, but not their own
    largest_difference: float  # between probabilities, on all rows but those at a threshold

    def __str__(self) -> str:
        threshold = f", but for {self.at_threshold:,} at a threshold" if self.at_threshold else ""
        others = self.rows - self.same
        explained = f"; {others:,} have another one, {self.within_rounding:,} of them within rounding" if others else ""
        return (
            f"Of {self.rows:,} rows, {self.same:,} have the Python head's answer{explained}. Probabilities differ by "
            f"{self.largest_difference:.1g} at most{threshold}."
        )


def agreement(
    model: Model,
    head: Any,
    logits: ArrayLike,
    features: ArrayLike | None = None,
    *,
    inputs: ArrayLike | Mapping[str, ArrayLike] | None = None,
) -> Agreement:
    """Run an ONNX model in onnxruntime, and count where it answers as the Python head does.

    Parameters
    ----------
    model : str, path-like or onnx.ModelProto
        From :func:`~aftermax.bridges.onnx.to_onnx` or :func:`~aftermax.bridges.onnx.attach`.
    head : AutoHead, SPHClassifier or SPHClassifierCV
        The head that the model was made of.
    logits, features : array-like
        As for the head's ``predict``.
    inputs : array-like, or dict of array-like, default=None
        What the network takes, for a head that is attached to one: the rows whose logits these are, as an array or, if
        the network has several inputs, by their names.

    Examples
    --------
    >>> from aftermax import SPHClassifier
    >>> from aftermax.bridges.onnx import agreement, to_onnx
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> head = SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> agreement(to_onnx(head, precision="float64"), head, scores.test_logits).same
    4000
    """
    taken = [np.asarray(values) for values in (logits, features) if values is not None]
    answers, expected = np.asarray(head.predict(*taken)), head.predict_proba(*taken)
    given = dict(zip(("logits", "features"), taken, strict=False)) if inputs is None else inputs
    label, probabilities = _run(_session(model), given, expected.shape)
    if probabilities.shape != expected.shape:
        raise ValueError(
            f"The model gives {probabilities.shape[1]} probabilities and the head {expected.shape[1]}: pass the head "
            "that the model was made of."
        )
    same = np.asarray(label == answers, dtype=bool)
    difference = np.abs(probabilities - expected).max(axis=1)
    far = ~(difference <= CLOSE)
    at_threshold = np.zeros_like(far)
    at_threshold[far] = _explained(head, [values[far] for values in taken], probabilities[far])
    rounded = ~same & (~far | at_threshold)
    return Agreement(
        rows=len(same),
        same=int(same.sum()),
        within_rounding=int(rounded.sum()),
        differing=int((~same & ~rounded).sum()),
        at_threshold=int(at_threshold.sum()),
        largest_difference=float(difference[~at_threshold].max(initial=0.0)),
    )


def _explained(head: Any, taken: list[NDArray[Any]], probabilities: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows have the probabilities of a row within rounding. Rows are moved at random, the same at each call."""
    rng = np.random.default_rng(0)
    found = np.zeros(len(probabilities), dtype=bool)
    for move in range(MOVES):
        left = np.flatnonzero(~found)
        if len(left) == 0:
            break
        far = ROUNDING / 10 ** (move % 3)
        moved = []
        for values in taken:
            largest = np.abs(values[left]).max(axis=1, keepdims=True)
            moved.append(values[left] + far * largest * rng.uniform(-1.0, 1.0, size=(len(left), values.shape[1])))
        found[left] = np.abs(head.predict_proba(*moved) - probabilities[left]).max(axis=1) <= CLOSE
    return found


# ---- onnxruntime -----------------------------------------------------------------------------------------------------


def _session(model: Model) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError("Running ONNX models needs onnxruntime: pip install 'aftermax[onnx]'") from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only, and those are raised
    source = model.SerializeToString() if isinstance(model, ModelProto) else os.fspath(model)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def _run(
    session: Any, given: ArrayLike | Mapping[str, ArrayLike], shape: tuple[int, int]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """What the model makes of the rows, some at a time."""
    rows, size = shape
    outputs = ["label", "probabilities"]
    missing = set(outputs) - {value.name for value in session.get_outputs()}
    if missing:
        raise ValueError(f"The model has no output {min(missing)!r}: pass a model from to_onnx or attach.")
    feeds = _feeds(session, given, rows)
    at_a_time = session.get_inputs()[0].shape[0]
    if not isinstance(at_a_time, int):
        at_a_time = max(1, VALUES_AT_A_TIME // size**2)
    elif rows % at_a_time:
        raise ValueError(f"The model takes {at_a_time} rows at a time and there are {rows}: pass a multiple of that.")
    parts = [
        session.run(outputs, {name: values[first : first + at_a_time] for name, values in feeds.items()})
        for first in range(0, rows, at_a_time)
    ]
    label, probabilities = (np.concatenate(values) for values in zip(*parts, strict=True))
    return label, probabilities


def _feeds(session: Any, given: ArrayLike | Mapping[str, ArrayLike], rows: int) -> dict[str, NDArray[Any]]:
    """The model's inputs by name, in the type that it takes."""
    types = {value.name: value.type for value in session.get_inputs()}
    named = given if isinstance(given, Mapping) else dict.fromkeys(list(types)[:1], given)
    if set(named) != set(types):
        raise ValueError(
            f"The model takes {', '.join(map(repr, types))} and not {', '.join(map(repr, named))}: for a head that is "
            "attached to a network, pass what the network takes, inputs={name: array}."
        )
    feeds = {name: np.asarray(values) for name, values in named.items()}
    feeds = {name: values.astype(TYPES.get(types[name], values.dtype)) for name, values in feeds.items()}
    for name, values in feeds.items():
        if len(values) != rows:
            raise ValueError(f"{name} has {len(values)} rows but logits have {rows}: pass one for each.")
    return feeds
