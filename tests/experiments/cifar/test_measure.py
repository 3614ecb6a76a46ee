"""Every method in a case of the experiment on CIFAR."""

import numpy as np
import pytest

from experiments.cifar import cases, measure
from experiments.cifar.cases import ALL, SPH, Case
from experiments.cifar.measure import CifarExperiment, separation_of
from experiments.networks.cifar_networks import Cifar
from experiments.networks.samples import Samples


@pytest.fixture(scope="module")
def samples():
    """A model that takes the second class for the first half of the time, and features that tell them apart."""
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 3
    logits = rng.normal(size=(400, 3)) + np.array([[2, 1, 0], [2, 1, 0.5], [0, 1, 2]])[labels]
    features = np.maximum(rng.normal(size=(400, 4)) + np.eye(3, 4)[labels], 0)
    whole = Samples(logits.astype(np.float32), labels, features.astype(np.float32))
    return whole.first(200), Samples(*(part[200:] for part in whole))


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    return CifarExperiment(Cifar(None), tmp_path_factory.mktemp("kept"))


def case_of(samples, methods=ALL):
    return Case("networks", "cifar10", "made", "", 0, methods, lambda: samples)


@pytest.fixture(scope="module")
def outcomes(experiment, samples):
    return {outcome.method: outcome for outcome in experiment.measure(case_of(samples), ALL)}


def test_every_method_is_measured_on_the_same_samples(outcomes):
    assert tuple(outcomes) == ALL
    assert {(o.test_samples, o.classes, o.softmax_accuracy) for o in outcomes.values()} == {
        (200, 3, outcomes["softmax"].accuracy)
    }
    assert outcomes["softmax"].gain == 0
    assert all(o.key == ("networks", "cifar10", "made", "", 0) for o in outcomes.values())


def test_only_the_papers_protocol_looks_at_test_labels(outcomes):
    assert [name for name, o in outcomes.items() if o.looks_at_test_labels] == ["sph_best_on_test"]
    assert outcomes["sph_best_on_test"].gain >= outcomes["sph_chosen"].gain


def test_a_description_says_which_gain_used_the_labels(experiment, outcomes):
    text = experiment.describe(list(outcomes.values()))
    assert "networks cifar10 made: softmax accuracy" in text
    assert "sph best on test (by its labels) +" in text


def test_without_features_there_is_nothing_to_fit_on_them(experiment, samples):
    bare = tuple(part._replace(features=None) for part in samples)
    found = experiment.measure(case_of(bare), ["softmax", "auto_features"])
    assert [outcome.method for outcome in found] == ["softmax"]


def test_a_case_has_its_own_methods_only(experiment, samples):
    found = experiment.measure(case_of(samples, ("softmax",)), ALL)
    assert [outcome.method for outcome in found] == ["softmax"]


def test_separation_grows_with_the_distance_between_classes():
    labels = np.arange(300) % 3
    noise = np.random.default_rng(0).normal(size=(300, 3))
    near, far = (Samples((noise + scale * np.eye(3)[labels]).astype(np.float32), labels) for scale in (1, 4))
    assert separation_of(far) > 2 * separation_of(near)


def test_all_methods_of_all_parts_are_known():
    assert set(measure.METHODS) == set(ALL)
    assert set(cases.HEADS) | set(cases.ON_SHIFT) | set(SPH) <= set(ALL)
