"""The scores that ship with the package, and score files."""

import numpy as np
import pytest

from aftermax.data import SHIPPED, Scores, load_scores, load_vmnist, shipped_path
from experiments.data.mnist import load_mnist
from experiments.networks.mnist_networks import network_scores
from experiments.paper.results import Outcome
from experiments.runs.csv_records import read_records
from helpers.samples import ROOT


@pytest.mark.parametrize(("trained_on", "accuracy"), [(100, 0.74), (500, 0.84), (5000, 0.95)])
def test_the_shipped_networks_are_those_of_the_papers_figure_6(trained_on, accuracy):
    scores = load_vmnist(trained_on)
    assert [part.shape for part in scores] == [(4000, 10), (4000,), (4000, 10), (4000,)]
    assert [str(part.dtype) for part in scores] == ["float32", "int64", "float32", "int64"]
    assert np.mean(scores.val_logits.argmax(axis=1) == scores.val_labels) == pytest.approx(accuracy, abs=0.02)
    assert set(scores.test_labels) == set(range(10))


def test_the_shipped_scores_are_small():
    assert sum(shipped_path(size).stat().st_size for size in SHIPPED) < 600_000


def test_other_sizes_are_refused_and_the_available_ones_named():
    with pytest.raises(ValueError, match=r"trained_on=700 is not among .* choose from 100, 500, 5000"):
        load_vmnist(700)


def test_the_shipped_scores_are_what_the_experiment_trains(shared, tmp_path):
    """Trained again from its seed: the same samples, and the same logits but for their rounding to float16."""
    pytest.importorskip("torch")
    outcomes = read_records(Outcome, ROOT / "results" / "vmnist" / "outcomes.csv")
    of_figure_6 = min(
        (o for o in outcomes if o.method == "softmax" and o.trained_on == 100),
        key=lambda o: abs(o.validation_accuracy - 0.74),
    )
    trained = network_scores(load_mnist(shared / "data"), *of_figure_6.key, "adam", tmp_path)
    shipped = load_vmnist(100)
    np.testing.assert_array_equal(shipped.val_labels, trained.val_labels)
    np.testing.assert_array_equal(shipped.test_labels, trained.test_labels)
    assert np.abs(shipped.test_logits - trained.test_logits).mean() < 0.01  # other processors round differently


def test_a_damaged_score_file_is_named(tmp_path):
    (tmp_path / "scores.npz").write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(ValueError, match=r"scores.npz is damaged or no score file"):
        load_scores(tmp_path / "scores.npz")
    np.savez(tmp_path / "other.npz", logits=np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"other.npz is damaged or no score file"):
        load_scores(tmp_path / "other.npz")


def test_a_score_file_with_damage_inside_is_named(tmp_path):
    path = tmp_path / "scores.npz"
    content = shipped_path(100).read_bytes()
    path.write_bytes(content[:3000] + bytes(byte ^ 0xFF for byte in content[3000:3010]) + content[3010:])
    with pytest.raises(ValueError, match=r"scores.npz is damaged or no score file"):
        load_scores(path)
    path.write_bytes(content[:-100])
    with pytest.raises(ValueError, match=r"scores.npz is damaged or no score file"):
        load_scores(path)


def test_a_score_file_that_asks_for_an_unknown_compression_is_named(tmp_path):
    content = bytearray(shipped_path(100).read_bytes())
    entry = content.index(b"PK\x01\x02")  # the first file in zip's directory; its compression is ten bytes on
    content[entry + 10] = 97
    (tmp_path / "scores.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"scores.npz is damaged or no score file \(That compression method"):
        load_scores(tmp_path / "scores.npz")


def test_a_single_array_is_not_a_score_file(tmp_path):
    with (tmp_path / "scores.npz").open("wb") as file:
        np.save(file, np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"scores.npz is damaged or no score file"):
        load_scores(tmp_path / "scores.npz")


def test_a_score_file_with_pickled_objects_is_refused(tmp_path):
    np.savez(tmp_path / "scores.npz", **dict.fromkeys(Scores._fields, np.array([{}], dtype=object)))
    with pytest.raises(ValueError, match=r"scores.npz is damaged or no score file"):
        load_scores(tmp_path / "scores.npz")
