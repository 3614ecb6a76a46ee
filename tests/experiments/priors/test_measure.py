"""The experiment on new class proportions, in its quick form; and its worlds."""

import numpy as np
import pytest

from experiments.priors.cases import Pool, divided, drawn
from experiments.priors.measure import GUARDED, METHODS, PriorsExperiment, tasks


def test_a_drawn_world_has_the_proportions_that_were_asked_for():
    labels = np.arange(3_000) % 3
    pool = Pool(np.eye(3)[labels], labels)
    found = drawn(pool, np.array([0.7, 0.3, 0.0]), 2_000, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(found.labels, minlength=3) / 2_000, [0.7, 0.3, 0.0], atol=0.03)
    np.testing.assert_array_equal(found.logits.argmax(axis=1), found.labels)


def test_no_sample_is_in_two_parts():
    pool = Pool(np.arange(100.0)[:, None], np.zeros(100, dtype=np.int64))
    parts = divided(pool, 20, np.random.default_rng(0))
    assert [len(part.labels) for part in parts] == [20, 40, 40]
    assert len(np.unique(np.concatenate([part.logits for part in parts]))) == 100


@pytest.mark.slow
def test_every_method_is_measured_in_every_world():
    pytest.importorskip("quapy")
    pytest.importorskip("abstention")
    (task,) = tasks(quick=True)
    outcomes = PriorsExperiment(None).measure(task, ())
    assert {one.method for one in outcomes} == set(METHODS)
    assert len({(one.world, one.samples) for one in outcomes}) == 12
    extreme = [one for one in outcomes if one.world == "Dirichlet 0.3" and one.method == GUARDED]
    assert all(one.adapted and one.error < one.error_before for one in extreme)
