"""The experiment on a zero-shot classifier: draws, lines, outcomes and the run."""

from collections import Counter

import numpy as np
import pytest

from experiments.benchmark.measure import single_threaded
from experiments.benchmark.text_trials import Embedded, read_texts
from experiments.data.banking77 import FILES, banking77_folder
from experiments.runs.csv_records import read_records
from experiments.zeroshot import measure
from experiments.zeroshot.measure import LABELS, Outcome, Task, ZeroShotExperiment, drawn, outcome_of, tasks
from experiments.zeroshot.methods import HEADS, LINES, rivals, shared_with_the_benchmark
from helpers.samples import ROOT

CLASSES = 6


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory):
    """Made texts: embeddings around those of their classes, whose names are off."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(CLASSES, 8))

    def unit(vectors):
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    labels = [rng.integers(CLASSES, size=count) for count in (600, 300)]
    texts = [unit(centers[part] + 0.8 * rng.normal(size=(len(part), 8))) for part in labels]
    names = unit(centers + 1.5 * rng.normal(size=centers.shape))
    path = tmp_path_factory.mktemp("kept") / "text-made.npz"
    arrays = Embedded(texts[0], labels[0], texts[1], labels[1], names)
    np.savez(path, **arrays._asdict())
    return path


@pytest.fixture
def few(monkeypatch):
    """Numbers of labels that the made texts are enough for."""
    monkeypatch.setattr(measure, "LABELS", (30, 60, 200))
    monkeypatch.setattr(measure, "QUICK_LABELS", (30, 60))


# ---- draws and lines -------------------------------------------------------------------------------------------------


def test_every_number_of_labels_is_measured_in_one_draw_before_the_next():
    listed = tasks()
    assert len(set(listed)) == len(listed) == 10 * len(LABELS)
    assert [task.draw for task in listed] == sorted(task.draw for task in listed)
    assert [task.labels for task in listed[:5]] == [77 * each for each in (2, 5, 10, 20, 50)]
    assert tasks(draws=2) == listed[: 2 * len(LABELS)]
    assert tasks(quick=True) == [(0, 154), (0, 385), (1, 154), (1, 385)]


def test_the_rest_is_never_labelled_and_fewer_labels_are_among_more(embeddings, few):
    draws = [drawn(embeddings, Task(3, labels)) for labels in measure.LABELS]
    rows = [{tuple(row) for row in draw.labelled.features} for draw in draws]
    rest = {tuple(row) for row in draws[0].rest.features}
    assert [len(row) for row in rows] == [30, 60, 200]
    assert rows[0] < rows[1] < rows[2]
    assert not rest & rows[2]
    assert len(rest) == 400
    assert draws[0].labelled.logits.dtype == np.float64
    other = drawn(embeddings, Task(4, 30))
    assert rows[0] != {tuple(row) for row in other.labelled.features}
    np.testing.assert_array_equal(other.test.labels, draws[0].test.labels)


def test_heads_are_compared_with_lines_that_see_no_more():
    assert rivals("auto") == ["zero_shot", "no_labels", "sph", "sms"]
    assert set(rivals("auto_features")) == {*LINES} - {*HEADS}


def test_lines_are_warmed_up_by_their_names_in_the_benchmark():
    assert shared_with_the_benchmark(("zero_shot", "no_labels", "auto_top5", "auto")) == ("softmax", "auto")


# ---- outcomes --------------------------------------------------------------------------------------------------------


def test_outcomes_are_counted_against_zero_shot_argmax(embeddings, few):
    task = Task(0, 60)
    draw = drawn(embeddings, task)
    zero, without = (outcome_of(task, name, draw) for name in ("zero_shot", "no_labels"))
    wrong = draw.test.logits.argmax(axis=1) != draw.test.labels
    assert (zero.error, zero.zero_shot_error, zero.gain, zero.wins, zero.losses) == (wrong.mean(),) * 2 + (0.0, 0, 0)
    assert without.gain == pytest.approx(1 - without.error / wrong.mean())
    assert without.gain == pytest.approx((without.wins - without.losses) / wrong.sum())
    assert without.gain_low <= without.gain <= without.gain_high
    assert without.rest_low <= without.rest_gain <= without.rest_high
    assert np.isnan([without.expected_gain, without.expected_low, without.new_high]).all()


def test_without_labels_every_text_is_seen_and_no_label(embeddings, few):
    """With other labels, and with more or fewer, the biases are the same."""
    outcomes = []
    for labels in (30, 200):
        draw = drawn(embeddings, Task(0, labels))
        shuffled = draw._replace(train=draw.train._replace(labels=np.zeros_like(draw.train.labels)))
        outcomes += [outcome_of(Task(0, labels), "no_labels", each).error for each in (draw, shuffled)]
    assert len(set(outcomes)) == 1


@pytest.mark.parametrize("name", ["auto", "auto_rounded", "auto_top5", "auto_features"])
def test_autohead_promises_what_it_gains_over_what_it_is_told(embeddings, few, name):
    with single_threaded():  # which ignores the warning of rare classes too
        outcome = outcome_of(Task(0, 200), name, drawn(embeddings, Task(0, 200)))
    assert outcome.expected_low <= outcome.expected_gain <= outcome.expected_high
    assert outcome.new_low < outcome.expected_low
    assert outcome.chosen != "softmax"
    assert outcome.trust > 0
    assert outcome.gain == pytest.approx(1 - outcome.error / outcome.told_error)
    assert (outcome.told_error == outcome.zero_shot_error) or name == "auto_rounded"


@pytest.mark.parametrize("name", [name for name in LINES if name not in ("sph", *HEADS)])
def test_a_class_without_labels_is_no_error(embeddings, few, name):
    draw = drawn(embeddings, Task(0, 60))
    labelled = draw.train.labels != 2
    some = draw.train._replace(
        logits=draw.train.logits[labelled], labels=draw.train.labels[labelled], features=draw.train.features[labelled]
    )
    outcome = outcome_of(Task(0, 60), name, draw._replace(train=some))
    assert (outcome.classes, outcome.labelled_classes) == (CLASSES, CLASSES - 1)
    assert 0 < outcome.error < 1


# ---- the run ---------------------------------------------------------------------------------------------------------


def test_a_run_is_kept_with_a_digest_of_its_samples_and_resumed(embeddings, few, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(ZeroShotExperiment, "packages", lambda self: [])
    experiment = ZeroShotExperiment(embeddings, methods=("zero_shot", "no_labels"))
    path = tmp_path / "out" / "outcomes.csv"
    outcomes = experiment.run(tasks(quick=True), path)
    assert [(o.draw, o.labels, o.method) for o in outcomes] == [
        (draw, labels, method) for draw in (0, 1) for labels in (30, 60) for method in ("zero_shot", "no_labels")
    ]
    assert list(map(str, read_records(Outcome, path))) == list(map(str, outcomes))
    monkeypatch.setattr(ZeroShotExperiment, "measure", None)
    assert list(map(str, experiment.run(tasks(quick=True), path))) == list(map(str, outcomes))
    with np.load(embeddings) as arrays:
        np.savez(tmp_path / "other.npz", **{**arrays, "test_labels": arrays["test_labels"][::-1]})
    with pytest.raises(ValueError, match="samples was"):
        ZeroShotExperiment(tmp_path / "other.npz", experiment.methods).run(tasks(quick=True), path)


def test_the_code_that_the_experiment_names_exists():
    assert [name for name in ZeroShotExperiment.code if not (ROOT / "experiments" / name).exists()] == []


# ---- the texts -------------------------------------------------------------------------------------------------------


def test_missing_texts_are_an_error_that_says_where_to_get_them(tmp_path, monkeypatch):
    (tmp_path / "banking77").mkdir()
    (tmp_path / "banking77" / "train.csv").touch()
    monkeypatch.setenv("AFTERMAX_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"no file test.csv there.*PolyAI-LDN/task-specific-datasets.*CC BY"):
        banking77_folder()
    (tmp_path / "banking77" / "test.csv").touch()
    assert banking77_folder() == banking77_folder(tmp_path / "banking77") == tmp_path / "banking77"


def test_the_texts_are_as_the_report_says(shared):
    folder = banking77_folder(shared / "data" / "banking77")
    (train, intents), (test, others) = (read_texts(folder / name) for name in FILES)
    assert (len(train), len(test)) == (10_003, 3_080)
    assert (set(Counter(others).values()), len(set(intents))) == ({40}, 77)
    counts = Counter(intents).values()
    assert 5 < max(counts) / min(counts) < 6  # "some classes are five times as frequent as others"
