"""Samples for score files."""

import pytest

from helpers.samples import make_samples


@pytest.fixture
def samples():
    return make_samples(seed=3, n_samples=120)
