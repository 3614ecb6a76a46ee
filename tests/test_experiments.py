"""The experiments: data read, runs that go on where they stopped, reports."""

import gzip
import struct
import sys
from dataclasses import replace

import numpy as np
import pytest

from aftermax.experiments import choosing, choosing_report
from aftermax.experiments.choosing import Case, Outcome
from aftermax.experiments.datasets import data_folder, load_mnist, read_idx
from aftermax.experiments.vmnist import Scores, load_scores, network_scores
from conftest import ROOT, make_rows


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def test_idx_files_are_read_gzipped_or_not(tmp_path):
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    (tmp_path / "plain").write_bytes(idx(array))
    (tmp_path / "packed").write_bytes(gzip.compress(idx(array)))
    np.testing.assert_array_equal(read_idx(tmp_path / "plain"), array)
    np.testing.assert_array_equal(read_idx(tmp_path / "packed"), array)


@pytest.mark.parametrize("damage", [b"", b"\x00\x00\x08", b"\x1f\x8b\x08 cut", b"\x00\x00\x0d\x01\x00\x00\x00\x01\x05"])
def test_damaged_files_are_named(tmp_path, damage):
    (tmp_path / "file").write_bytes(damage)
    with pytest.raises(ValueError, match=r"file is damaged or not an IDX file .*: get it anew"):
        read_idx(tmp_path / "file")


def test_a_truncated_file_is_named(tmp_path):
    (tmp_path / "file").write_bytes(gzip.compress(idx(np.zeros((5, 5), dtype=np.uint8)))[:-12])
    with pytest.raises(ValueError, match=r"file is damaged"):
        read_idx(tmp_path / "file")


def test_missing_or_wrong_mnist_says_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"MNIST is not in .*Put the four original IDX files.*AFTERMAX_DATA"):
        load_mnist(tmp_path)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(np.zeros((3, 28, 28), dtype=np.uint8)))
    with pytest.raises(ValueError, match=r"shape \(3, 28, 28\) where MNIST has \(60000, 28, 28\)"):
        load_mnist(tmp_path)
    monkeypatch.setenv("AFTERMAX_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    assert data_folder(tmp_path / "given") == tmp_path / "given"


def test_a_damaged_score_file_is_named(tmp_path):
    (tmp_path / "scores.npz").write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(ValueError, match=r"scores.npz is damaged or no score file"):
        load_scores(tmp_path / "scores.npz")
    np.savez(tmp_path / "other.npz", logits=np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"other.npz is damaged or no score file"):
        load_scores(tmp_path / "other.npz")


# ---- choosing --------------------------------------------------------------------------------------------------------


def small_scores():
    (logits, labels), (test, truth) = make_rows(seed=1, rows=150, size=3), make_rows(seed=2, rows=200, size=3)
    return Scores(logits, labels, test, truth)


OUTCOME = Outcome(
    name="vmnist",
    trained_on=100,
    network=0,
    validation_rows=4000,
    softmax_error=0.25,
    expected_gain=0.2,
    expected_low=0.15,
    expected_high=0.25,
    p_value=1e-9,
    fell_back=False,
    gain=0.18,
    wins=250,
    losses=70,
    luckiest_gain=0.1,
    ceiling_gain=0.3,
)


def test_compare_measures_every_way_of_choosing():
    outcome = choosing.compare(Case("made", 0, 0, 100, small_scores))
    test, truth = make_rows(seed=2, rows=200, size=3)
    errors = np.count_nonzero(test.argmax(axis=1) != truth)
    assert outcome.softmax_error == errors / 200
    assert outcome.gain == (outcome.wins - outcome.losses) / errors
    assert outcome.ceiling_gain >= max(outcome.gain, outcome.luckiest_gain)
    assert outcome.expected_low <= outcome.expected_gain <= outcome.expected_high


def test_outcomes_survive_the_file_and_a_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    path = tmp_path / "out" / "outcomes.csv"
    computed = []

    def compare(case):
        if len(computed) == 2:
            raise KeyboardInterrupt
        computed.append(case.key)
        return replace(OUTCOME, network=case.network, gain=case.network / 3)

    monkeypatch.setattr(choosing, "compare", compare)
    cases = [Case("vmnist", 100, number, 4000, small_scores) for number in range(3)]
    with pytest.raises(KeyboardInterrupt):
        choosing.run(cases, path)
    assert choosing.read_outcomes(path) == [replace(OUTCOME, network=n, gain=n / 3) for n in range(2)]
    computed.clear()
    outcomes = choosing.run(cases, path)
    assert computed == [("vmnist", 100, 2, 4000)]
    assert outcomes == choosing.read_outcomes(path) == [replace(OUTCOME, network=n, gain=n / 3) for n in range(3)]
    assert [file.name for file in path.parent.iterdir()] == ["outcomes.csv"]


def test_without_torch_the_error_names_the_install_command_and_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'aftermax\[experiments\]'"):
        network_scores(None, 100, 0, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_significance_and_promises_are_judged_on_the_test_rows():
    assert OUTCOME.as_expected
    assert not replace(OUTCOME, gain=0.26).as_expected
    assert not OUTCOME.significantly_worse
    assert replace(OUTCOME, wins=70, losses=250).significantly_worse
    assert not replace(OUTCOME, wins=3, losses=5).significantly_worse


def test_the_report_says_in_words_what_looks_at_test_labels(tmp_path):
    outcomes = [
        replace(OUTCOME, trained_on=size, network=n, validation_rows=rows, gain=0.1 * n)
        for size in (100, 1000)
        for n in range(2)
        for rows in (4000, 400)
    ]
    text = choosing_report.write([*outcomes, replace(OUTCOME, name="some-net", trained_on=0)], tmp_path)
    assert "looks at its labels" in text
    assert "| 4,000 | 100 | 25.0 % | **+5.0 %** | +20.0 % | 0 of 2 | 0 of 2 | +10.0 % | +30.0 % |" in text
    assert "| some-net | 4,000 | 25.0 % | **+18.0 %** | +20.0 % (+15.0 % to +25.0 %) | no | +10.0 % | +30.0 % |" in text
    assert "| 4,000 | 4 | 0 | 0 (0.0 %) | 0 of 4 |" in text
    assert "significantly worse (McNemar, p < 0.05)" in text
    for name in ("vmnist.md", "summary.md", "files.md"):
        assert (tmp_path / name).read_text() in text
    assert (tmp_path / "gain.png").read_bytes().startswith(b"\x89PNG")


def test_a_network_trained_on_mnist_is_kept_and_the_same_every_time(shared, tmp_path):
    pytest.importorskip("torch")
    mnist = load_mnist(data_folder(shared / "data"))
    first = network_scores(mnist, 100, 0, tmp_path / "a")
    again = network_scores(mnist, 100, 0, tmp_path / "b")
    kept = network_scores(mnist, 100, 0, tmp_path / "a")
    other = network_scores(mnist, 100, 1, tmp_path / "a")
    for ours, theirs, third in zip(first, again, kept, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(ours, third)
    assert not np.array_equal(first.val_logits, other.val_logits)
    assert [part.shape for part in first] == [(4000, 10), (4000,), (4000, 10), (4000,)]
    assert 0.15 < np.mean(first.val_logits.argmax(axis=1) != first.val_labels) < 0.45


def test_the_committed_results_keep_what_the_project_promises():
    """The full run's own figures: nobody may commit a run that does harm."""
    outcomes = choosing.read_outcomes(ROOT / "results" / "choosing" / "outcomes.csv")
    for rows, least in ((4000, 0.0), (400, -0.01)):
        for size in {outcome.trained_on for outcome in outcomes} - {0}:
            group = [o.gain for o in outcomes if (o.validation_rows, o.trained_on) == (rows, size)]
            assert len(group) == 9
            assert np.mean(group) >= least
    for size, least in ((100, 0.20), (200, 0.12)):
        assert np.mean([o.gain for o in outcomes if (o.validation_rows, o.trained_on) == (4000, size)]) >= least
    networks = [o for o in outcomes if o.validation_rows == 4000 and 0 < o.trained_on <= 20_000]
    assert len(networks) == 72
    assert np.mean([o.significantly_worse for o in networks]) <= 0.05
    assert np.mean([o.as_expected for o in networks]) >= 0.85
    assert all(outcome.gain >= -0.01 for outcome in outcomes if not outcome.trained_on)
