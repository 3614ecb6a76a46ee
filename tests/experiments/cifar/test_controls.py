"""The cases that keep apart what the others mix."""

import numpy as np

from experiments.cifar import controls
from experiments.cifar.controls import control_cases
from experiments.networks import cifar_networks
from experiments.networks.cifar_networks import keep, kept_path


def test_every_number_of_classes_has_as_many_samples(tmp_path, monkeypatch):
    monkeypatch.setattr(cifar_networks, "VALIDATION_SAMPLES", 1_000)
    monkeypatch.setattr(controls, "SAMPLES", 30)
    labels = np.arange(2_000) % 100
    logits = np.random.default_rng(0).normal(size=(2_000, 100)).astype(np.float32)
    keep(kept_path("cifar100-48", tmp_path), logits, labels)
    cases = [case for case in control_cases(tmp_path, None) if case.part == "classes-200"]
    assert {case.variant for case in cases} == {"5", "10", "20", "50", "100"}
    for case in cases:
        validation, test = case.load()
        assert (len(validation.labels), len(test.labels)) == (30, 30)
        assert validation.logits.shape[1] == int(case.variant)


def test_published_networks_are_only_there_with_their_folder(tmp_path):
    networks = {case.network for case in control_cases(tmp_path, None) if case.part == "temperature"}
    assert networks == {"run-convolutional"}
