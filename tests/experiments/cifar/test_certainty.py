"""Certainty: bins, bunching and order."""

import numpy as np
import pytest

from aftermax.data import SHIPPED
from experiments.cifar.certainty import certainty_of, of_vmnist
from experiments.networks.samples import Samples


def samples_with(certainties, right):
    """Two classes; the predicted one has the certainty."""
    logits = np.column_stack([np.log(certainties), np.log1p(-np.asarray(certainties))])
    return Samples(logits.astype(np.float32), np.where(right, 0, 1))


def test_bins_hold_shares_and_error_rates():
    certainties = np.repeat([0.55, 0.95], [40, 60])
    right = np.concatenate([np.arange(40) % 2 == 0, np.arange(60) % 10 != 0])
    found = certainty_of("made", samples_with(certainties, right))
    assert found.accuracy == pytest.approx(0.74)
    np.testing.assert_allclose(found.shares[[5, 9]], [0.4, 0.6])
    np.testing.assert_allclose(found.error_rates[[5, 9]], [0.5, 0.1])
    assert np.isnan(found.error_rates[0])
    assert found.bunched_wrong == pytest.approx(6 / 26)


def test_order_is_how_often_the_right_prediction_is_the_more_certain_one():
    perfect = certainty_of("made", samples_with([0.9, 0.8, 0.6, 0.55], [True, True, False, False]))
    reversed_ = certainty_of("made", samples_with([0.9, 0.8, 0.6, 0.55], [False, False, True, True]))
    assert (perfect.order, reversed_.order) == (1.0, 0.0)


def test_the_shipped_networks_are_there_for_comparison():
    found = of_vmnist(SHIPPED[0])
    assert 0.6 < found.accuracy < 0.85
