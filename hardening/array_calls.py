"""What users call with arrays: every public estimator and function. Each returns what it computes of the samples."""

import tempfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

import aftermax
from aftermax import (
    AutoHead,
    Decider,
    PostHocClassifier,
    ResponseArray,
    SoftmaxClassifier,
    SPHClassifier,
    SPHClassifierCV,
)
from aftermax._utils.validation import as_logits
from hardening import seeds

GRID = {"certainty": [0.5, 0.9], "veto_count": [1, 2]}
Call = Callable[[Any, Any], dict[str, Any]]


def _predicted(head: Any, logits: Any, *more: Any) -> dict[str, Any]:
    return {
        "predictions": head.predict(logits, *more),
        "probabilities": head.predict_proba(logits, *more),
        "classes": head.classes_,
    }


def _of(estimator: Callable[[], Any]) -> Call:
    return lambda logits, labels: _predicted(estimator().fit(logits, labels), logits)


def _saved(logits: Any, labels: Any) -> dict[str, Any]:
    head = SPHClassifier().fit(logits, labels)
    with tempfile.TemporaryDirectory() as folder:
        aftermax.save(head, Path(folder) / "head.npz")
        loaded = aftermax.load(Path(folder) / "head.npz")
    found = _predicted(loaded, logits)
    assert np.array_equal(found["probabilities"], head.predict_proba(logits)), "a loaded head predicts otherwise"
    return found


@cache
def _shipped(n_classes: int) -> Any:
    """A head that was fitted on plain logits."""
    return SPHClassifier().fit(*seeds.samples(400, n_classes))


@cache
def _shipped_auto(n_classes: int) -> Any:
    return AutoHead(cv=2).fit(*seeds.samples(400, n_classes))


def _width(logits: Any) -> int:
    shape = logits.collect_schema().len() if type(logits).__name__ == "LazyFrame" else np.shape(logits)[-1]
    return min(int(shape), 20) if np.ndim(shape) == 0 else 3


def _with_features(logits: Any, labels: Any) -> dict[str, Any]:
    """The odd array is the features; the logits are plain ones for the same labels."""
    plain, _ = seeds.samples(len(labels), 3)
    codes = np.unique(np.asarray(labels).astype(str), return_inverse=True)[1].reshape(-1) % 3
    head = AutoHead(cv=2).fit(plain, codes, features=logits)
    return _predicted(head, plain, logits)


def _audited(logits: Any, labels: Any) -> dict[str, Any]:
    audit = aftermax.audit(logits, labels, SoftmaxClassifier())
    return {"text": str(audit), "json": audit.to_dict()}


def _weighted(logits: Any, labels: Any) -> dict[str, Any]:
    """With weights from next to nothing to the largest, and groups of two."""
    weights = 10.0 ** np.linspace(-300, (0, 90, 299)[len(labels) % 3], len(labels))
    head = AutoHead(cv=2).fit(logits, labels, sample_weight=weights, groups=np.arange(len(labels)) // 2)
    return _predicted(head, logits)


def _adapted(logits: Any, labels: Any) -> dict[str, Any]:
    head = SoftmaxClassifier().fit(logits, labels)
    return _predicted(aftermax.adapt_priors(head, logits), logits)


def _checked(logits: Any, labels: Any) -> dict[str, Any]:
    head = SoftmaxClassifier().fit(logits, labels)
    return {"text": str(aftermax.check(head, logits, labels)), "drift": str(aftermax.check(head, logits))}


def _swept(logits: Any, labels: Any) -> dict[str, Any]:
    return {name: np.asarray(values) for name, values in aftermax.sweep(logits, labels, GRID, n_jobs=1).items()}


def _responses(logits: Any, labels: Any) -> dict[str, Any]:
    array = ResponseArray.fit(logits, labels)
    return {"text": repr(array), "distances": np.shape(array.distances(logits))}


def _numbers(logits: Any) -> Any:
    """As aftermax reads them."""
    return np.array(as_logits(logits), dtype=np.float64)


class Network(ClassifierMixin, BaseEstimator):
    """A model whose logits are what it is given."""

    def fit(self, X: Any, y: Any) -> "Network":
        self.classes_ = np.unique(np.asarray(y))
        return self

    def decision_function(self, X: Any) -> Any:
        return X

    def predict(self, X: Any) -> Any:
        return self.classes_[np.argmax(np.asarray(X), axis=1)]


def _post_hoc(logits: Any, labels: Any) -> dict[str, Any]:
    return _predicted(PostHocClassifier(Network(), SoftmaxClassifier(), cv=2).fit(logits, labels), logits)


def _in_torch(logits: Any, labels: Any) -> dict[str, Any]:
    import torch

    from aftermax.bridges.torch import Head

    head = SPHClassifier().fit(logits, labels)
    found = Head.from_fitted(head).eval()(torch.from_numpy(_numbers(logits)))
    return {"probabilities": found.exp().numpy()}


def _arrow(logits: Any, labels: Any) -> dict[str, Any]:
    import pyarrow as pa

    from aftermax.bridges import arrow

    values = logits if isinstance(logits, pa.Table | pa.RecordBatch) else _numbers(logits)
    if isinstance(values, np.ndarray):
        values = pa.table({str(j): column for j, column in enumerate(values.T.copy())})
    return {"predictions": np.asarray(arrow.predict(_shipped(values.num_columns), values).column("predicted"))}


CALLS: dict[str, Call] = {
    "SoftmaxClassifier": _of(SoftmaxClassifier),
    "SPHClassifier": _of(SPHClassifier),
    "SPHClassifier, median": _of(lambda: SPHClassifier(center="median", veto_distance=2.0, certainty=1.0)),
    "SPHClassifierCV": _of(lambda: SPHClassifierCV(GRID, cv=2, n_repeats=1)),
    "AutoHead": _of(lambda: AutoHead(cv=2)),
    "AutoHead, features": _with_features,
    "AutoHead, weights": _weighted,
    "Decider, metric": _of(lambda: Decider(SoftmaxClassifier(), metric="balanced_accuracy")),
    "Decider, max_error": _of(lambda: Decider(SoftmaxClassifier(), max_error=0.2)),
    "fit": lambda logits, labels: _predicted(aftermax.fit(logits, labels), logits),
    "save, load": _saved,
    "predict": lambda logits, labels: _predicted(_shipped(_width(logits)), logits),
    "predict, AutoHead": lambda logits, labels: _predicted(_shipped_auto(_width(logits)), logits),
    "audit": _audited,
    "check": _checked,
    "sweep": _swept,
    "adapt_priors": _adapted,
    "batch_calibration": lambda logits, labels: {"biases": aftermax.batch_calibration(logits)},
    "ResponseArray": _responses,
    "PostHocClassifier": _post_hoc,
    "bridges.arrow": _arrow,
}
if find_spec("torch") is not None:
    CALLS["bridges.torch"] = _in_torch
