"""The experiment on thousands of classes: draws, outcomes and the run."""

import sys

import numpy as np
import pytest

from experiments.characters import fonts, measure
from experiments.characters.measure import (
    MOST_SECONDS,
    MOST_TEST_SAMPLES,
    PER_CLASS,
    CharactersExperiment,
    Outcome,
    Task,
    drawn,
    is_tried,
    outcome_of,
    samples_for,
    tasks,
)
from experiments.characters.methods import METHODS, PEERS
from experiments.runs.alone import Stopped
from experiments.runs.csv_records import read_records
from helpers.samples import ROOT, make_samples

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
CLASSES, SAMPLES = 30, 900


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with the scores of two fonts that nobody rendered."""
    folder = tmp_path_factory.mktemp("kept")
    for seed, font in enumerate(("ukai", "smiley")):
        logits, labels = make_samples(seed=seed, n_samples=SAMPLES, n_classes=CLASSES, home=1.5, noise=2.0)
        np.save(folder / f"{font}_logits.npy", logits.astype(np.float16))
        np.save(folder / f"{font}_labels.npy", labels)
    return folder


# ---- draws -----------------------------------------------------------------------------------------------------------


def test_no_test_sample_is_labelled_and_all_numbers_of_labels_have_the_same_test_samples(kept):
    draws = [drawn(Task("ukai", count, 1), kept, SAMPLES) for count in PER_CLASS]
    rows = [[{row.tobytes() for row in part.logits} for part in draw] for draw in draws]
    assert [len(labelled) for labelled, _ in rows] == [count * CLASSES for count in PER_CLASS]
    assert all(not labelled & test for labelled, test in rows)
    assert rows[0][1] == rows[1][1] == rows[2][1]
    assert len(rows[0][1]) == SAMPLES - 10 * CLASSES
    assert rows[0][1] != {row.tobytes() for row in drawn(Task("ukai", 1, 2), kept, SAMPLES).test.logits}


def test_with_fewer_samples_there_are_fewer_numbers_of_labels(kept):
    draw = drawn(Task("ukai", 1, 0), kept, 80)
    assert (len(draw.labelled.labels), len(draw.test.labels)) == (30, 50)


def test_every_setting_is_measured_in_one_draw_before_the_next_and_the_most_labels_once():
    listed = tasks()
    assert len(set(listed)) == len(listed) == 3 * (3 + 3 + 1)
    assert [task.draw for task in listed] == sorted(task.draw for task in listed)
    assert {task.draw for task in listed if task.per_class == 10} == {0}
    assert tasks(quick=True) == [Task("smiley", 1, 0)]


# ---- outcomes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_outcomes_are_counted_against_softmax(kept, method):
    task = Task("ukai", 10, 0)
    outcome = outcome_of(task, method, kept, SAMPLES)
    test = drawn(task, kept, SAMPLES).test
    wrong = float(np.mean(test.logits.argmax(axis=1) != test.labels))
    assert outcome.key == task
    assert outcome.softmax_error == pytest.approx(wrong)
    assert outcome.wins - outcome.losses == round((wrong - outcome.error) * len(test.labels))
    assert outcome.gain == pytest.approx(1 - outcome.error / wrong)
    assert outcome.gain_low <= outcome.gain <= outcome.gain_high
    assert (outcome.classes, outcome.labels, outcome.labelled_classes) == (CLASSES, 300, CLASSES)
    assert min(outcome.fit_seconds, outcome.predict_seconds) >= 0
    assert min(outcome.fit_gigabytes, outcome.predict_gigabytes) > 0.05
    assert not outcome.stopped
    assert (outcome.error == wrong) == (method == "softmax")
    if method == "auto":
        assert outcome.expected_low <= outcome.expected_gain <= outcome.expected_high


def test_methods_that_grow_with_the_square_of_classes_are_tried_once():
    tried = [(task, name) for task in tasks() for name in METHODS if METHODS[name].limited and is_tried(name, task)]
    assert tried == [(Task("ukai", 1, 0), "sph"), (Task("ukai", 1, 0), "sms")]


def test_a_method_that_is_stopped_leaves_its_cost(kept, monkeypatch):
    def stop(work, task, method, *others, most_seconds=float("inf")):
        return Stopped(601.0, 2.5) if most_seconds == MOST_SECONDS else work(task, method, *others)

    monkeypatch.setattr(measure, "alone", stop)
    experiment = CharactersExperiment(["ukai"], kept, SAMPLES)
    [outcome] = experiment.measure(Task("ukai", 1, 0), ["sph"])
    assert outcome.stopped
    assert outcome.softmax_error > 0
    assert (outcome.method, outcome.fit_seconds, outcome.fit_gigabytes) == ("sph", 601.0, 2.5)


# ---- the run ---------------------------------------------------------------------------------------------------------


def test_a_run_is_kept_with_digests_of_its_scores_and_resumed(kept, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    experiment = CharactersExperiment(["smiley"], kept, SAMPLES, methods=("softmax", "means"))
    path = tmp_path / "out" / "outcomes.csv"
    outcomes = experiment.run(tasks(quick=True), path)
    assert [(o.key, o.method) for o in outcomes] == [(("smiley", 1, 0), name) for name in ("softmax", "means")]
    assert list(map(str, read_records(Outcome, path))) == list(map(str, outcomes))
    monkeypatch.setattr(CharactersExperiment, "measure", None)
    assert list(map(str, experiment.run(tasks(quick=True), path))) == list(map(str, outcomes))
    with pytest.raises(ValueError, match="scores was"):
        CharactersExperiment(["smiley"], kept, SAMPLES - 1, experiment.methods).run(tasks(quick=True), path)


def test_the_code_that_the_experiment_names_exists():
    assert [name for name in CharactersExperiment.code if not (ROOT / "experiments" / name).exists()] == []
    assert set(PEERS) < set(METHODS)


def test_fewer_labels_need_fewer_samples():
    assert samples_for(10) == fonts.SAMPLES
    assert {task.per_class for task in tasks(most_labels=3)} == {1, 3}
    assert samples_for(3) >= 3 * 6_624 + MOST_TEST_SAMPLES
