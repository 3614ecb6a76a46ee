"""Fitted heads of every kind, for the bridges to answer as. Each is fitted once."""

from functools import cache

import numpy as np

import aftermax.auto.head
from aftermax import AutoHead, SPHClassifier, SPHClassifierCV
from aftermax.data import load_vmnist
from helpers.auto_heads import without_corrections

WORDS = np.array(["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"])
SPH = {
    "vetoes": {"veto_distance": 2.5, "veto_count": 2, "min_separation": 0.5},
    "vetoes all": {"veto_distance": 1.0, "certainty": 1.0},
    "power 4": {"distance_power": 4.0, "certainty": 1.0},
    "power 1.5": {"distance_power": 1.5, "veto_distance": 3.0, "min_gain": -1.0},
    "power 0.5": {"distance_power": 0.5, "min_separation": 0.5},
    "power 0": {"distance_power": 0.0, "veto_distance": 2.0, "veto_count": 3, "min_gain": -1.0},
}
OTHERS = ("class without rows", "cv", "combination", "softmax", "features", "sph by AutoHead")
KINDS = (*SPH, *OTHERS)


@cache
def scores():
    return load_vmnist(trained_on=500)


def features_of(labels):
    """Six columns that tell something of the classes that the logits do not."""
    rng = np.random.default_rng(1)
    return 1.5 * rng.normal(size=(10, 6))[labels] + rng.normal(size=(len(labels), 6))


@cache
def fitted(kind):
    """A head; the class of column 5 is WORDS[5] if classes are words."""
    logits, labels = scores().val_logits[:600], scores().val_labels[:600]
    if kind in SPH:
        return SPHClassifier(**SPH[kind]).fit(logits, labels)
    if kind == "class without rows":
        some = labels != 3
        return SPHClassifier(classes=range(10), certainty=1.0).fit(logits[some], labels[some])
    if kind == "cv":
        grid = {"certainty": [0.7, 1.0], "distance_power": [1.0, 2.0]}
        return SPHClassifierCV(grid, cv=3, n_repeats=1, alpha=1.0).fit(logits, labels)
    if kind == "combination":
        return chosen("combination", AutoHead(classes=WORDS, cv=3).fit(logits, WORDS[labels]))
    if kind == "softmax":
        return chosen("softmax", AutoHead(alpha=0.0, cv=2).fit(logits[:200], labels[:200]))
    if kind == "features":
        return chosen("combination", AutoHead(cv=2).fit(logits[:400], labels[:400], features=features_of(labels[:400])))
    return _sph_by_auto_head(logits, labels)


def _sph_by_auto_head(logits, labels):
    cross_fit = aftermax.auto.head.cross_fit
    aftermax.auto.head.cross_fit = without_corrections(cross_fit)
    try:
        return chosen("sph", AutoHead(cv=2).fit(logits + 2 * np.cos(np.arange(10)), labels))
    finally:
        aftermax.auto.head.cross_fit = cross_fit


def chosen(name, head):
    assert head.chosen_ == name
    return head


@cache
def many_rows(rows=100_000):
    """Logits in float32, as a network gives them, none the same and many uncertain; and features."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(scores().test_labels), size=rows)
    logits = scores().test_logits[drawn] + 0.5 * rng.normal(size=(rows, 10))
    return logits.astype(np.float32), features_of(scores().test_labels[drawn]).astype(np.float32)


def inputs_of(kind, rows=None):
    """What a head of this kind takes of so many rows."""
    logits, features = (values[:rows] for values in many_rows())
    return (logits, features) if kind == "features" else (logits,)
