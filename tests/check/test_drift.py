"""Drift: what has changed is found, what has not is not, and a trifle is none however many samples show it."""

import numpy as np
import pytest

from aftermax._check.drift import measure_drift
from aftermax._heads.reference import Reference
from helpers.samples import make_samples

CLASSES = np.arange(5)


def drift(before, now, groups=None):
    return measure_drift(Reference.of(before), now, CLASSES[: now.shape[1]], groups)


def logits_of(n_samples, seed=0, **others):
    return make_samples(seed=seed, n_samples=n_samples, **others)[0]


def test_new_samples_of_the_same_kind_are_rarely_called_drifted():
    drifted = [drift(logits_of(300, seed), logits_of(200, 1000 + seed)).drifted for seed in range(200)]
    assert np.mean(drifted) <= 0.03


@pytest.mark.parametrize("n_samples", [1, 2, 5])
def test_a_few_samples_prove_no_drift_unless_they_are_far_off(n_samples):
    assert not drift(logits_of(300), logits_of(n_samples, 1)).drifted
    assert drift(logits_of(300), logits_of(n_samples, 1) + np.array([30.0, 0, 0, 0, 0])).drifted


def test_less_certain_samples_are_drifted():
    found = drift(logits_of(400), 0.4 * logits_of(400, 1))
    certainty = found.changes[0]
    assert certainty.drifted
    assert certainty.now < certainty.before
    assert certainty.sentence in found.sentence


def test_a_class_that_is_predicted_more_often_is_named():
    labels = np.random.default_rng(3).choice(5, p=[0.6, 0.1, 0.1, 0.1, 0.1], size=500)
    found = drift(logits_of(500, home=5.0), logits_of(500, 1, home=5.0, labels=labels))
    (change,) = [one for one in found.changes if one.quantity == "predicted share" and one.name == 0]
    assert change.drifted
    assert change.now == pytest.approx(0.6, abs=0.1)
    assert change.effect > 0.2


def test_a_trifle_is_no_drift_however_many_samples_show_it():
    found = drift(logits_of(100_000), logits_of(100_000, 1) + np.array([0.05, 0, 0, 0, 0]))
    assert min(one.p_value for one in found.changes) < 1e-6
    assert not found.drifted


def test_a_constant_added_to_all_logits_is_no_drift():
    assert not drift(logits_of(400), logits_of(400, 1) + 100.0).drifted


def test_a_group_counts_once():
    patients = np.repeat(np.arange(8), 100)
    logits = logits_of(800, 1) + np.random.default_rng(4).normal(size=(8, 5))[patients]
    assert drift(logits_of(400), logits).drifted
    assert not drift(logits_of(400), logits, patients).drifted


def test_logits_that_never_change_are_compared_too():
    masked = logits_of(300)
    masked[:, 4] = masked[:, :4].mean(axis=1)  # so that it is its sample's mean: always 0
    assert not drift(masked, masked[:200]).drifted
    moved = masked[:200].copy()
    moved[:, 4] += 1e-3
    found = drift(masked, moved)
    assert [one.name for one in found.changes if one.drifted] == [4]
    assert np.isinf(found.largest[0].effect)
    assert all(value is None or np.isfinite(value) for value in (one["effect"] for one in found.to_dict()["changes"]))


def test_p_values_are_corrected_as_holm_does():
    from scipy.stats import norm

    found = drift(logits_of(400), logits_of(400, 1) * 1.1)
    sizes = np.sqrt(2 / 400)
    raw = np.array([2 * norm.sf(abs(one.effect) / sizes) for one in found.changes])
    order = np.argsort(raw)
    expected = np.minimum(1, np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1)))
    np.testing.assert_allclose(np.array([one.p_value for one in found.changes])[order], expected)


def test_the_table_lists_the_largest_changes_first():
    found = drift(logits_of(400), logits_of(400, 1) + np.array([3.0, 0, 0, 0, 0]))
    lines = repr(found).splitlines()
    assert lines[1].startswith("*  mean logit")
    assert len(found.rows()) == 10
    assert found.to_dict()["drifted"] is True
