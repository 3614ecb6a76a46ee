"""Samples to test on, and settings of the test tools."""

import os
from pathlib import Path

import matplotlib
import pytest
from hypothesis import settings

from helpers.samples import ROOT, make_samples

matplotlib.use("Agg")
os.environ.setdefault("KERAS_BACKEND", "torch")  # before anything imports keras
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("repeatable")


SLOWEST = ("test_docs", "test_vmnist", "test_sklearn_contract", "test_predict", "test_head", "test_selection")


def pytest_collection_modifyitems(items):
    """The slowest files first, so that no worker is left with one of them at the end."""
    items.sort(key=lambda item: item.path.stem not in SLOWEST)


@pytest.fixture
def validation():
    return make_samples(seed=1)


@pytest.fixture
def unseen():
    return make_samples(seed=2)


@pytest.fixture(scope="session")
def shared():
    """The project's folder of real data, where it is at hand."""
    folder = Path(os.environ.get("AFTERMAX_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"the optional real scores are not at {folder}")
    return folder
