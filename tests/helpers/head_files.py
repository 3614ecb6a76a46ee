"""Heads of every kind to be saved, the files of every format, and what they predict."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from aftermax import AutoHead, SPHClassifier, SPHClassifierCV, save
from aftermax.storage._archive import VERSION
from helpers.samples import make_samples

HEADS = Path(__file__).parents[1] / "storage" / "files"


VERSIONED = sorted(path.stem for path in HEADS.glob("v*.npz"))


GRID = {"certainty": np.array([0.5, 0.9]), "veto_distance": (2, np.inf), "veto_count": range(1, 3)}


GAIN = ["gain_", "gain_interval_", "gain_prediction_interval_", "p_value_", "proven_"]
REPORTS = {
    SPHClassifier: ["separation_", "weights_", "trusted_", "temperature_"],
    SPHClassifierCV: ["best_params_", "fell_back_", *GAIN],
    AutoHead: ["chosen_", "trust_", "class_shares_", "weights_", *GAIN],
}


def weak(n_samples=120, seed=1, n_classes=3):
    """Samples of a network whose softmax leaves much on the table: the biases of its units are off."""
    logits, labels = make_samples(seed=seed, n_samples=n_samples, n_classes=n_classes)
    return logits + np.linspace(3.0, -3.0, n_classes), labels


def features_of(labels, seed=0):
    return np.random.default_rng(seed).normal(size=(len(labels), 2)) + np.eye(3)[labels][:, :2]


def named(logits):
    return pd.DataFrame(logits, columns=["ant", "bée", "cat"])


def sph_heads():
    logits, labels = weak()
    animals = np.array(["ant", "bée", "cat"])[labels]
    few = labels != 1
    yield "sph", SPHClassifier(veto_distance=3.0, certainty=1.0).fit(logits, labels)
    yield "sph of integers", SPHClassifier(min_gain=0, distance_power=2, certainty=1).fit(logits, labels)
    yield "sph of strings", SPHClassifier().fit(logits, animals)
    yield "sph of a data frame", SPHClassifier(center="median").fit(named(logits), animals)
    yield (
        "sph of bytes",
        SPHClassifier().fit(logits, np.char.encode(animals, "utf-8")),
    )
    yield "sph of float32", SPHClassifier(certainty=np.float32(0.75)).fit(logits.astype(np.float32), labels)
    yield "sph of objects", SPHClassifier(classes=pd.Series(["ant", "bée", "cat"], dtype=object)).fit(logits, animals)
    yield "sph without a class", SPHClassifier(classes=[0, 1, 2]).fit(logits[few], labels[few])
    yield "sph of true and false", SPHClassifier().fit(logits[few][:, [0, 2]], labels[few] == 2)
    yield "cv", SPHClassifierCV(GRID, n_repeats=1, cv=3, random_state=np.random.RandomState(3)).fit(logits, animals)
    yield "cv of a list", SPHClassifierCV([GRID, {"min_gain": [0.1]}], n_repeats=1, cv=2).fit(named(logits), labels)
    yield "cv fallen back", SPHClassifierCV(GRID, n_repeats=1, cv=2, alpha=0.0).fit(logits, labels)


def auto_heads():
    logits, labels = weak()
    animals = np.array(["ant", "bée", "cat"])[labels]
    yield "auto", AutoHead(random_state=np.int64(7), cv=2).fit(logits, labels)
    yield "auto of strings", AutoHead(class_weight={"ant": 2.0, "cat": 0.5}, cv=2).fit(named(logits), animals)
    yield "auto of float32", AutoHead(class_weight={np.int64(1): 3}, cv=2).fit(logits.astype(np.float32), labels)
    yield "auto balanced", AutoHead(class_weight="balanced", classes=(0, 1, 2), cv=2).fit(logits, labels)
    yield "auto of softmax", AutoHead(alpha=0.0, only_proven=True, cv=2).fit(logits, labels)
    yield "auto with features", AutoHead(cv=2).fit(logits, labels, features=features_of(labels))
    yield "auto of sph", sph_by_auto()
    yield "auto trusted in part", trusted_in_part()
    yield "auto with a prior", AutoHead(class_prior={0: 0.5, 1: 0.3, 2: 0.2}, cv=2).fit(logits, labels)
    yield "auto with shares", AutoHead(class_prior=np.array([0.5, 0.3, 0.2]), only_proven=True).fit(logits, labels)
    yield "auto with a splitter", AutoHead(cv=KFold(3)).fit(logits, labels)


def sph_by_auto():
    """AutoHead that chose SPH; rarely the best, so it is put there by hand."""
    logits, labels = weak()
    head = AutoHead(cv=2).fit(logits, labels)
    sph = SPHClassifier(certainty=1.0).fit(logits, labels)
    head.fitted_head_, head.chosen_ = replace(sph.fitted_head_, softmax_temperature=1.5), "sph"
    head.trust_, head.candidates_.chosen = 1.0, "sph"
    return head


def trusted_in_part():
    """AutoHead that trusts a quarter of the combination; put there by hand, as these samples prove more."""
    logits, labels = weak()
    head = AutoHead(cv=2).fit(logits, labels)
    head.fitted_head_ = head.fitted_head_.mixed_with_softmax(1.0, 0.25)
    head.chosen_, head.trust_, head.candidates_.chosen = "combination", 0.25, "combination 1/4"
    return head


def inputs_of(head, logits, features):
    """What the head was fitted on of these."""
    logits = named(logits) if hasattr(head, "feature_names_in_") else logits
    return [logits, features] if head.features_width_ else [logits]


def predictions_of(head, n_samples=500, seed=5):
    """All that a head predicts for new samples."""
    logits, labels = weak(n_samples, seed)
    inputs = inputs_of(head, logits[:, : len(head.classes_)], features_of(labels, seed))
    found = [head.predict(*inputs), head.predict_proba(*inputs), head.predict(*(part[:1] for part in inputs))]
    return [*found, head.route(*inputs)] if hasattr(head, "route") else found


def assert_same(one, other):
    """The same predictions, to the bit, and the same public attributes."""
    for before, after in zip(predictions_of(one), predictions_of(other), strict=True):
        assert before.dtype == after.dtype
        np.testing.assert_array_equal(before, after)
    for name in ("classes_", "n_features_in_", "reference_", *REPORTS[type(one)]):
        before, after = getattr(one, name), getattr(other, name)
        np.testing.assert_equal(after, before)
        assert type(before) is type(after)


def samples_for_heads():
    logits, labels = weak(n_samples=40, seed=3)
    return logits, labels, features_of(labels)


def make_heads():
    """Files of the newest format with their predictions; those of older formats stay as they are."""
    logits, labels, features = samples_for_heads()
    made = {
        "sph": SPHClassifier(certainty=1.0, veto_distance=4.0).fit(logits, labels),
        "strings": SPHClassifierCV(GRID, cv=3).fit(named(logits), np.array(["ant", "bée", "cat"])[labels]),
        "features": AutoHead().fit(logits, labels, features),
        "softmax": AutoHead(alpha=0.0, only_proven=True, classes=[0, 1, 2], class_weight={1: 2.0}).fit(logits, labels),
        "auto_sph": sph_by_auto(),
        "in_part": trusted_in_part(),
    }
    predictions = {"logits": logits, "features": features}
    for name, head in made.items():
        save(head, HEADS / f"v{VERSION}-{name}.npz")
        inputs = inputs_of(head, logits, features)
        predictions |= {f"{name} classes": head.predict(*inputs), f"{name} probabilities": head.predict_proba(*inputs)}
    np.savez(HEADS / f"answers-v{VERSION}.npz", **predictions)
