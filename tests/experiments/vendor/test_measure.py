"""The experiment on shipped models: draws, methods, outcomes and the report."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_softmax

from experiments.runs.csv_records import read_records
from experiments.vendor import measure, models, report
from experiments.vendor.measure import LABELS, Outcome, Task, VendorExperiment, drawn, outcome_of, tasks
from experiments.vendor.methods import METHODS, Biases
from experiments.vendor.models import MODELS, Scores
from experiments.vendor.results import Results, interval, rejected_by_holm
from helpers.samples import ROOT, make_samples

OUTCOME = Outcome(
    model="py3langid",
    length=3,
    labels=300,
    draw=0,
    method="auto",
    classes=140,
    test_samples=8_000,
    softmax_error=0.1,
    gain=0.2,
    wins=200,
    losses=40,
    p_value=1e-9,
    expected_gain=0.25,
    expected_low=0.1,
    expected_high=0.4,
    head_p_value=0.001,
    chosen="combination",
    fit_seconds=3.0,
)


@pytest.fixture
def scores():
    logits, labels = make_samples(seed=1, n_samples=5_000, n_classes=4)
    return Scores(logits.astype(np.float32), labels)


def made_outcomes(draws=10, **of_auto):
    """Every method on draws of one setting; softmax and the peers gain nothing."""
    nothing = {"gain": 0.0, "wins": 0, "losses": 0, "p_value": 1.0, "expected_gain": float("nan"), "chosen": ""}
    return [
        replace(OUTCOME, draw=draw, method=method, **(of_auto if method == "auto" else nothing))
        for draw in range(draws)
        for method in METHODS
    ]


# ---- draws -----------------------------------------------------------------------------------------------------------


def test_no_test_sample_is_labelled_and_all_numbers_of_labels_have_the_same_test_samples(scores):
    numbered = scores._replace(logits=np.arange(5_000, dtype=np.float32)[:, None])
    draws = [drawn(numbered, labels, 3) for labels in LABELS]
    rows = [{name: set(part.logits[:, 0]) for name, part in draw._asdict().items()} for draw in draws]
    assert [len(row["labelled"]) for row in rows] == list(LABELS)
    assert all(not row["labelled"] & row["test"] for row in rows)
    assert rows[0]["test"] == rows[1]["test"] == rows[2]["test"]
    assert len(rows[0]["test"]) == 1_000
    assert rows[0]["test"] != set(drawn(numbered, 300, 4).test.logits[:, 0])


def test_test_samples_are_at_most_so_many(scores, monkeypatch):
    monkeypatch.setattr(measure, "MOST_TEST_SAMPLES", 70)
    assert len(drawn(scores, 300, 0).test.labels) == 70


def test_every_setting_is_measured_in_one_draw_before_the_next():
    listed = tasks()
    assert len(set(listed)) == len(listed) == sum(measure.DRAWS.values()) * 3 * 3
    assert [task.draw for task in listed] == sorted(task.draw for task in listed)
    assert {task[:3] for task in tasks(quick=True)} == {("py3langid", 3, 300)}


# ---- methods ---------------------------------------------------------------------------------------------------------


def test_biases_are_found_again():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(20_000, 3)) * 3
    true = np.array([1.0, 0.0, -1.0])
    labels = (logits / 2 + true + rng.gumbel(size=logits.shape)).argmax(axis=1)
    head = Biases().fit(logits, labels)
    assert head.scale_ == pytest.approx(0.5, abs=0.03)
    np.testing.assert_allclose(head.biases_ - head.biases_.mean(), true, atol=0.1)
    np.testing.assert_array_equal(head.predict(logits), head.predict_proba(logits).argmax(axis=1))


def test_labelled_classes_are_all_that_is_predicted():
    logits = np.array([[3.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    assert METHODS["labelled_classes"](3).fit(logits, np.array([1, 2])).predict(logits).tolist() == [1, 2]
    assert METHODS["labelled_classes"](3).fit(logits, np.array([0, 1])).predict(logits).tolist() == [0, 1]


def test_a_class_without_samples_keeps_a_small_bias():
    labels = np.arange(50) % 3
    logits = log_softmax(np.random.default_rng(0).normal(size=(50, 4)) + 3 * np.eye(4)[labels] - [0, 0, 0, 6], axis=1)
    head = Biases().fit(logits, labels)
    assert abs(head.biases_[3]) < 0.5


# ---- the run ---------------------------------------------------------------------------------------------------------


def test_outcomes_are_counted_against_softmax(scores):
    draw = drawn(scores, 1_000, 0)
    task = Task("py3langid", 3, 1_000, 0)
    softmax, auto, biases = (outcome_of(task, method, draw) for method in ("softmax", "auto", "biases"))
    wrong = draw.test.logits.argmax(axis=1) != draw.test.labels
    after = Biases().fit(*draw.labelled).predict(draw.test.logits) != draw.test.labels
    assert (softmax.gain, softmax.wins, softmax.losses, softmax.softmax_error) == (0.0, 0, 0, wrong.mean())
    assert biases.gain == pytest.approx(1 - after.mean() / wrong.mean())
    assert (biases.wins, biases.losses) == ((wrong & ~after).sum(), (after & ~wrong).sum())
    assert np.isnan(biases.expected_gain)
    assert auto.expected_low <= auto.expected_gain <= auto.expected_high
    assert auto.chosen in {"softmax", "combination", "sph"}


def test_a_run_is_kept_with_digests_of_its_scores_and_resumed(scores, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    np.savez(models.path_of("py3langid", 3, tmp_path), logits=scores.logits, labels=scores.labels)
    experiment = VendorExperiment([("py3langid", 3)], tmp_path, methods=("softmax", "biases"))
    path = tmp_path / "out" / "outcomes.csv"
    outcomes = experiment.run(tasks(quick=True), path)
    assert [(o.draw, o.method) for o in outcomes] == [(0, "softmax"), (0, "biases"), (1, "softmax"), (1, "biases")]
    assert list(map(str, read_records(Outcome, path))) == list(map(str, outcomes))
    monkeypatch.setattr(VendorExperiment, "measure", None)
    assert list(map(str, experiment.run(tasks(quick=True), path))) == list(map(str, outcomes))
    np.savez(models.path_of("py3langid", 3, tmp_path), logits=scores.logits + 1, labels=scores.labels)
    with pytest.raises(ValueError, match="scores was"):
        experiment.run(tasks(quick=True), path)


def test_the_code_that_the_experiment_names_exists():
    assert [name for name in VendorExperiment.code if not (ROOT / "experiments" / name).exists()] == []


# ---- the report ------------------------------------------------------------------------------------------------------


def test_holm_compares_each_p_value_with_its_own_bound():
    assert rejected_by_holm([0.004], 10) == 1
    assert rejected_by_holm([0.006], 10) == 0
    assert rejected_by_holm([0.0055, 0.004], 10) == 2
    assert rejected_by_holm([], 10) == 0
    assert rejected_by_holm([0.04, 0.01], 2) == 2


def test_the_interval_is_students():
    low, high = interval([0.1, 0.2, 0.3])
    assert low == pytest.approx(0.2 - 4.3027 * 0.1 / np.sqrt(3), abs=1e-4)
    assert high == pytest.approx(0.4 - low)
    assert np.isnan(interval([0.1])).all()


def test_a_head_that_keeps_softmax_promises_nothing():
    outcomes = made_outcomes(draws=2)
    outcomes[1] = replace(outcomes[1], chosen="softmax", gain=0.0)
    cell = Results(outcomes).cell("auto", ("py3langid", 3, 300))
    assert cell.promised == pytest.approx(0.125)
    assert cell.chosen == {"softmax": 1, "combination": 1}


def test_the_report_counts_draws_that_are_significantly_worse(tmp_path):
    outcomes = made_outcomes(gain=-0.1, wins=10, losses=40, p_value=0.01)
    outcomes[1] = replace(outcomes[1], gain=-0.3, p_value=0.001)
    text = report.write(outcomes, tmp_path)
    assert "AutoHead in 10 of 10 draws, in 1 after Holm's correction" in text
    assert "Its worst draw: -30.0 %" in text
    safety = (tmp_path / "safety.md").read_text()
    assert "| py3langid | 3 words | 300 | +25.0 % | -12.0 % | -30.0 % | 0 / 10 (1) | combination 10 | 3.0 s |" in safety
    whole = (tmp_path / "report.md").read_text()
    for name in ("table", "safety", "verdict"):
        assert (tmp_path / f"{name}.md").read_text() in whole
    assert "`python -m experiments vendor`" in whole


def test_the_report_names_every_length_of_pieces():
    text = report.TEMPLATE.read_text()
    for model in MODELS.values():
        first, second, third = model.lengths
        assert f"{first}, {second} and {third} {model.unit}" in text
