"""Weights of classes, and class proportions other than those of the samples."""

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_sample_weight

from aftermax._utils.class_weight import weights_by_class, weights_by_prior

NAMES = np.array(["ant", "bee", "cat"])
CODES = np.repeat([0, 1, 2], [60, 30, 10])


def shares(weights, codes=CODES):
    return np.bincount(codes, weights, minlength=3) / weights.sum()


@pytest.mark.parametrize("class_weight", [None, "balanced", {"ant": 2.0, "cat": 0.5}])
def test_without_sample_weights_class_weights_are_scikit_learns(class_weight):
    labels = NAMES[CODES]
    ours = weights_by_class(class_weight, CODES, NAMES, np.ones(100))
    np.testing.assert_allclose(ours, compute_sample_weight(class_weight, labels))


def test_balanced_balances_the_weights_of_the_samples():
    weights = np.random.default_rng(0).uniform(0.1, 3.0, size=100)
    np.testing.assert_allclose(shares(weights * weights_by_class("balanced", CODES, NAMES, weights)), 1 / 3)


@pytest.mark.parametrize("prior", [[0.2, 0.3, 0.5], {"cat": 0.5, "bee": 0.3, "ant": 0.2}, (0.2, 0.3, 0.5)])
def test_with_a_prior_the_classes_have_these_shares(prior):
    for weights in (np.ones(100), np.random.default_rng(0).uniform(0.1, 3.0, size=100)):
        by_prior = weights_by_prior(prior, CODES, NAMES, weights)
        np.testing.assert_allclose(shares(weights * by_prior), [0.2, 0.3, 0.5])
        assert (weights * by_prior).sum() == pytest.approx(weights.sum())


def test_the_shares_of_the_samples_as_a_prior_change_nothing_and_neither_does_none():
    np.testing.assert_allclose(weights_by_prior([0.6, 0.3, 0.1], CODES, NAMES, np.ones(100)), 1.0)
    np.testing.assert_array_equal(weights_by_prior(None, CODES, NAMES, np.ones(100)), 1.0)


def test_a_class_that_a_prior_leaves_out_has_no_weight():
    by_prior = weights_by_prior({"ant": 0.5, "cat": 0.5}, CODES, NAMES, np.ones(100))
    np.testing.assert_allclose(shares(by_prior), [0.5, 0.0, 0.5])


def test_shares_may_be_rounded():
    by_prior = weights_by_prior([0.333, 0.333, 0.333], CODES, NAMES, np.ones(100))
    np.testing.assert_allclose(shares(by_prior), 1 / 3)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({"dog": 0.5, "ant": 0.5}, "class_prior names 'dog', not among the classes"),
        ([0.5, 0.5], r"class_prior has shape \(2,\) but there are 3 classes"),
        ([0.5, 0.2, 0.1], "class_prior sums to 0.8: pass shares of at least 0 that sum to 1"),
        ([1.2, -0.1, -0.1], "pass shares of at least 0"),
        ([np.nan, 0.5, 0.5], "pass shares of at least 0"),
        ([60, 30, 10], "class_prior sums to 100"),
        ("balanced", 'class_prior=.balanced. is not possible: pass the share of each .*pass class_weight="balanced"'),
        ("true", r"class_prior='true' is not possible: .*in the order of the columns\.$"),
        (["a", "b", "c"], "class_prior does not hold numbers"),
    ],
)
def test_priors_that_cannot_be_are_refused(prior, message):
    with pytest.raises(ValueError, match=message):
        weights_by_prior(prior, CODES, NAMES, np.ones(100))


def test_a_class_without_samples_can_have_no_share():
    with pytest.raises(ValueError, match="class_prior gives a share to 'cat', of which there are no samples"):
        weights_by_prior([0.5, 0.4, 0.1], CODES[:90], NAMES, np.ones(90))
    np.testing.assert_allclose(
        shares(weights_by_prior([0.5, 0.5, 0.0], CODES[:90], NAMES, np.ones(90)), CODES[:90]), [0.5, 0.5, 0]
    )
