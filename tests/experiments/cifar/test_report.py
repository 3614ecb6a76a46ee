"""Tables, figures and report of the experiment on CIFAR."""

import numpy as np
import pytest

from experiments.cifar import report
from experiments.cifar.results import Results
from experiments.networks import cifar_networks
from experiments.networks.cifar_networks import keep, kept_path
from experiments.networks.cifar_recipes import CLASSES, EVERYTHING
from helpers.cifar_outcomes import made_behaviours, made_outcomes, outcome


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Scores of the networks that are drawn."""
    monkeypatch.setattr(cifar_networks, "VALIDATION_SAMPLES", 300)
    rng = np.random.default_rng(0)
    for name, epochs in (("cifar10-8", None), ("cifar10-32", None), ("cifar10-48", None), ("cifar100-48", None)):
        keep_made(kept_path(name, tmp_path / "kept", epochs=epochs), CLASSES[EVERYTHING[name].data], rng)
    last = EVERYTHING["run-convolutional"].checkpoints[-1]
    keep_made(kept_path("run-convolutional", tmp_path / "kept", epochs=last), 10, rng)
    return tmp_path / "kept"


def keep_made(path, classes, rng):
    labels = np.arange(600) % classes
    keep(path, (rng.normal(size=(600, classes)) + 2 * np.eye(classes)[labels]).astype(np.float32), labels)


def test_the_whole_report_is_written(kept, tmp_path):
    text = report.write(made_outcomes(), made_behaviours(), kept, tmp_path / "no vmnist.csv", tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {
        "report.md",
        "networks.md",
        "summary.md",
        "findings.md",
        "guesses.md",
        "temperatures.md",
        "behaviour.md",
    } <= names
    figures = ("reductions", "certainty", "classes", "training", "samples", "shift", "imbalance", "figure1", "figure2")
    assert {f"{name}.{kind}" for name in figures for kind in ("png", "pdf")} <= names
    written = (tmp_path / "out" / "report.md").read_text()
    assert "{" not in written
    assert "looks at its labels" in text
    assert "None of the" in written


def test_a_quick_run_has_the_tables_of_its_networks_only(kept, tmp_path):
    outcomes = [outcome(method) for method in ("softmax", "sph_best_on_test", "sph_chosen", "auto", "auto_features")]
    text = report.write(outcomes, [], kept, tmp_path / "no vmnist.csv", tmp_path / "out")
    assert "| CIFAR-10 | cifar10-8 | 60.0 % | +2.0 % | +0.0 % | **+3.0 %** | +5.0 % | - |" in text
    assert not (tmp_path / "out" / "report.md").exists()


def test_harm_is_told():
    worse = outcome("auto", -0.1, wins=10, losses=60)
    assert "1 are significantly worse than softmax: networks cifar10 cifar10-8  auto: -10.0 %" in report.harm(
        Results([worse, outcome("sph_chosen")])
    )
