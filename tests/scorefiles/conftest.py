"""Samples for score files."""

import pytest

from helpers.samples import make_samples


@pytest.fixture
def samples():
    return make_samples(seed=3, rows=120)
