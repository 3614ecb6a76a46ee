"""Score files of every format give back the samples that were written."""

import gzip
import io
import sys

import numpy as np
import pytest

from aftermax._scorefiles import ReadOptions, csv_parquet, open_scores, read_scores
from helpers.command import Pipe
from helpers.score_files import NAMES, columns, write_npz, write_scores, write_table


@pytest.mark.parametrize("kind", [".csv", ".csv.gz", ".parquet"])
def test_tables_give_back_the_samples_that_were_written(samples, tmp_path, kind):
    logits, labels = samples
    scores = read_scores(write_table(tmp_path / f"scores{kind}", columns(logits, NAMES[labels])))
    np.testing.assert_array_equal(scores.logits, logits)
    np.testing.assert_array_equal(scores.labels, NAMES[labels])
    assert scores.classes.tolist() == NAMES.tolist()
    assert scores.features is None


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_archives_give_back_the_samples_that_were_written(samples, tmp_path, save, order, dtype):
    logits, labels = np.array(samples[0], dtype, order=order), samples[1]
    save(tmp_path / "scores.npz", logits=logits, labels=labels, features=logits[:, :2])
    scores = read_scores(str(tmp_path / "scores.npz"))
    assert scores.logits.dtype == dtype
    np.testing.assert_array_equal(scores.logits, logits)
    np.testing.assert_array_equal(scores.labels, labels)
    np.testing.assert_array_equal(scores.features, logits[:, :2])


@pytest.mark.parametrize("kind", [".npy", ".csv", ".parquet"])
def test_labels_may_be_in_a_file_of_their_own(samples, tmp_path, kind):
    logits, labels = samples
    np.save(tmp_path / "logits.npy", logits)
    if kind == ".npy":
        np.save(tmp_path / "labels.npy", labels)
    else:
        write_table(tmp_path / f"labels{kind}", {"truth": labels})
    scores = read_scores(str(tmp_path / "logits.npy"), ReadOptions(labels=tmp_path / f"labels{kind}"))
    np.testing.assert_array_equal(scores.labels, labels)


def test_features_may_be_in_a_file_of_their_own(samples, tmp_path):
    logits, labels = samples
    np.save(tmp_path / "hidden.npy", logits[:, :3])
    path = write_table(tmp_path / "scores.csv", columns(logits, labels))
    scores = read_scores(path, ReadOptions(features=(tmp_path / "hidden.npy",)))
    np.testing.assert_array_equal(scores.features, logits[:, :3])


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_columns_called_feature_are_features(samples, tmp_path, kind):
    logits, labels = samples
    table = {"feature_0": logits[:, 1], "feature_1": logits[:, 0]} | columns(logits, labels)
    path = write_table(tmp_path / f"scores{kind}", table)
    scores = read_scores(path)
    np.testing.assert_array_equal(scores.features, logits[:, [1, 0]])
    np.testing.assert_array_equal(scores.logits, logits)
    assert read_scores(path, ReadOptions(with_features=False)).features is None


def test_files_are_read_some_rows_at_a_time(samples, tmp_path, monkeypatch):
    monkeypatch.setattr(csv_parquet, "BLOCK", 2_000)
    monkeypatch.setattr("aftermax._scorefiles.types.VALUES_PER_BATCH", 100)
    logits, labels = np.tile(samples[0], (20, 1)), np.tile(samples[1], 20)
    for kind in ("csv", "parquet", "npz", "npy"):
        with open_scores(write_scores(tmp_path / f"scores.{kind}", logits, labels), ReadOptions()) as file:
            parts = [some.logits for some in file.batches]
            assert file.position() == file.size > 0
        assert len(parts) >= 10
        np.testing.assert_array_equal(np.concatenate(parts), logits)


@pytest.mark.parametrize("kind", [".npz", ".npy", ".csv", ".csv.gz", ".parquet"])
def test_the_format_of_standard_input_is_recognised_by_its_first_bytes(samples, tmp_path, monkeypatch, kind):
    logits, labels = samples
    path = tmp_path / f"scores{kind}"
    write_scores(path, logits, labels)

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Pipe(path.read_bytes()))))
    with open_scores("-", ReadOptions()) as file:
        np.testing.assert_array_equal(np.concatenate([some.logits for some in file.batches]), logits)


def test_parts_of_an_archive_are_chosen_by_name(samples, tmp_path):
    logits, labels = samples
    path = write_npz(tmp_path / "s.npz", val_logits=logits, val_labels=labels, test_logits=logits[:9])
    np.testing.assert_array_equal(read_scores(path, ReadOptions(part="val")).logits, logits)
    with pytest.raises(ValueError, match=r"s.npz has parts, val, test: choose one, such as --part val"):
        read_scores(path)
    with pytest.raises(ValueError, match=r"no array dev_logits for --part dev; it has parts: val, test"):
        read_scores(path, ReadOptions(part="dev"))
    with pytest.raises(ValueError, match=r"has no labels. It holds val_logits, val_labels, test_logits"):
        read_scores(path, ReadOptions(part="test"))


@pytest.mark.parametrize(("name", "separator"), [("s.tsv", "\t"), ("s.txt", "\t"), ("s.txt", ","), ("s.TSV.gz", "\t")])
def test_tables_by_other_names_are_read_as_csv(tmp_path, name, separator):
    text = "a,b,label\n1.5,0,a\n0,2.5,b\n".replace(",", separator).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    scores = read_scores(str(path))
    np.testing.assert_array_equal(scores.logits, [[1.5, 0.0], [0.0, 2.5]])
    assert scores.labels.tolist() == ["a", "b"]


def test_json_lines_may_be_called_json_and_other_json_is_told(tmp_path):
    path = tmp_path / "s.json"
    path.write_text('{"scores": {"a": 1.5, "b": -1}, "label": "a"}\n{"scores": {"a": 0, "b": 2.5}, "label": "b"}\n')
    assert read_scores(str(path)).labels.tolist() == ["a", "b"]
    for text in ("[{}]", '{"scores":\n{}}'):
        path.write_text(text)
        with pytest.raises(ValueError, match="put one JSON object on each line"):
            read_scores(str(path))
