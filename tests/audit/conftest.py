"""An audit that several files look at, and figures closed after each test."""

import pytest
from matplotlib import pyplot

from aftermax import audit
from helpers.samples import weak_samples


@pytest.fixture(scope="session")
def by_auto_head():
    return audit(*weak_samples(300))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")
