"""Columns are found by their names, and labels keep their type."""

import numpy as np
import pyarrow as pa
import pytest

from aftermax._scorefiles import ReadOptions, read_scores
from helpers.score_files import NAMES, columns, write_npz, write_table, write_text


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
@pytest.mark.parametrize("numbers", [[3, 1, 0, 2, 4], [10, 7, 2, 9, 30]])
def test_headings_that_are_numbers_name_labels_that_are_numbers(samples, tmp_path, kind, numbers):
    logits, labels = samples
    path = write_table(tmp_path / f"scores{kind}", columns(logits, np.array(numbers)[labels], numbers))
    scores = read_scores(path)
    assert scores.classes.tolist() == numbers
    assert scores.labels.tolist() == np.array(numbers)[labels].tolist()


def test_classes_take_columns_by_name_and_leave_the_others(samples, tmp_path):
    logits, labels = samples
    path = write_table(tmp_path / "s.csv", {"id": np.arange(120)} | columns(logits, NAMES[labels]))
    scores = read_scores(path, ReadOptions(classes=tuple(NAMES[::-1])))
    np.testing.assert_array_equal(scores.logits, logits[:, ::-1])
    assert scores.classes.tolist() == NAMES[::-1].tolist()


def test_classes_name_columns_in_order_if_these_have_other_names(samples, tmp_path):
    logits, labels = samples
    path = write_table(tmp_path / "s.csv", columns(logits, NAMES[labels], ["z0", "z1", "z2", "z3", "z4"]))
    assert read_scores(path, ReadOptions(classes=tuple(NAMES))).classes.tolist() == NAMES.tolist()


def test_classes_that_are_numbers_are_numbers_if_labels_are(samples, tmp_path):
    path = write_npz(tmp_path / "s.npz", logits=samples[0], labels=samples[1])
    assert read_scores(path, ReadOptions(classes=("0", "1", "2", "3", "4"))).classes.tolist() == [0, 1, 2, 3, 4]


def test_the_index_that_pandas_writes_is_no_column_of_logits(samples, tmp_path):
    import pandas as pd

    logits, labels = samples
    frame = pd.DataFrame(columns(logits, NAMES[labels]), index=np.arange(120) + 0.5)
    frame.to_csv(tmp_path / "scores.csv")
    frame.to_parquet(tmp_path / "scores.parquet")
    for kind in ("csv", "parquet"):
        np.testing.assert_array_equal(read_scores(str(tmp_path / f"scores.{kind}")).logits, logits)


@pytest.mark.parametrize("labels", [["007", "7"], ["NA", "None"], ["1", "one"], ["true", "false"]])
def test_labels_that_are_text_stay_as_they_are(tmp_path, labels):
    path = write_text(tmp_path / "s.csv", f"{labels[0]},{labels[1]},label\n0.5,1,{labels[0]}\n1,0.5,{labels[1]}\n")
    assert read_scores(path).labels.tolist() == labels


def test_labels_may_be_categories_bytes_or_whole_floats(samples, tmp_path):
    logits, labels = samples
    table = columns(logits) | {"label": pa.array(NAMES[labels].tolist()).dictionary_encode()}
    assert read_scores(write_table(tmp_path / "s.parquet", table)).labels.tolist() == NAMES[labels].tolist()
    path = write_npz(tmp_path / "s.npz", logits=logits, labels=NAMES[labels].astype("S"))
    assert read_scores(path).labels.tolist() == NAMES[labels].tolist()
    path = write_table(tmp_path / "f.parquet", columns(logits, labels.astype(float), range(5)))
    assert read_scores(path).classes.tolist() == [0, 1, 2, 3, 4]


def test_headings_and_cells_may_be_quoted_and_marked_as_utf_8(tmp_path):
    content = '\ufeff"a, or b","sm\u00f8rre\nbr\u00f8d",label\r\n1,"2","a, or b"\r\n3,1,"sm\u00f8rre\nbr\u00f8d"\r\n'
    (tmp_path / "s.csv").write_bytes(content.encode())
    scores = read_scores(str(tmp_path / "s.csv"))
    assert scores.classes.tolist() == ["a, or b", "sm\u00f8rre\nbr\u00f8d"]
    assert scores.logits.tolist() == [[1, 2], [3, 1]]


def test_logarithms_are_taken_of_probabilities(tmp_path):
    path = write_text(tmp_path / "s.csv", "a,b,label\n0.25,0.75,a\n1,0,b\n")
    np.testing.assert_allclose(read_scores(path, ReadOptions(log=True)).logits, np.log([[0.25, 0.75], [1, 1e-12]]))
