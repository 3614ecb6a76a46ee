"""Rows to test on, and settings for the test tools."""

import os
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from hypothesis import settings

matplotlib.use("Agg")
os.environ.setdefault("KERAS_BACKEND", "torch")  # before anything imports keras
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("repeatable")

ROOT = Path(__file__).resolve().parent.parent


SLOWEST = ("test_docs", "test_vmnist", "test_sklearn_contract", "test_cli_predict", "test_auto")


def pytest_collection_modifyitems(items):
    """The slowest files first, so that no worker is left with one of them at the end."""
    items.sort(key=lambda item: item.path.stem not in SLOWEST)


def make_rows(seed=0, rows=400, size=5, home=2.0, noise=1.0, labels=None):
    """Logits as a so-so network gives them: each class has its own mean response in every unit."""
    centers = np.random.default_rng(1000 + size).normal(size=(size, size)) + home * np.eye(size)
    rng = np.random.default_rng(seed)
    labels = rng.integers(size, size=rows) if labels is None else labels
    return centers[labels] + noise * rng.normal(size=(len(labels), size)), labels


@pytest.fixture
def validation():
    return make_rows(seed=1)


@pytest.fixture
def unseen():
    return make_rows(seed=2)


@pytest.fixture(scope="session")
def shared():
    """The project's folder of real data, where it is at hand."""
    folder = Path(os.environ.get("AFTERMAX_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"the optional real scores are not at {folder}")
    return folder
