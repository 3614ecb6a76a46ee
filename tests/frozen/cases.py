"""A dozen fitted heads whose predictions are frozen in ``predictions.npz``: a refactoring must not change them.

``python tests/frozen/cases.py`` writes the file. It was written at commit 82a17f8, before the modules moved into
folders; the cases of AutoHead again when its guard and, later, its corrections were rewritten. Write it again only
where a change of predictions is intended, and say so in CHANGELOG.md.
"""

from pathlib import Path

import numpy as np

from aftermax import AutoHead, PostHocClassifier, SPHClassifier, SPHClassifierCV
from aftermax.data import load_vmnist

FROZEN = Path(__file__).with_name("predictions.npz")
SAMPLES = 80  # predicted for each case
NAMES = np.array(["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"])
GRID = {"certainty": [0.7, 0.9, 1.0], "distance_power": [1.0, 2.0], "veto_distance": [np.inf, 3.0]}


def vmnist(trained_on, n_samples):
    scores = load_vmnist(trained_on=trained_on)
    return scores.val_logits[:n_samples], scores.val_labels[:n_samples], scores.test_logits[:SAMPLES]


def simulated(n_samples, n_classes, seed):
    """Logits with class means in every unit, correlated noise and a wrong bias."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n_classes, n_classes)) + 2.5 * np.eye(n_classes)
    mixing = np.eye(n_classes) + 0.4 * rng.normal(size=(n_classes, n_classes)) / np.sqrt(n_classes)
    labels = rng.integers(n_classes, size=n_samples + SAMPLES)
    logits = centers[labels] + rng.normal(size=(len(labels), n_classes)) @ mixing + np.cos(np.arange(n_classes))
    return logits[:n_samples], labels[:n_samples], logits[n_samples:]


def hidden_layer(logits, seed=5):
    """Features: a fixed random layer of the logits, with noise."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(logits.shape[1], 12))
    return np.tanh(logits @ weights / 4) + 0.1 * np.random.default_rng(len(logits)).normal(size=(len(logits), 12))


def _sph(trained_on=500, names=None, **hyperparameters):
    logits, labels, new = vmnist(trained_on, 1000)
    head = SPHClassifier(**hyperparameters).fit(logits, labels if names is None else names[labels])
    return head, (new,)


def _cv():
    logits, labels, new = vmnist(100, 800)
    return SPHClassifierCV(GRID, cv=3, n_repeats=1).fit(logits, labels), (new,)


def _auto(data, features=False, sample_weight=False, **parameters):
    logits, labels, new = data
    options = {}
    if features:
        options["features"] = hidden_layer(logits)
    if sample_weight:
        options["sample_weight"] = 0.5 + (np.arange(len(labels)) % 3)
    head = AutoHead(**parameters).fit(logits, labels, **options)
    return head, (new, hidden_layer(new)) if features else (new,)


def _posthoc():
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    images, labels = load_digits(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(images[:40], labels[:40])
    head = PostHocClassifier(model, AutoHead(cv=3)).fit(images[40:840], labels[40:840])
    return head, (images[840 : 840 + SAMPLES],)


CASES = {
    "sph": _sph,
    "sph_all_hyperparameters": lambda: _sph(
        100,
        certainty=0.95,
        window_low=0.2,
        window_high=0.98,
        center="median",
        min_separation=0.5,
        weight_power=2.0,
        veto_distance=2.5,
        veto_count=2,
        min_gain=-0.05,
        distance_power=1.5,
    ),
    "sph_strings": lambda: _sph(500, NAMES, certainty=1.0, classes=NAMES),
    "sph_100_classes": lambda: (lambda data: (SPHClassifier(certainty=1.0, min_gain=-0.1).fit(*data[:2]), data[2:]))(
        simulated(3000, 100, 1)
    ),
    "sph_cv": _cv,
    "auto": lambda: _auto(vmnist(500, 1000)),
    "auto_features": lambda: _auto(vmnist(500, 700), features=True, cv=3),
    "auto_sample_weight": lambda: _auto(vmnist(100, 600), sample_weight=True, cv=3),
    "auto_balanced": lambda: _auto(vmnist(100, 600), class_weight="balanced", cv=3, random_state=3),
    "auto_keeps_softmax": lambda: _auto(vmnist(5000, 300), cv=2),
    "auto_2_classes": lambda: _auto(simulated(400, 2, 2), cv=3),
    "auto_60_classes": lambda: _auto(simulated(1500, 60, 3), cv=2),
    "auto_60_classes_features": lambda: _auto(simulated(1500, 60, 3), features=True, cv=2),
    "posthoc": _posthoc,
}


def predicted(name):
    """What is frozen of a case: predictions, probabilities, and what the head reports of itself."""
    head, inputs = CASES[name]()
    fitted = getattr(head, "head_", head)
    report = [fitted.gain_, *fitted.gain_interval_, fitted.p_value_] if hasattr(fitted, "gain_") else []
    out_of_fold = getattr(fitted, "held_out_", np.empty(0))
    features = inputs[1:] if len(inputs) > 1 else ()
    return {
        "predictions": head.predict(inputs[0], *features),
        "probabilities": head.predict_proba(inputs[0], *features),
        "report": np.array(report),
        "chosen": np.array(getattr(fitted, "chosen_", "sph")),
        "out_of_fold": out_of_fold,
    }


if __name__ == "__main__":
    arrays = {f"{name}.{part}": values for name in CASES for part, values in predicted(name).items()}
    np.savez_compressed(FROZEN, **arrays)
    print(*(f"{name}: {arrays[f'{name}.chosen']}" for name in CASES), sep="\n")
