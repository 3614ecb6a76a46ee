"""The cases of the experiment on CIFAR: what is done to a network's scores."""

import numpy as np
import pytest
from scipy.special import softmax

from experiments.cifar import cases as module
from experiments.cifar.cases import (
    cases,
    fitted_temperature,
    load_coarse,
    only_classes,
    published_cases,
    summed_over,
)
from experiments.networks import cifar_networks
from experiments.networks.cifar_networks import keep, kept_path
from experiments.networks.samples import Samples

FINE = 6  # classes, two to a superclass


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    labels = np.arange(60) % FINE
    return (rng.normal(size=(60, FINE)) + 2 * np.eye(FINE)[labels]).astype(np.float32), labels


@pytest.fixture
def published(tmp_path, scores):
    """Score files as others publish them."""
    logits, labels = scores
    arrays = {"val_logits": logits, "val_labels": labels, "test_logits": logits, "test_labels": labels}
    coarse = {"val_coarse_labels": labels // 2, "test_coarse_labels": labels // 2}
    np.savez(tmp_path / "cifar10-lenet5.npz", **arrays)
    np.savez(tmp_path / "cifar10-lenet5-noise.npz", **arrays)
    np.savez(tmp_path / "cifar100-resnet8.npz", **arrays, **coarse)
    np.savez(tmp_path / "mnist-cnn.npz", **arrays)
    return tmp_path


def test_probabilities_are_summed_over_each_superclass(scores):
    logits, _ = scores
    found = summed_over(logits, np.array([0, 0, 1, 1, 2, 2]))
    wanted = softmax(logits.astype(float), axis=1).reshape(-1, 3, 2).sum(axis=2)
    np.testing.assert_allclose(np.exp(found), wanted, rtol=1e-5)


def test_published_networks_come_with_coarse_classes_and_shifts_where_they_have_them(published):
    assert [case.key[:4] for case in published_cases(published)] == [
        ("shift", "cifar10", "lenet5", "noise"),
        ("published", "cifar10", "lenet5", ""),
        ("published", "cifar100", "resnet8", ""),
        ("published", "cifar20", "resnet8", ""),
    ]
    _, test = load_coarse(published / "cifar100-resnet8.npz")
    assert test.logits.shape == (60, 3)
    np.testing.assert_array_equal(test.labels, np.arange(60) % FINE // 2)


def test_a_folder_without_score_files_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="no score files of networks on CIFAR"):
        published_cases(tmp_path)


def test_a_subset_of_classes_has_their_columns_and_their_samples_only(scores):
    samples = Samples(*scores)
    found = only_classes(samples, [4, 1])
    np.testing.assert_array_equal(np.unique(found.labels), [0, 1])
    inside = np.isin(samples.labels, [1, 4])
    np.testing.assert_array_equal(found.logits, samples.logits[inside][:, [1, 4]])
    np.testing.assert_array_equal(np.array([1, 4])[found.labels], samples.labels[inside])


def test_smaller_subsets_are_within_larger_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(cifar_networks, "VALIDATION_SAMPLES", 200)
    logits = np.tile(np.arange(100, dtype=np.float32), (400, 1))  # so that a column shows which class it is of
    keep(kept_path("cifar100-48", tmp_path), logits, np.arange(400) % 100)
    cases = {(case.variant, case.draw): case.load()[1].logits[0] for case in module.class_cases(tmp_path)}
    for draw in range(4):
        assert set(cases["5", draw]) < set(cases["10", draw]) < set(cases["20", draw])
    assert set(cases["5", 0]) != set(cases["5", 1])


def test_the_fitted_temperature_undoes_a_factor():
    rng = np.random.default_rng(0)
    logits = rng.normal(scale=2.0, size=(4_000, 5))
    labels = np.array([rng.choice(5, p=p) for p in softmax(logits, axis=1)])
    assert fitted_temperature(Samples(3 * logits, labels)) == pytest.approx(3.0, rel=0.1)


def test_logits_are_divided_by_the_temperature(tmp_path, monkeypatch, scores):
    monkeypatch.setattr(cifar_networks, "VALIDATION_SAMPLES", 20)
    logits, labels = scores
    keep(kept_path("cifar10-8", tmp_path), logits, labels)
    at = {
        case.variant: case.load()[1].logits
        for case in module.temperature_cases(tmp_path)
        if case.network == "cifar10-8"
    }
    np.testing.assert_allclose(at["0.5"], 4 * at["2"], rtol=1e-6)


def test_every_case_is_there_once_and_knows_its_methods(published, tmp_path):
    found = cases(tmp_path, published)
    assert len({case.key for case in found}) == len(found)
    parts = {case.part for case in found}
    assert parts == {"networks", "published", "temperature", "classes", "training", "samples", "shift"}
    assert all(case.methods[0] == "softmax" for case in found)
    assert {case.network for case in cases(tmp_path, quick=True)} == {"cifar10-8", "cifar10-16"}
