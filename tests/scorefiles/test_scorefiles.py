"""Score files: the same rows from every kind of file, columns by their names, and errors that say where."""

import gzip
import io
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from aftermax._scorefiles import Wanted, open_scores, read_scores
from aftermax._scorefiles import csv_parquet as scored_tables
from helpers.samples import make_samples

NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])


@pytest.fixture
def rows():
    return make_samples(seed=3, rows=120)


def columns(logits, labels=None, names=NAMES):
    table = {str(name): logits[:, j] for j, name in enumerate(names)}
    return table if labels is None else table | {"label": labels}


def write(path, table):
    """A table as the kind of file that the path says."""
    table = pa.table(table)
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".gz":
        with gzip.open(path, "wb") as file:
            csv.write_csv(table, file)
    else:
        csv.write_csv(table, path)
    return str(path)


def save_npz(path, **arrays):
    np.savez(path, **arrays)
    return str(path)


def text(path, content):
    path.write_text(content)
    return str(path)


# ---- every kind of file ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [".csv", ".csv.gz", ".parquet"])
def test_tables_give_back_the_rows_that_went_in(rows, tmp_path, kind):
    logits, labels = rows
    found = read_scores(write(tmp_path / f"scores{kind}", columns(logits, NAMES[labels])))
    np.testing.assert_array_equal(found.logits, logits)
    np.testing.assert_array_equal(found.labels, NAMES[labels])
    assert found.classes.tolist() == NAMES.tolist()
    assert found.features is None


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_archives_give_back_the_rows_that_went_in(rows, tmp_path, save, order, dtype):
    logits, labels = np.array(rows[0], dtype, order=order), rows[1]
    save(tmp_path / "scores.npz", logits=logits, labels=labels, features=logits[:, :2])
    found = read_scores(str(tmp_path / "scores.npz"))
    assert found.logits.dtype == dtype
    np.testing.assert_array_equal(found.logits, logits)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_array_equal(found.features, logits[:, :2])


@pytest.mark.parametrize("kind", [".npy", ".csv", ".parquet"])
def test_labels_may_be_in_a_file_of_their_own(rows, tmp_path, kind):
    logits, labels = rows
    np.save(tmp_path / "logits.npy", logits)
    if kind == ".npy":
        np.save(tmp_path / "labels.npy", labels)
    else:
        write(tmp_path / f"labels{kind}", {"truth": labels})
    found = read_scores(str(tmp_path / "logits.npy"), Wanted(labels=tmp_path / f"labels{kind}"))
    np.testing.assert_array_equal(found.labels, labels)


def test_features_may_be_in_a_file_of_their_own(rows, tmp_path):
    logits, labels = rows
    np.save(tmp_path / "hidden.npy", logits[:, :3])
    path = write(tmp_path / "scores.csv", columns(logits, labels))
    found = read_scores(path, Wanted(features=tmp_path / "hidden.npy"))
    np.testing.assert_array_equal(found.features, logits[:, :3])


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_columns_called_feature_are_features(rows, tmp_path, kind):
    logits, labels = rows
    table = {"feature_0": logits[:, 1], "feature_1": logits[:, 0]} | columns(logits, labels)
    path = write(tmp_path / f"scores{kind}", table)
    found = read_scores(path)
    np.testing.assert_array_equal(found.features, logits[:, [1, 0]])
    np.testing.assert_array_equal(found.logits, logits)
    assert read_scores(path, Wanted(with_features=False)).features is None


def test_files_are_read_some_rows_at_a_time(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(scored_tables, "BLOCK", 2_000)
    monkeypatch.setattr("aftermax._scorefiles.types.VALUES_AT_A_TIME", 100)
    logits, labels = np.tile(rows[0], (20, 1)), np.tile(rows[1], 20)
    np.save(tmp_path / "logits.npy", logits)
    paths = [
        write(tmp_path / "scores.csv", columns(logits, labels)),
        write(tmp_path / "scores.parquet", columns(logits, labels)),
        save_npz(tmp_path / "scores.npz", logits=logits, labels=labels),
        str(tmp_path / "logits.npy"),
    ]
    for path in paths:
        with open_scores(path, Wanted()) as file:
            parts = [some.logits for some in file.batches]
            assert file.position() == file.size > 0
        assert len(parts) >= 10
        np.testing.assert_array_equal(np.concatenate(parts), logits)


@pytest.mark.parametrize("kind", [".npz", ".npy", ".csv", ".csv.gz", ".parquet"])
def test_standard_input_is_told_by_how_it_begins(rows, tmp_path, monkeypatch, kind):
    logits, labels = rows
    path = tmp_path / f"scores{kind}"
    if kind == ".npz":
        save_npz(path, logits=logits, labels=labels)
    elif kind == ".npy":
        np.save(path, logits)
    else:
        write(path, columns(logits, labels))

    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Pipe(path.read_bytes()))))
    with open_scores("-", Wanted()) as file:
        np.testing.assert_array_equal(np.concatenate([some.logits for some in file.batches]), logits)


def test_parts_of_an_archive_are_chosen_by_name(rows, tmp_path):
    logits, labels = rows
    path = save_npz(tmp_path / "s.npz", val_logits=logits, val_labels=labels, test_logits=logits[:9])
    np.testing.assert_array_equal(read_scores(path, Wanted(part="val")).logits, logits)
    with pytest.raises(ValueError, match=r"s.npz has parts, val, test: choose one, such as --part val"):
        read_scores(path)
    with pytest.raises(ValueError, match=r"no array dev_logits for --part dev; it has parts: val, test"):
        read_scores(path, Wanted(part="dev"))
    with pytest.raises(ValueError, match=r"has no labels. It holds val_logits, val_labels, test_logits"):
        read_scores(path, Wanted(part="test"))


# ---- which column is which class -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
@pytest.mark.parametrize("numbers", [[3, 1, 0, 2, 4], [10, 7, 2, 9, 30]])
def test_headings_that_are_numbers_name_labels_that_are_numbers(rows, tmp_path, kind, numbers):
    logits, labels = rows
    path = write(tmp_path / f"scores{kind}", columns(logits, np.array(numbers)[labels], numbers))
    found = read_scores(path)
    assert found.classes.tolist() == numbers
    assert found.labels.tolist() == np.array(numbers)[labels].tolist()


def test_classes_take_columns_by_name_and_leave_the_others(rows, tmp_path):
    logits, labels = rows
    path = write(tmp_path / "s.csv", {"id": np.arange(120)} | columns(logits, NAMES[labels]))
    found = read_scores(path, Wanted(classes=tuple(NAMES[::-1])))
    np.testing.assert_array_equal(found.logits, logits[:, ::-1])
    assert found.classes.tolist() == NAMES[::-1].tolist()


def test_classes_name_columns_in_order_if_these_have_other_names(rows, tmp_path):
    logits, labels = rows
    path = write(tmp_path / "s.csv", columns(logits, NAMES[labels], ["z0", "z1", "z2", "z3", "z4"]))
    assert read_scores(path, Wanted(classes=tuple(NAMES))).classes.tolist() == NAMES.tolist()


def test_classes_that_are_numbers_are_numbers_if_labels_are(rows, tmp_path):
    path = save_npz(tmp_path / "s.npz", logits=rows[0], labels=rows[1])
    assert read_scores(path, Wanted(classes=("0", "1", "2", "3", "4"))).classes.tolist() == [0, 1, 2, 3, 4]


def test_the_index_that_pandas_writes_is_no_column_of_logits(rows, tmp_path):
    import pandas as pd

    logits, labels = rows
    frame = pd.DataFrame(columns(logits, NAMES[labels]), index=np.arange(120) + 0.5)
    frame.to_csv(tmp_path / "scores.csv")
    frame.to_parquet(tmp_path / "scores.parquet")
    for kind in ("csv", "parquet"):
        np.testing.assert_array_equal(read_scores(str(tmp_path / f"scores.{kind}")).logits, logits)


@pytest.mark.parametrize("labels", [["007", "7"], ["NA", "None"], ["1", "one"], ["true", "false"]])
def test_labels_that_are_text_stay_as_they_are(tmp_path, labels):
    path = text(tmp_path / "s.csv", f"{labels[0]},{labels[1]},label\n0.5,1,{labels[0]}\n1,0.5,{labels[1]}\n")
    assert read_scores(path).labels.tolist() == labels


def test_labels_may_be_categories_bytes_or_whole_floats(rows, tmp_path):
    logits, labels = rows
    table = columns(logits) | {"label": pa.array(NAMES[labels].tolist()).dictionary_encode()}
    assert read_scores(write(tmp_path / "s.parquet", table)).labels.tolist() == NAMES[labels].tolist()
    path = save_npz(tmp_path / "s.npz", logits=logits, labels=NAMES[labels].astype("S"))
    assert read_scores(path).labels.tolist() == NAMES[labels].tolist()
    path = write(tmp_path / "f.parquet", columns(logits, labels.astype(float), range(5)))
    assert read_scores(path).classes.tolist() == [0, 1, 2, 3, 4]


def test_headings_and_cells_may_be_quoted_and_marked_as_utf_8(tmp_path):
    content = '\ufeff"a, or b","sm\u00f8rre\nbr\u00f8d",label\r\n1,"2","a, or b"\r\n3,1,"sm\u00f8rre\nbr\u00f8d"\r\n'
    (tmp_path / "s.csv").write_bytes(content.encode())
    found = read_scores(str(tmp_path / "s.csv"))
    assert found.classes.tolist() == ["a, or b", "sm\u00f8rre\nbr\u00f8d"]
    assert found.logits.tolist() == [[1, 2], [3, 1]]


def test_logarithms_are_taken_of_probabilities(tmp_path):
    path = text(tmp_path / "s.csv", "a,b,label\n0.25,0.75,a\n1,0,b\n")
    np.testing.assert_allclose(read_scores(path, Wanted(log=True)).logits, np.log([[0.25, 0.75], [1, 1e-12]]))


# ---- errors ----------------------------------------------------------------------------------------------------------

GOOD = "a,b,label\n1,2,a\n3,1,b\n"


@pytest.mark.parametrize(
    ("content", "wanted", "words"),
    [
        ("", {}, "s.csv is empty"),
        ("\n", {}, "s.csv is empty: a line of headings"),
        ("a,b,label\n", {}, "s.csv has no rows"),
        ("a,b\n1,2\n", {}, "s.csv has no labels. Its columns are a, b: name the labels' column with --label-column"),
        (GOOD, {"label_column": "truth"}, "no column 'truth' for --label-column: it has a, b, label"),
        (GOOD, {"ignore": ("id",)}, "no column 'id' for --ignore: it has a, b, label"),
        ("a,b,a,label\n1,2,3,a\n", {}, "more than one column called a"),
        ("a,b,label,labels\n1,2,a,a\n", {}, "columns label, labels: say which has the labels with --label-column"),
        ("a|b|label\n1|2|a\n", {}, "1 columns that can be logits, of a.b.label: .* by commas, semicolons or tabs"),
        ("a,b,label\nx,2,a\n3,1,b\n", {}, "s.csv, line 2, column 'a': 'x' is no number. If the .* --ignore a"),
        ("a,b,label\n1,2,a\n3,x,b\n", {}, "s.csv, line 3, column 'b': 'x' is no number. Mend the cell, or leave the"),
        ('a,b,label\n1,2,a\n3,"1,5",b\n', {}, "line 3, column 'b': '1,5' is no number. It has a decimal comma: save"),
        ("a,b,label\n1,2,a\n3,,b\n", {}, "s.csv, line 3, column 'b' is empty or NaN"),
        ("a,b,label\n1,2,a\nnan,1,b\n", {}, "s.csv, line 3, column 'a' is empty or NaN"),
        ("a,b,label\n1,2,a\n1,-inf,b\n", {}, "s.csv, line 3, column 'b' is -inf: .* wants -1e4"),
        ("a,b,label\n1,2,a\n3,1,\n", {}, "s.csv, line 3 has no label"),
        ("a,b,label\n1,2,a\n3,1\n", {}, "s.csv, line 3 has 2 cells where the headings are 3"),
        ("a,b,label\n1,2,a\n3,1,b,4\n", {}, "s.csv, line 3 has 4 cells where the headings are 3"),
        ("a,b,label\n1,2,a\n3,1,a\n", {}, "s.csv: labels hold one class only, 'a'"),
        ("ab,b,label\n1,2,b\n3,1, AB\n1,2,c\n", {}, "s.csv, line 3: the label ' AB' is no column; there is 'ab'. Corr"),
        ("a,b,label\n1,2,a\n3,1,c\n", {}, "s.csv, line 3: the label 'c' is no column; there are a, b. Correct the"),
        ("1,2,label\n1,2,0\n3,1,1\n", {}, "s.csv, line 2: the label '0' is no column; there are 1, 2. .* --classes"),
        (GOOD, {"classes": ("b", "c")}, "s.csv, line 2: the label 'a' is not among --classes; there are b, c."),
        ("0.5,2.5,-1e3,ant\n1,2,3,bee\n", {}, "s.csv: the first line holds numbers, not names .0.5, 2.5, -1e3, ant.:"),
        ("0.5,0.5\n1,2\n", {"label_column": "y"}, "s.csv: the first line holds numbers, not names .*: add a line of"),
        ("0.5,1.5,label\n1,2,0.5\n3,1,1.5\n", {}, None),
        ("a,b,label\n1,0,a\n0.5,1,b\n", {"log": True, "classes": ("a", "b")}, None),
        (
            "a,b,label\n1,0,a\n-3,1,b\n",
            {"log": True},
            "line 3, column 'a': -3 is no probability .0 to 1., .* --ignore a",
        ),
        (
            "a,b,label\n1,0,a\n80,20,b\n",
            {"log": True},
            "line 3, column 'a': 80 is no probability .* Divide percent by 100",
        ),
        (GOOD, {"part": "val"}, "s.csv has no parts for --part val"),
    ],
)
def test_what_is_wrong_with_a_csv_file_is_said_with_its_line(tmp_path, content, wanted, words):
    path = text(tmp_path / "s.csv", content)
    if words is None:
        assert len(read_scores(path, Wanted(**wanted)).labels) == 2
        return
    with pytest.raises(ValueError, match=words):
        read_scores(path, Wanted(**wanted))


def test_errors_far_down_a_file_have_the_right_line(tmp_path, monkeypatch):
    monkeypatch.setattr(scored_tables, "BLOCK", 100)
    for bad, words in (("x,1,a", "line 1202, column 'a': 'x'"), ("1,,a", "line 1202, column 'b' is empty")):
        path = text(tmp_path / "s.csv", GOOD + "1,2,a\n3,1,b\n" * 599 + "\n" + bad + "\n")
        with pytest.raises(ValueError, match=words):
            read_scores(path)


@pytest.mark.parametrize("content", [b"\xff\xfea\x00,\x00b\x00", b"a,b,label\n1,2,\xe9\n2,1,b\n"])
def test_text_that_is_not_utf_8_is_refused(tmp_path, content):
    (tmp_path / "s.csv").write_bytes(content)
    with pytest.raises(ValueError, match=r"s.csv(, line 2, column 'label')? is no text in UTF-8: save it as CSV in U"):
        read_scores(str(tmp_path / "s.csv"))


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_a_column_that_counts_the_rows_is_refused(rows, tmp_path, kind):
    logits, labels = rows
    path = write(tmp_path / f"s{kind}", {"patient no": np.arange(120) // 2} | columns(logits, NAMES[labels]))
    with pytest.raises(ValueError, match=r"column 'patient no' holds whole numbers only, .* --ignore 'patient no', or"):
        read_scores(path)
    np.testing.assert_array_equal(read_scores(path, Wanted(ignore=("patient no",))).logits, logits)
    np.testing.assert_array_equal(read_scores(path, Wanted(classes=tuple(NAMES))).logits, logits)


def test_a_class_that_is_masked_out_or_never_certain_is_no_patient_number(rows, tmp_path):
    logits, labels = rows
    table = columns(logits, labels, range(5)) | {"5": np.full(120, -1e4)}
    assert read_scores(write(tmp_path / "s.csv", table)).classes.tolist() == [0, 1, 2, 3, 4, 5]


def test_columns_that_no_row_has_for_a_label_are_warned_of(rows, tmp_path):
    logits, labels = rows
    path = write(tmp_path / "s.csv", {"age": logits[:, 0] ** 2} | columns(logits, NAMES[labels]))
    with pytest.warns(UserWarning, match=r"s.csv: no row has the label age, but .* leave it out with --ignore age\."):
        assert len(read_scores(path).classes) == 6
    assert len(read_scores(path, Wanted(ignore=("age",))).classes) == 5


@pytest.mark.parametrize(
    ("labels", "taken"), [(["x", "y", "w"], "w, x, y"), (["0", "1", "0"], "0, 1, 2"), (["3", "5", "9"], "3, 5, 9")]
)
def test_columns_that_are_called_like_no_label_are_told_for_what_they_are_taken(tmp_path, labels, taken):
    content = "z0,z1,z2,label\n" + "".join(f"0.5,1,2,{label}\n" for label in labels)
    with pytest.warns(UserWarning, match=f"no column that is called like a label: z0, z1, z2 are taken for {taken},"):
        read_scores(text(tmp_path / "s.csv", content))


def test_a_row_of_whole_numbers_is_no_heading_either(tmp_path):
    write(tmp_path / "labels.csv", {"label": [0, 1, 2]})
    path = text(tmp_path / "s.csv", "7,-3,9\n1,2,3\n4,5,6\n7,8,9\n")
    with pytest.raises(ValueError, match=r"s.csv: the first line holds numbers, not names \(7, -3, 9\)"):
        read_scores(path, Wanted(labels=tmp_path / "labels.csv"))


@pytest.mark.parametrize(
    "content",
    [
        "a;b;label\n1.5;-2;a\n0;1e2;b\n",
        "a\tb\tlabel\r\n1.5\t-2\ta\r\n0\t1e2\tb\r\n",
        "a;b;label\r\n1,5;-2;a\r\n0;100,0;b\r\n",
        '"a";b;"label"\n"1,5";"-2";a\n0;100;b\n',
        "label\tb\ta\na\t-2\t1,5\nb\t1,0e2\t0\n",
    ],
)
def test_cells_may_be_separated_by_semicolons_and_tabs_and_have_decimal_commas(tmp_path, content):
    found = read_scores(text(tmp_path / "s.csv", content), Wanted(classes=("a", "b")))
    assert found.logits.tolist() == [[1.5, -2], [0, 100]]
    assert found.labels.tolist() == ["a", "b"]


def test_commas_in_quotes_do_not_separate(tmp_path):
    path = text(tmp_path / "s.csv", '"a, or b";c;label\n1;2;c\n2;1;"a, or b"\n')
    assert read_scores(path).classes.tolist() == ["a, or b", "c"]
    write(tmp_path / "labels.csv", {"other": ["x", "x"], "label": ["c", "a, or b"]})
    path = text(tmp_path / "labels.csv", "other;label\n1,5;c\n2;a, or b\n")
    wanted = Wanted(labels=tmp_path / "labels.csv", ignore=("label",))
    assert read_scores(str(tmp_path / "s.csv"), wanted).labels.tolist() == ["c", "a, or b"]


def test_logits_that_are_whole_numbers_are_welcome(tmp_path):
    logits, labels = make_samples(rows=40)
    found = read_scores(write(tmp_path / "s.csv", columns(np.rint(100 * logits), labels)))
    np.testing.assert_array_equal(found.logits, np.rint(100 * logits))


def test_what_is_wrong_with_a_parquet_file_is_said(rows, tmp_path):
    logits, labels = rows
    path = write(tmp_path / "s.parquet", columns(logits, labels) | {"name": ["x"] * 120})
    with pytest.raises(ValueError, match=r"s.parquet, column 'name' is of type string, no numbers.*--ignore name"):
        read_scores(path)
    logits = logits.copy()
    logits[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"s.parquet, row 7 \(counted from 0\), column 'cat' is empty or NaN"):
        read_scores(write(tmp_path / "s.parquet", columns(logits, labels)))
    nulls = columns(rows[0]) | {"label": pa.array([None if n == 5 else 1 for n in range(120)])}
    with pytest.raises(ValueError, match=r"s.parquet, row 5 \(counted from 0\) has no label"):
        read_scores(write(tmp_path / "s.parquet", nulls))


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"logits": np.zeros(5), "labels": np.zeros(5)}, r"logits have shape \(5,\): a row for each sample"),
        ({"logits": np.zeros((5, 1)), "labels": np.zeros(5)}, r"logits have shape \(5, 1\)"),
        ({"logits": np.zeros((5, 2)), "labels": np.zeros(4)}, "logits have 5 rows but labels 4"),
        ({"logits": np.zeros((5, 2)), "features": np.zeros((6, 2))}, "logits have 5 rows but features 6"),
        ({"logits": np.zeros((5, 2))}, "has no labels. It holds logits: "),
        ({"scores": np.zeros((5, 2))}, r"no array called logits, but scores: .* numpy.savez\(path, logits="),
        ({"logits": np.full((5, 2), "x"), "labels": np.zeros(5)}, "logits are of type <U1: numbers are needed"),
        (
            {"logits": np.array([[1, 2], [3, np.nan]]), "labels": [0, 1]},
            r"logits, row 1 \(.*\), column 1 is empty or NaN",
        ),
        ({"logits": np.zeros((0, 2)), "labels": []}, "has no rows"),
        ({"logits": np.zeros((5, 2)), "labels": np.eye(5)}, "one-hot"),
    ],
)
def test_what_is_wrong_with_an_archive_is_said(tmp_path, arrays, words):
    with pytest.raises(ValueError, match=words):
        read_scores(save_npz(tmp_path / "s.npz", **arrays))


def test_pickles_are_never_read(tmp_path):
    path = save_npz(tmp_path / "s.npz", logits=np.zeros((2, 2)), labels=np.array(["a", None], dtype=object))
    with pytest.raises(ValueError, match=r"s.npz, labels, holds Python objects, which are not read.*astype\(str\)"):
        read_scores(path)


@pytest.mark.parametrize("kind", [".npz", ".npy", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("kept", [3, 0.5, 0.98])
def test_files_that_are_cut_short_are_refused(tmp_path, kind, kept):
    logits, labels = make_samples(rows=2_000)
    path = tmp_path / f"s{kind}"
    if kind == ".npz":
        save_npz(path, logits=logits, labels=labels)
    elif kind == ".npy":
        np.save(path, logits)
    else:
        write(path, columns(logits, labels))
    whole = path.read_bytes()
    path.write_bytes(whole[: kept if kept > 1 else int(kept * len(whole))])
    with pytest.raises(ValueError, match=rf"s\{kind}.* (is damaged, or of another|is cut short|is no text)"):
        read_scores(str(path))


def test_bytes_that_were_changed_are_noticed(tmp_path):
    logits, labels = make_samples(rows=2_000)
    path = tmp_path / "s.npz"
    np.savez_compressed(path, logits=logits, labels=labels)
    changed = bytearray(path.read_bytes())
    changed[40_000] ^= 0xFF
    path.write_bytes(changed)
    with pytest.raises(ValueError, match=r"s.npz.* is (damaged|cut short)"):
        read_scores(str(path))


def test_files_that_are_not_there_or_of_another_kind_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere.csv is not there"):
        read_scores("nowhere.csv")
    with pytest.raises(FileNotFoundError, match=r"nowhere is not there"):
        read_scores("nowhere")
    with pytest.raises(ValueError, match=r"scores.xlsx is no score file by its name: save it as CSV"):
        read_scores("scores.xlsx")
    with pytest.raises(ValueError, match=r"no score file by its name: it should end in .npz, .npy, .csv"):
        read_scores(text(tmp_path / "scores.txt", GOOD))
    (tmp_path / "s.csv").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_scores(str(tmp_path / "s.csv"))


def test_files_next_to_a_score_file_must_fit_it(rows, tmp_path):
    logits, labels = rows
    np.save(tmp_path / "logits.npy", logits)
    np.save(tmp_path / "many.npy", np.append(labels, 0))
    np.save(tmp_path / "few.npy", labels[:-1])
    write(tmp_path / "two.csv", {"x": labels, "y": labels})
    path = str(tmp_path / "logits.npy")
    for wanted, words in (
        (Wanted(labels=tmp_path / "many.npy"), "many.npy has 121 labels but .*logits.npy has 120 rows"),
        (Wanted(labels=tmp_path / "few.npy"), "logits.npy has more rows than --labels has"),
        (Wanted(labels=tmp_path / "two.csv"), "two.csv has columns x, y: say which has the labels with --label-column"),
        (Wanted(labels=tmp_path / "two.csv", label_column="z"), "two.csv has columns x, y"),
        (Wanted(labels=tmp_path / "labels.npz"), "is not there"),
        (Wanted(features=tmp_path / "two.csv"), "--features takes .npy files"),
        (Wanted(features=tmp_path / "few.npy"), "features have shape"),
        (Wanted(keep=("id",)), "logits.npy has no columns to --keep"),
    ):
        with pytest.raises((ValueError, FileNotFoundError), match=words):
            read_scores(path, wanted)
    for source in (path, write(tmp_path / "scores.csv", columns(logits))):
        assert len(read_scores(source, Wanted(labels=tmp_path / "two.csv", label_column="y")).labels) == 120
