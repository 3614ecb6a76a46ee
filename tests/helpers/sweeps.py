"""A combination of a sweep, compared with what SPHClassifier gives by itself."""

import numpy as np

from aftermax import SPHClassifier
from aftermax.sph.hyperparameters import HYPERPARAMETERS

RESULTS = ["accuracy", "gain", "wins", "losses", "pooled", "trusted"]


def one_by_one(index, columns, logits, labels, test, truth):
    """What fitting and evaluating that one set gives."""
    hyperparameters = {name: columns[name][index].item() for name in HYPERPARAMETERS}
    head = SPHClassifier(**hyperparameters, classes=np.arange(logits.shape[1])).fit(logits, labels)
    before, after = test.argmax(axis=1) == truth, head.predict(test) == truth
    routes = head.route(test)
    seen = bool((routes == "pooled").any()), bool((after != before).any())
    return seen, {
        "accuracy": after.mean(),
        "gain": (after.sum() - before.sum()) / max((~before).sum(), 1),
        "wins": (after & ~before).sum(),
        "losses": (before & ~after).sum(),
        "pooled": (routes == "pooled").mean(),
        "trusted": head.trusted_.sum(),
    }


def assert_same(index, columns, *samples):
    """The sweep's results of one combination are exactly SPHClassifier's; whether it pools, and changes predictions."""
    seen, expected = one_by_one(index, columns, *samples)
    assert {name: columns[name][index] for name in RESULTS} == expected
    return seen
