"""Fitted heads of every kind, for the Displays to draw."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

from aftermax import AutoHead, SPHClassifier, SPHClassifierCV
from aftermax.data import load_vmnist
from helpers.figures import NAMES
from helpers.samples import weak_samples


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="session")
def network():
    """A head on a real network's logits, and held-out samples to draw."""
    scores = load_vmnist(trained_on=100)
    head = SPHClassifier(certainty=0.8).fit(scores.val_logits[:1000], scores.val_labels[:1000])
    return head, scores.test_logits[:800], scores.test_labels[:800]


@pytest.fixture(scope="session")
def search():
    logits, labels = weak_samples(n_samples=400)
    return SPHClassifierCV({"certainty": [0.7, 0.9]}, cv=3, n_repeats=1, progress=False).fit(logits, NAMES[labels])


@pytest.fixture(scope="session")
def with_features():
    logits, labels = weak_samples(n_samples=300)
    features = np.random.default_rng(0).normal(size=(300, 2))
    return AutoHead(cv=3, progress=False).fit(logits, NAMES[labels], features=features), features


@pytest.fixture(scope="session")
def sph_by_auto():
    """An AutoHead that chose SPH, fitted on a data frame and with features that SPH ignores.

    As in AutoHead, the classes of its response array are column numbers.
    """
    logits, labels = weak_samples(n_samples=400)
    features = np.random.default_rng(0).normal(size=(400, 2))
    head = AutoHead(cv=3, progress=False).fit(pd.DataFrame(logits, columns=NAMES), NAMES[labels], features=features)
    head.fitted_head_ = SPHClassifier().fit(logits, labels).fitted_head_
    head.chosen_ = "sph"
    return head
