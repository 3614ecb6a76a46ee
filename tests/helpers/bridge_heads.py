"""Fitted heads of every kind, to compare the bridges with. Each is fitted once per process."""

from functools import cache
from unittest import mock

import numpy as np

from aftermax import AutoHead, SPHClassifier, SPHClassifierCV, adapt_priors
from aftermax.auto._cross_fitting import cross_fit
from aftermax.data import load_vmnist
from helpers.auto_heads import CROSS_FIT, without_corrections

CLASS_NAMES = np.array(["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"])
SPH = {
    "vetoes": {"veto_distance": 2.5, "veto_count": 2, "min_separation": 0.5},
    "every sample vetoed by some": {"veto_distance": 1.0, "certainty": 1.0},
    "medians": {"center": "median", "certainty": 0.5},
    "power 4": {"distance_power": 4.0, "certainty": 1.0},
    "power 1.5": {"distance_power": 1.5, "veto_distance": 3.0, "min_gain": -1.0},
    "power 1": {"distance_power": 1.0},
    "power 0.5": {"distance_power": 0.5, "min_separation": 0.5},
    "power 0": {"distance_power": 0.0, "veto_distance": 2.0, "veto_count": 3, "min_gain": -1.0},
}
OTHERS = (
    "class without samples",
    "cv",
    "cv that fell back",
    "combination",
    "softmax",
    "features",
    "sph by AutoHead",
    "adapted",
    "adapted sph",
)
KINDS = (*SPH, *OTHERS)
OFFSETS = 2 * np.cos(np.arange(10))  # added to the logits, these leave SPH much to gain


@cache
def scores():
    return load_vmnist(trained_on=500)


def features_of(labels):
    """Six features with information about the classes that the logits do not have."""
    rng = np.random.default_rng(1)
    return 1.5 * rng.normal(size=(10, 6))[labels] + rng.normal(size=(len(labels), 6))


@cache
def fitted(kind):
    """A fitted head. The classes of the combination and of SPH without samples of one class are CLASS_NAMES."""
    logits, labels = scores().val_logits[:600], scores().val_labels[:600]
    if kind in SPH:
        return SPHClassifier(**SPH[kind]).fit(logits, labels)
    if kind == "class without samples":
        kept = labels != 3
        return SPHClassifier(classes=CLASS_NAMES, certainty=1.0).fit(logits[kept], CLASS_NAMES[labels[kept]])
    if kind == "combination":
        return _checked("combination", AutoHead(classes=CLASS_NAMES, cv=3).fit(logits, CLASS_NAMES[labels]))
    if kind == "softmax":
        return _checked("softmax", AutoHead(only_proven=True, alpha=0.0, cv=2).fit(logits[:200], labels[:200]))
    if kind == "features":
        head = AutoHead(cv=2).fit(logits[:400], labels[:400], features=features_of(labels[:400]))
        return _checked("combination", head)
    if kind.startswith("adapted"):
        head = fitted("sph by AutoHead" if kind == "adapted sph" else "softmax")
        return adapt_priors(head, logits[labels < 5] + (OFFSETS if kind == "adapted sph" else 0.0), guard=False)
    return _sph_by_auto_head(logits, labels) if kind == "sph by AutoHead" else _by_cv(kind, logits, labels)


def _by_cv(kind, logits, labels):
    falls_back = kind == "cv that fell back"
    grid = {"certainty": [0.7, 1.0], "distance_power": [1.0, 2.0]}
    head = SPHClassifierCV(grid, cv=3, n_repeats=1, alpha=0.0 if falls_back else 1.0).fit(logits + OFFSETS, labels)
    assert head.fell_back_ == falls_back
    return head


def _sph_by_auto_head(logits, labels):
    with mock.patch(CROSS_FIT, without_corrections(cross_fit)):
        return _checked("sph", AutoHead(cv=2).fit(logits + OFFSETS, labels))


def _checked(chosen, head):
    assert head.chosen_ == chosen
    return head


@cache
def many_samples(n_samples=100_000):
    """Logits in float32, as a network returns them, all different and many uncertain; and features."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(scores().test_labels), size=n_samples)
    logits = scores().test_logits[drawn] + 0.5 * rng.normal(size=(n_samples, 10))
    return logits.astype(np.float32), features_of(scores().test_labels[drawn]).astype(np.float32)


def inputs_of(kind, n_samples=None):
    """The inputs of a head of this kind, for so many samples."""
    logits, features = (values[:n_samples] for values in many_samples())
    return (logits, features) if kind == "features" else (logits,)
