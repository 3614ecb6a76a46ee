"""Samples for score files, and folders of these."""

import pytest

from aftermax import SPHClassifier
from helpers.folders import PARTS, write_part
from helpers.samples import make_samples
from helpers.score_files import NAMES


@pytest.fixture
def samples():
    return make_samples(seed=3, n_samples=120)


@pytest.fixture(scope="session")
def head():
    logits, labels = make_samples(seed=1)
    return SPHClassifier(min_gain=-1.0).fit(logits, NAMES[labels])


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "scores"
    (folder / "more").mkdir(parents=True)
    for number in range(PARTS):
        write_part(folder, number)
    return folder
