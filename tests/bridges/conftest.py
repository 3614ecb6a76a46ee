"""Heads and samples that the tests of the bridges share."""

import pytest
import torch

from aftermax import AutoHead, SPHClassifier
from helpers.bridge_heads import scores as vmnist_scores
from helpers.onnx_models import samples_like


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """Tests run in several processes: more threads than cores are slow."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def scores():
    return vmnist_scores()


@pytest.fixture(scope="module")
def logits(scores):
    """Of 2,000 samples that no head was fitted on."""
    return samples_like(scores.test_logits, 2_000)


@pytest.fixture(scope="module")
def sph(scores):
    return SPHClassifier(veto_distance=2.5, veto_count=2).fit(scores.val_logits, scores.val_labels)


@pytest.fixture(scope="module")
def combination(scores):
    head = AutoHead(cv=2).fit(scores.val_logits[:400], scores.val_labels[:400])
    assert head.chosen_ == "combination"
    return head
