"""Groups and weights are columns of a table or arrays of an archive, and never logits."""

import numpy as np
import pyarrow as pa
import pytest

from aftermax._scorefiles import ReadOptions, read_scores
from helpers.score_files import NAMES, columns, write_npz, write_table, write_text

BOTH = ReadOptions(groups="patient", weights="importance")
PATIENTS = np.array([f"p{number}" for number in np.arange(120) // 4])
WEIGHTS = np.linspace(0.0, 2.0, 120)


@pytest.mark.parametrize("kind", [".csv", ".csv.gz", ".parquet"])
def test_columns_of_a_table(samples, tmp_path, kind):
    logits, labels = samples
    table = {"patient": PATIENTS} | columns(logits, NAMES[labels]) | {"importance": WEIGHTS}
    scores = read_scores(write_table(tmp_path / f"s{kind}", table), BOTH)
    np.testing.assert_array_equal(scores.groups, PATIENTS)
    np.testing.assert_array_equal(scores.weights, WEIGHTS)
    np.testing.assert_array_equal(scores.logits, logits)
    assert scores.headings == tuple(NAMES)


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_groups_and_weights_may_be_whole_numbers(samples, tmp_path, kind):
    logits, labels = samples
    numbers, weights = np.arange(120) // 4, 1 + np.arange(120) % 3
    path = write_table(tmp_path / f"s{kind}", {"n": numbers, "w": weights} | columns(logits, NAMES[labels]))
    scores = read_scores(path, ReadOptions(groups="n", weights="w"))
    assert scores.groups.astype(int).tolist() == numbers.tolist()
    np.testing.assert_array_equal(scores.weights, weights)


def test_one_column_may_be_both_and_weights_may_have_decimal_commas(tmp_path):
    path = write_text(tmp_path / "s.csv", "a;b;w;label\n1,5;2;0,5;a\n3;1;0,25;b\n")
    scores = read_scores(path, ReadOptions(groups="w", weights="w"))
    assert scores.weights.tolist() == [0.5, 0.25]
    assert len(set(scores.groups.tolist())) == 2


def test_arrays_of_an_archive(samples, tmp_path):
    logits, labels = samples
    path = write_npz(tmp_path / "s.npz", logits=logits, labels=labels, patient=PATIENTS, importance=WEIGHTS)
    scores = read_scores(path, BOTH)
    np.testing.assert_array_equal(scores.groups, PATIENTS)
    np.testing.assert_array_equal(scores.weights, WEIGHTS)
    path = write_npz(tmp_path / "b.npz", logits=logits, labels=labels, patient=PATIENTS.astype("S"))
    np.testing.assert_array_equal(read_scores(path, ReadOptions(groups="patient")).groups, PATIENTS)


def test_arrays_of_a_part_may_have_its_name(samples, tmp_path):
    logits, labels = samples
    others = {"test_logits": logits[:3], "patient": np.arange(3)}
    path = write_npz(tmp_path / "s.npz", val_logits=logits, val_labels=labels, val_patient=PATIENTS, **others)
    for name in ("patient", "val_patient"):
        scores = read_scores(path, ReadOptions(part="val", groups=name))
        np.testing.assert_array_equal(scores.groups, PATIENTS)


def test_without_options_there_are_none(samples, tmp_path):
    logits, labels = samples
    path = write_npz(tmp_path / "s.npz", logits=logits, labels=labels, groups=PATIENTS, weights=WEIGHTS)
    scores = read_scores(path)
    assert (scores.groups, scores.weights) == (None, None)


GOOD = "a,b,g,w,label\n1,2,x,1,a\n3,1,y,2,b\n"


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (GOOD, {"groups": "patient"}, "s.csv has no column 'patient' for --groups: it has a, b, g, w, label"),
        (GOOD, {"weights": "w2"}, "s.csv has no column 'w2' for --weights: it has a, b, g, w, label"),
        (GOOD, {"groups": "label"}, "--groups label is the column of the labels: name another one"),
        (GOOD, {"weights": "label"}, "--weights label is the column of the labels: name another one"),
        (GOOD, {"weights": "g"}, "s.csv, line 2, column 'g': 'x' is not a number. --weights needs numbers of at least"),
        (
            GOOD.replace("y,2", ",2"),
            {"groups": "g", "weights": "w"},
            "s.csv, line 3 has no group in 'g': fill it in or remove the row",
        ),
        (
            GOOD.replace("y,2", "y,"),
            {"groups": "g", "weights": "w"},
            "s.csv, line 3: the weight in 'w' is empty or NaN, but weights are finite numbers of at least 0: correct",
        ),
        (GOOD.replace("y,2", "y,-2"), {"weights": "w", "ignore": ("g",)}, "line 3: the weight in 'w' is -2, but"),
        (GOOD.replace("y,2", "y,inf"), {"weights": "w", "ignore": ("g",)}, "line 3: the weight in 'w' is inf, but"),
        (
            GOOD.replace("x,1", "x,0").replace("y,2", "y,0"),
            {"weights": "w", "ignore": ("g",)},
            "s.csv: all weights in 'w' are 0: name another column, or none",
        ),
    ],
)
def test_columns_that_cannot_be_used_are_refused(tmp_path, content, options, message):
    with pytest.raises(ValueError, match=message):
        read_scores(write_text(tmp_path / "s.csv", content), ReadOptions(**options))


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        ({}, {"groups": "patient"}, "s.npz has no array 'patient' for --groups: it holds logits, labels"),
        ({"w": np.ones(3)}, {"weights": "w"}, "s.npz: logits have 120 rows but weights have 3"),
        (
            {"w": np.ones((120, 1))},
            {"weights": "w"},
            r"weights have shape \(120, 1\): one value for each row is needed",
        ),
        ({"g": np.ones((120, 2))}, {"groups": "g"}, r"groups have shape \(120, 2\): one value for each row is needed"),
        ({"w": PATIENTS}, {"weights": "w"}, "s.npz: weights are of type <U3: numbers are needed"),
        ({"w": np.full(120, np.nan)}, {"weights": "w"}, r"row 0 .counted from 0.: the weight in 'w' is empty or NaN"),
        ({"g": np.full(120, np.nan)}, {"groups": "g"}, r"row 0 .counted from 0. has no group in 'g'"),
    ],
)
def test_arrays_that_cannot_be_used_are_refused(samples, tmp_path, arrays, options, message):
    path = write_npz(tmp_path / "s.npz", logits=samples[0], labels=samples[1], **arrays)
    with pytest.raises(ValueError, match=message):
        read_scores(path, ReadOptions(**options))


def test_a_parquet_file_with_text_as_weights_or_without_a_group_is_refused(samples, tmp_path):
    logits, labels = samples
    table = columns(logits, NAMES[labels]) | {"w": PATIENTS, "g": pa.array([1, None, *range(118)])}
    path = write_table(tmp_path / "s.parquet", table)
    with pytest.raises(ValueError, match=r"s.parquet, column 'w' is of type string: --weights needs numbers of at"):
        read_scores(path, ReadOptions(weights="w", groups="g"))
    with pytest.raises(ValueError, match=r"s.parquet, row 1 .counted from 0. has no group in 'g': fill it in"):
        read_scores(path, ReadOptions(groups="g", ignore=("w",)))


def test_an_npy_file_has_no_columns(samples, tmp_path):
    np.save(tmp_path / "s.npy", samples[0])
    with pytest.raises(ValueError, match=r"s.npy has no 'patient' for --groups: an .npy file holds logits only. Save"):
        read_scores(str(tmp_path / "s.npy"), ReadOptions(groups="patient"))
