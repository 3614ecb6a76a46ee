"""The experiment on training samples: what heads are fitted on, and the verdict."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.networks.mnist_networks import Case
from experiments.training_samples import report
from experiments.training_samples.measure import HEADS, SOFTMAX, Outcome, TrainingSamplesExperiment, cases, outcome_of
from experiments.training_samples.sources import SOURCES, train
from helpers.made_digits import noisy_digits

OUTCOME = Outcome(
    trained_on=100,
    network=0,
    seed=0,
    source="held_out",
    head="auto",
    fitted_on=100,
    softmax_error=0.2,
    error=0.1,
    gain=0.5,
    wins=500,
    losses=100,
    p_value=1e-9,
    reference_wins=0,
    reference_losses=0,
    seconds=1.0,
)


@pytest.fixture(scope="module")
def trained():
    pytest.importorskip("torch")
    return train(noisy_digits(), Case(100, 0))


def made_outcomes(**of_cross_fitting):
    """Two networks of two sizes, with every source and head."""
    outcomes = [
        replace(OUTCOME, trained_on=size, network=number, source=source, head=head)
        for size in (100, 1_000)
        for number in range(2)
        for source in SOURCES
        for head in (SOFTMAX, *HEADS)
    ]
    changes = {("cross_fitted", "auto"): of_cross_fitting}
    return [replace(o, **changes.get((o.source, o.head), {})) for o in outcomes]


# ---- sources ---------------------------------------------------------------------------------------------------------


def test_cross_fitted_scores_are_of_the_training_samples_but_not_of_networks_trained_on_them(trained):
    own, crossed = (SOURCES[name](trained).samples for name in ("on_training", "cross_fitted"))
    assert sorted(own.labels) == sorted(crossed.labels)
    accuracy = [np.mean(part.logits.argmax(axis=1) == part.labels) for part in (own, crossed)]
    assert accuracy[0] > accuracy[1]


def test_a_head_on_cross_fitted_scores_is_used_on_the_network_trained_on_everything(trained):
    assert SOURCES["cross_fitted"](trained).network is trained.network
    assert SOURCES["split"](trained).network is not trained.network


def test_held_out_samples_are_as_many_and_none_was_trained_on(trained):
    samples = SOURCES["held_out"](trained).samples
    own = SOURCES["on_training"](trained).samples
    assert len(samples.labels) == len(own.labels) == 100
    assert not {row.tobytes() for row in samples.logits} & {row.tobytes() for row in own.logits}


def test_a_fifth_of_the_training_samples_is_left_for_the_head(trained):
    samples = SOURCES["split"](trained).samples
    np.testing.assert_array_equal(samples.labels, trained.mnist.train_labels[trained.draws.train[80:]])


def test_the_validation_samples_are_left_out_where_the_held_out_samples_are_as_many(trained):
    assert len(SOURCES["validation"](trained).samples.labels) == 4_000
    assert SOURCES["validation"](trained._replace(case=Case(5_000, 0))) is None


# ---- the run ---------------------------------------------------------------------------------------------------------


def test_outcomes_are_against_softmax_of_the_whole_network_and_against_held_out_samples():
    before = np.array([True, False, False, False])
    after = np.array([True, True, True, False])
    reference = np.array([False, True, False, False])
    outcome = outcome_of(Case(100, 0), "split", "auto", before, after, reference, 20, 1.0)
    assert (outcome.wins, outcome.losses, outcome.gain) == (2, 0, 2 / 3)
    assert (outcome.reference_wins, outcome.reference_losses) == (2, 0)
    assert (outcome.softmax_error, outcome.error) == (0.75, 0.25)


def test_every_source_is_measured_and_a_run_is_resumed(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    experiment = TrainingSamplesExperiment(noisy_digits(), heads=(SOFTMAX, "pooling"))
    outcomes = experiment.run([Case(100, 0)], tmp_path / "outcomes.csv")
    assert [(o.source, o.head) for o in outcomes] == [(s, h) for s in SOURCES for h in (SOFTMAX, "pooling")]
    assert all(o.error == o.softmax_error for o in outcomes if o.head == SOFTMAX and o.source != "split")
    monkeypatch.setattr(TrainingSamplesExperiment, "measure", None)
    assert experiment.run([Case(100, 0)], tmp_path / "outcomes.csv") == outcomes


def test_a_run_that_is_cut_short_has_networks_of_all_sizes():
    everything = cases()
    assert len(everything) == 8
    assert {case.number for case in everything[:8]} == {0}


# ---- the report ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wins", "losses", "judged"), [(10, 60, "worse"), (60, 10, "better"), (30, 31, "not different")]
)
def test_the_verdict_follows_from_the_numbers(wins, losses, judged):
    text = report.verdict(made_outcomes(reference_wins=wins, reference_losses=losses))
    [line] = [line for line in text.splitlines() if "AutoHead on cross-fitted training samples" in line]
    assert f"{judged} at 100, 1,000 training samples" in line
    where = "at no size" if judged == "worse" else "at 100, 1,000 training samples"
    first = text.splitlines()[0]
    assert (
        f"cross-fitting as good as held-out samples?** For AutoHead it is not significantly worse {where}, of" in first
    )


def test_heads_that_are_significantly_worse_than_softmax_are_counted():
    outcomes = made_outcomes(wins=10, losses=60, p_value=1e-6)
    assert "cross-fitted training samples 4 of 8" in report.verdict(outcomes)
    assert "| 2 of 2 |" in report.size_table(outcomes)


def test_the_report_has_its_table_and_figure(tmp_path):
    text = report.write(made_outcomes(gain=0.25), tmp_path)
    assert (tmp_path / "table.md").read_text() in text
    assert text in (tmp_path / "report.md").read_text()
    assert "| 100 | 2 | cross-fitted training samples | 100 | 10.0 % | +50.0 % | +50.0 % | +25.0 % |" in text
    assert (tmp_path / "gain.png").read_bytes().startswith(b"\x89PNG")
