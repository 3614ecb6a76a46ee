"""Many classes: memory follows the data, which stays in the precision in which it came."""

import tracemalloc

import numpy as np
import pytest

from aftermax import AutoHead, PostHocClassifier, audit, check
from aftermax._heads.softmax import SoftmaxHead
from aftermax._utils.folds import content_order, sample_keys
from aftermax._utils.groups import joined_groups

N_SAMPLES, N_CLASSES = 4_000, 3_000
MEGABYTE = 2**20
IN_FLOAT64 = N_SAMPLES * N_CLASSES * 8 / MEGABYTE  # 92


class Checked(AutoHead):
    """A head that keeps softmax: what is left of a fit is what AutoHead does before and after it selects."""

    def fit(self, X, y):
        logits, codes, _ = self._checked(X, y)
        groups = joined_groups(None, logits, codes)
        self.order_ = content_order(logits, codes), sample_keys(logits, groups)
        self.fitted_head_ = SoftmaxHead()
        return self


class Model:
    """A classifier whose logits are its input."""

    classes_ = np.arange(N_CLASSES)

    def decision_function(self, X):
        return X


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    labels = rng.integers(N_CLASSES, size=N_SAMPLES)
    logits = rng.standard_normal((N_SAMPLES, N_CLASSES), dtype=np.float32)
    logits[np.arange(N_SAMPLES), labels] += 5
    return logits.astype(np.float16), labels


def megabytes_of(call):
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / MEGABYTE


def test_a_fit_makes_no_copy_in_float64_before_it_selects_samples(samples):
    Checked().fit(samples[0][:50], samples[1][:50])  # compiles
    assert megabytes_of(lambda: Checked().fit(*samples)) < 0.6 * IN_FLOAT64


def test_an_audit_and_a_check_make_none(samples):
    head = Checked().fit(*samples)
    groups = np.arange(N_SAMPLES) // 2
    assert megabytes_of(lambda: check(head, samples[0], groups=groups)) < 0.6 * IN_FLOAT64
    assert megabytes_of(lambda: audit(*samples, head=Checked(), cv=2)) < 0.6 * IN_FLOAT64


def test_predictions_need_little_memory(samples):
    head = Checked().fit(*samples)
    assert megabytes_of(lambda: head.predict(samples[0])) < 0.3 * IN_FLOAT64


def test_a_classifier_with_a_head_keeps_the_models_precision(samples):
    model = PostHocClassifier(Model(), Checked())
    assert model.logits(samples[0][:10].astype(np.float32)).dtype == np.float32
    logits = samples[0].astype(np.float32)
    assert megabytes_of(lambda: model.fit(logits, samples[1]).predict(logits)) < 0.6 * IN_FLOAT64
