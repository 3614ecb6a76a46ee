"""The experiment on losses: training, predictors, and the answers."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from experiments.loss import report, training
from experiments.loss.measure import LOSS_NAMES, LossExperiment, Outcome, cases
from experiments.loss.predictors import own_scores, responses_of
from experiments.loss.results import AUTO, Results, paired_t
from experiments.networks.mnist_networks import Case, draw_samples, seed_of, train_network
from experiments.networks.recipes import MAIN, RECIPES
from helpers.made_digits import noisy_digits

OUTCOME = Outcome(
    trained_on=100,
    network=0,
    seed=0,
    loss="softmax",
    predictor="argmax",
    epochs=9,
    validation_error=0.2,
    error=0.2,
    gain=0.0,
    wins=0,
    losses=0,
    p_value=1.0,
    seconds=1.0,
)
GAINS = {
    ("softmax", "argmax"): 0.0,
    ("softmax", "auto"): 0.3,
    ("gaussian_softmax", "running"): -0.1,
    ("gaussian_softmax", "gaussian_validation"): 0.2,
    ("gaussian_softmax", "auto"): 0.4,
}


@pytest.fixture(scope="module")
def digits():
    return noisy_digits()


def made_outcomes(gains=GAINS, networks=3):
    """Networks whose gains are these, and a little more from network to network."""
    return [
        replace(OUTCOME, trained_on=size, network=n, loss=loss, predictor=name, gain=gain + 0.001 * n * (gain != 0.0))
        for size in (100, 1_000)
        for n in range(networks)
        for (loss, name), gain in gains.items()
    ]


# ---- training --------------------------------------------------------------------------------------------------------


def trained(digits, name, stops=(9,)):
    recipe, draws = RECIPES[MAIN], draw_samples(digits, 100, 0)
    images, labels = digits.train_images[draws.train], digits.train_labels[draws.train]
    model = training.new_model(training.LOSSES[name], recipe, images.shape[1], 10, seed_of(100, 0))
    assert list(training.train(model, training.LOSSES[name], images, labels, recipe, stops)) == list(stops)
    return model, images, labels


def test_with_softmaxs_loss_the_network_is_that_of_the_main_experiment(digits):
    model, *_ = trained(digits, "softmax")
    network = train_network(digits, 100, 0, MAIN)
    for ours, theirs in zip(model.network.parameters(), network.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


@pytest.mark.parametrize("name", [name for name in LOSS_NAMES if name != "softmax"])
def test_every_loss_learns(digits, name):
    model, images, labels = trained(digits, name, stops=(9, 40))
    predicted = own_scores(model, responses_of(model, images)).argmax(axis=1)
    assert np.mean(predicted == labels) > 0.8


def test_the_sum_of_losses_is_the_sum(digits):
    images, labels = torch.from_numpy(digits.train_images[:50]), torch.from_numpy(digits.train_labels[:50])
    losses = []
    for name in ("softmax", "gaussian", "gaussian_softmax"):
        model = training.new_model(training.LOSSES[name], RECIPES[MAIN], images.shape[1], 10, seed=0)
        model.network.eval()
        losses.append(training.batch_loss(model, training.LOSSES[name], images, labels))
    torch.testing.assert_close(losses[0] + losses[1], losses[2])


@pytest.mark.parametrize(("size", "epochs"), [(100, [9, 20, 40, 80]), (2_000, [9, 20, 40]), (50_000, [9])])
def test_large_sizes_are_trained_for_fewer_epochs(size, epochs):
    assert training.epochs_to_try(size, 128) == epochs


# ---- the run ---------------------------------------------------------------------------------------------------------


def test_a_run_has_every_loss_and_predictor_and_is_resumed(digits, tmp_path, monkeypatch):
    experiment = LossExperiment(digits, losses=("softmax", "gaussian"), auto=False)
    outcomes = experiment.run([Case(100, 0)], tmp_path / "outcomes.csv")
    assert [outcome.pair for outcome in outcomes] == [
        ("softmax", "argmax"),
        ("softmax", "sph_validation"),
        ("softmax", "gaussian_validation"),
        ("gaussian", "running"),
        ("gaussian", "gaussian_validation"),
    ]
    errors = round(4_000 * outcomes[0].error)
    for outcome in outcomes:
        assert round(4_000 * outcome.error) == errors - outcome.wins + outcome.losses
        assert outcome.epochs in training.EPOCHS
    monkeypatch.setattr(LossExperiment, "measure", None)
    assert experiment.run([Case(100, 0)], tmp_path / "outcomes.csv") == outcomes


def test_there_are_nine_networks_of_each_size():
    assert len(cases()) == 54
    assert [case.size for case in cases()[:6]] == [100, 200, 500, 1_000, 2_000, 5_000]


# ---- results and report ----------------------------------------------------------------------------------------------


def test_differences_are_paired_over_the_networks_that_have_both():
    outcomes = [o for o in made_outcomes() if o.pair != AUTO or o.network < 2]
    difference = Results(outcomes).difference(("gaussian_softmax", "auto"), AUTO)
    assert difference.networks == 4
    assert difference.mean == pytest.approx(0.1)


def test_with_fewer_than_three_networks_nothing_is_significant():
    assert np.isnan(paired_t(np.array([0.1, 0.1])))
    assert paired_t(np.zeros(5)) == 1.0
    assert Results(made_outcomes(networks=1)).difference(AUTO).verdict() == "not different"
    assert Results(made_outcomes()).difference(AUTO).verdict() == "better"


def test_the_answers_follow_from_the_numbers():
    first, second, third, *_ = report.answers(Results(made_outcomes())).splitlines()
    assert "None does significantly" in first
    assert "Significantly worse: Gaussian + softmax, its rule, D from training." in first
    assert "None does significantly" in second
    assert "Gaussian, D from validation -10.0" in second
    assert "Yes: Gaussian + softmax, AutoHead." in third
    better = made_outcomes(GAINS | {("gaussian_softmax", "gaussian_validation"): 0.5})
    assert "Yes: Gaussian + softmax, Gaussian, D from validation." in report.answers(Results(better))


def test_the_report_has_its_table_and_figure(tmp_path):
    text = report.write(made_outcomes(), tmp_path)
    assert (tmp_path / "table.md").read_text() in text
    assert text in (tmp_path / "report.md").read_text()
    assert "| softmax | AutoHead | 20.0 % (+30.1 %*) | 20.0 % (+30.1 %*) | 6 | +30.1 % |" in text
    assert (tmp_path / "gain.png").read_bytes().startswith(b"\x89PNG")


def test_few_networks_and_epochs_at_the_end_are_told():
    text = report.answers(Results(made_outcomes()))
    assert "On 6 networks only little can be shown." in text
    assert "trainings the most epochs that were tried (at most 800 batches) were the best" in text
