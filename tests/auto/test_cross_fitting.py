"""Cross-fitting: out-of-fold predictions come from heads fitted without the fold."""

import numpy as np
import pytest

from aftermax import AutoHead
from aftermax._residual.capacity import STANDARD
from aftermax._residual.fitting import fit_corrections, fit_softmax_temperature
from aftermax._residual.head import compact
from aftermax._residual.samples import Samples
from aftermax._utils.folds import content_order, keyed_folds, sample_keys
from aftermax._utils.random import generator
from aftermax.auto._cross_fitting import TRUSTS, cross_fit
from helpers.samples import weak_samples


def test_out_of_fold_predictions_are_those_of_heads_fitted_without_the_sample():
    logits, labels = weak_samples(n_samples=120)
    fitted = AutoHead(cv=3).fit(logits, labels)
    assert fitted.chosen_ in TRUSTS
    rng = generator(0)
    order = content_order(logits, labels)
    rng.permutation(120)  # which samples are fitted on, if they were very many
    samples = Samples(logits[order], labels[order], np.ones(120), given_keys=sample_keys(logits)[order])
    folds = keyed_folds(samples.keys, 3, int(rng.integers(2**63)))
    salts = rng.integers(2**63, size=4).tolist()
    for fold in range(3):
        part = samples.take(folds != fold)
        head = compact(fit_corrections(part, salts[fold])[fitted.chosen_])
        head = head.mixed_with_softmax(fit_softmax_temperature(part), fitted.trust_)
        predictions = head.scores([samples.logits[folds == fold]]).argmax(axis=1)
        np.testing.assert_array_equal(fitted.held_out_[order[folds == fold]], predictions)


@pytest.fixture(scope="module")
def halves():
    """Samples, the results of holding out each half once, and those of holding out both and one of them again."""
    logits, labels = weak_samples(n_samples=120)
    samples = Samples(logits, labels, np.ones(120))
    first, second = np.arange(60), np.arange(60, 120)
    splits = [(first, second), (second, first)]
    once, twice = (cross_fit(samples, some, STANDARD, generator(0), 1, False) for some in (splits, splits[:1]))
    return samples, once, twice


def test_there_is_a_candidate_for_each_tier_and_trust(halves):
    _, once, _ = halves
    assert list(once.candidates) == [(tier, trust) for tier in once.heads for trust in TRUSTS[tier]]
    assert list(once.heads) == ["biases", "linear", "combination"]


def test_the_more_is_trusted_the_more_predictions_change(halves):
    samples, once, _ = halves
    softmax = samples.logits.argmax(axis=1)
    np.testing.assert_array_equal(once.softmax.predictions, softmax)
    changed = [
        np.flatnonzero(once.candidates["combination", trust].predictions != softmax) for trust in (0.25, 0.5, 1.0)
    ]
    assert 0 < len(changed[0]) < len(changed[1]) < len(changed[2])
    assert set(changed[0]) <= set(changed[2])


def test_what_is_never_held_out_keeps_softmax_and_is_known(halves):
    samples, once, half = halves
    assert once.held_out.all()
    np.testing.assert_array_equal(half.held_out, np.arange(120) >= 60)
    for key, one in half.candidates.items():
        np.testing.assert_array_equal(one.predictions[:60], samples.logits[:60].argmax(axis=1))
        assert (one.losses[:60] == 0).all()
        assert np.isfinite(one.losses).all(), key


def test_samples_that_are_held_out_twice_get_the_mean():
    logits, labels = weak_samples(n_samples=120)
    samples = Samples(logits, labels, np.ones(120))
    held_out, third, others = np.arange(40), np.arange(40, 80), np.arange(80, 120)
    splits = [(third, held_out), (others, held_out)]
    alone = [cross_fit(samples, [split], STANDARD, generator(0), 1, False) for split in splits]
    both = cross_fit(samples, splits, STANDARD, generator(0), 1, False)
    key = ("biases", 1.0)  # which has no centers, so that no chance is in it
    losses = np.mean([one.candidates[key].losses for one in alone], axis=0)
    np.testing.assert_allclose(both.candidates[key].losses, losses)
    agreed = alone[0].candidates[key].predictions == alone[1].candidates[key].predictions
    assert np.sum(~agreed) > 0
    np.testing.assert_array_equal(
        both.candidates[key].predictions[agreed], alone[0].candidates[key].predictions[agreed]
    )
