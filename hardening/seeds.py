"""The files that the fuzz run changes: head files of every kind and format, score files of every format."""

import gzip
import io
import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, parquet

from aftermax import AutoHead, Decider, SoftmaxClassifier, SPHClassifier, SPHClassifierCV, adapt_priors, save

COMMITTED = Path("tests/storage/files")  # of every format
NAMES = ["ant", "bée", "cat"]
N_FEATURES = 2
Logits = NDArray[np.float64]


def samples(n_samples: int = 120, n_classes: int = 3, seed: int = 0) -> tuple[Logits, NDArray[np.int64]]:
    """Logits of a network that leaves much on the table, and labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n_samples)
    logits = 2.0 * np.eye(n_classes)[labels] + rng.normal(size=(n_samples, n_classes))
    return logits + np.linspace(3.0, -3.0, n_classes), labels


def features_of(labels: NDArray[np.int64]) -> Logits:
    return np.random.default_rng(1).normal(size=(len(labels), N_FEATURES)) + labels[:, None] % N_FEATURES


def write_heads(folder: Path) -> None:
    """Files of every estimator, of every kind of fitted head and tier, and of every older format."""
    folder.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of rare classes and the like
        for name, head in _heads():
            save(head, folder / f"{name}.npz")
    for path in COMMITTED.glob("v*.npz"):
        (folder / path.name).write_bytes(path.read_bytes())


def _heads() -> Iterator[tuple[str, object]]:
    logits, labels = samples()
    names = np.array(NAMES)[labels]
    softmax = SoftmaxClassifier().fit(logits, names)
    auto = AutoHead(cv=2).fit(logits, labels)
    yield "softmax", softmax
    yield "sph", SPHClassifier(veto_distance=3.0, certainty=1.0).fit(logits, names)
    yield "updatable", SPHClassifier(updatable=True).fit(logits, labels)
    grid = {"certainty": [0.5, 0.9], "veto_count": [1, 2]}
    yield "cv", SPHClassifierCV(grid, n_repeats=1, cv=2).fit(logits, names)
    yield "auto", auto
    yield "features", AutoHead(cv=2, class_weight={0: 2.0}).fit(logits, labels, features_of(labels))
    yield "trusted in part", _with(auto, auto.fitted_head_.mixed_with_softmax(1.0, 0.25), 0.25)
    yield "temperature", AutoHead(alpha=0.0, only_proven=True, cv=2, class_prior=[0.5, 0.3, 0.2]).fit(logits, labels)
    yield "many classes", AutoHead(cv=2).fit(*samples(600, 257))
    yield "adapted", adapt_priors(softmax, logits[labels > 0], guard=False)
    costs = 1.0 - np.eye(3)
    yield "decider", Decider(costs=costs, head=SPHClassifier()).fit(logits, names)
    yield "max error", Decider(max_error=0.3, metric="macro_f1", head=SoftmaxClassifier()).fit(logits, names)
    yield "one logit", AutoHead(cv=2).fit(logits[:, 1] - logits[:, 0], labels > 0)


def _with(head: AutoHead, fitted: object, trust: float) -> AutoHead:
    head.fitted_head_, head.trust_ = fitted, trust
    head.chosen_, head.candidates_.chosen = "combination", "combination 1/4"
    return head


def table(n_samples: int = 12) -> pa.Table:
    """A table of scores, as .csv and .parquet files have it."""
    logits, labels = samples(n_samples)
    columns = {name: logits[:, place] for place, name in enumerate(NAMES)}
    return pa.table(
        columns | {"label": [NAMES[label] for label in labels], "id": [f"no {n}" for n in range(n_samples)]}
    )


def json_lines(n_samples: int = 8) -> list[str]:
    """Scores by class, and answers of a service."""
    logits, labels = samples(n_samples)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    lines = []
    for row, label, share in zip(logits.tolist(), labels.tolist(), shares.round(3).tolist(), strict=True):
        scores = dict(zip(NAMES, row, strict=True))
        lines.append(json.dumps({"scores": scores, "label": NAMES[label], "id": 7, "features": [0.5, 1.0]}))
        best = [{"label": name, "score": value} for name, value in zip(NAMES, share, strict=True)]
        lines.append(json.dumps({"scores": sorted(best, key=lambda one: -one["score"]), "label": NAMES[label]}))
    return lines


def arrays() -> dict[str, NDArray[np.generic]]:
    """What an .npz file holds."""
    logits, labels = samples(12)
    return {"logits": logits, "labels": np.array(NAMES)[labels], "features": features_of(labels).astype(np.float32)}


def score_files() -> dict[str, bytes]:
    """A file of every format, by its suffix."""
    made, text, packed = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.savez(made, **arrays())
    csv.write_csv(table(), text)
    parquet.write_table(table(), packed)
    lines = "\n".join(json_lines()[::2]).encode()
    single = io.BytesIO()
    np.save(single, arrays()["logits"])
    comma = text.getvalue()
    return {
        ".npz": made.getvalue(),
        ".npy": single.getvalue(),
        ".csv": comma,
        ".tsv": comma.replace(b",", b"\t"),
        ".csv.gz": gzip.compress(comma, mtime=0),
        ".parquet": packed.getvalue(),
        ".jsonl": lines,
        ".jsonl.gz": gzip.compress(lines, mtime=0),
    }
