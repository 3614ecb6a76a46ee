"""The risk-coverage curve."""

import numpy as np
import pytest

from aftermax._abstention.curve import error_by_share


def test_the_error_of_each_share_is_that_of_the_most_certain():
    rng = np.random.default_rng(0)
    certainty, right = rng.random(500), rng.random(500) < 0.8
    shares, errors = error_by_share(certainty, right)
    order = np.argsort(-certainty)
    for share, error in zip(shares, errors, strict=True):
        assert error == pytest.approx(1 - right[order[: round(500 * share)]].mean())


def test_equally_certain_samples_have_the_same_error_in_every_part():
    right = np.arange(50) >= 10
    assert error_by_share(np.full(50, 0.5), right)[1] == pytest.approx([0.2] * 100)


def test_weights_are_shares():
    weights = np.array([1.0, 3.0])
    _, errors = error_by_share(np.array([0.9, 0.8]), np.array([False, True]), weights)
    assert errors[24] == pytest.approx(1.0)  # a quarter of the weight: the first sample
    assert errors[-1] == pytest.approx(0.25)
