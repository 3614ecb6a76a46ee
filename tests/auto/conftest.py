"""A head that is fitted once for all files."""

import pytest

from aftermax import AutoHead
from helpers.samples import weak_samples


@pytest.fixture(scope="session")
def fitted():
    return AutoHead(cv=2).fit(*weak_samples())
