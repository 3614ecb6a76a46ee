"""The benchmarks, as far as they use what may change under them."""

import numpy as np
import pytest


def test_the_baseline_of_the_choice_is_an_epoch_that_trains():
    pytest.importorskip("torch")
    from benchmarks.choosing import one_epoch

    epoch = one_epoch(samples=300)
    weights = epoch.args[0][0].weight
    before = weights.detach().clone()
    epoch()
    assert not np.array_equal(before, weights.detach())
