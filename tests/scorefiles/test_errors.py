"""Files that are wrong are refused, and the error says where and what to do."""

import numpy as np
import pyarrow as pa
import pytest

from aftermax._scorefiles import ReadOptions, csv_parquet, read_scores
from helpers.samples import make_samples
from helpers.score_files import NAMES, columns, write_npz, write_scores, write_table, write_text

GOOD = "a,b,label\n1,2,a\n3,1,b\n"


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", {}, "s.csv is empty"),
        ("\n", {}, "s.csv is empty: a line of headings"),
        ("a,b,label\n", {}, "s.csv has no rows"),
        (
            "a,b\n1,2\n",
            {},
            "s.csv has no labels. Its columns are a, b: name the column of the labels with --l",
        ),
        (GOOD, {"label_column": "truth"}, "no column 'truth' for --label-column: it has a, b, label"),
        (GOOD, {"ignore": ("id",)}, "no column 'id' for --ignore: it has a, b, label"),
        ("a,b,a,label\n1,2,3,a\n", {}, "several columns called a"),
        ("a,b,label,labels\n1,2,a,a\n", {}, "columns label, labels: name the one with the labels with --label-column"),
        ("a|b|label\n1|2|a\n", {}, "too few columns of logits, 1 among a.b.label: .* by commas, semicolons or tabs"),
        ("a,b,label\nx,2,a\n3,1,b\n", {}, "s.csv, line 2, column 'a': 'x' is not a number. If the .* --ignore a"),
        (
            "a,b,label\n1,2,a\n3,x,b\n",
            {},
            "s.csv, line 3, column 'b': 'x' is not a number. Correct the cell, or",
        ),
        (
            'a,b,label\n1,2,a\n3,"1,5",b\n',
            {},
            "line 3, column 'b': '1,5' is not a number. It has a decimal comma:",
        ),
        ("a,b,label\n1,2,a\n3,,b\n", {}, "s.csv, line 3, column 'b' is empty or NaN"),
        ("a,b,label\n1,2,a\nnan,1,b\n", {}, "s.csv, line 3, column 'a' is empty or NaN"),
        ("a,b,label\n1,2,a\n1,-inf,b\n", {}, "s.csv, line 3, column 'b' is -inf: finite numbers .* write -1e4"),
        ("a,b,label\n1,2,a\n3,1,\n", {}, "s.csv, line 3 has no label"),
        ("a,b,label\n1,2,a\n3,1\n", {}, "s.csv, line 3 has 2 cells, but there are 3 headings: correct"),
        ("a,b,label\n1,2,a\n3,1,b,4\n", {}, "s.csv, line 3 has 4 cells, but there are 3 headings: correct"),
        ("a,b,label\n1,2,a\n3,1,a\n", {}, "s.csv: labels hold one class only, 'a'"),
        ("ant,b,label\n1,2,b\n3,1,ANTS\n1,2,c\n", {}, "s.csv, line 3: the label 'ANTS' has no column; there is 'ant'."),
        ("a,b,label\n1,2,a\n3,1,c\n", {}, "s.csv, line 3: the label 'c' has no column; there are a, b. Correct the"),
        ("1,2,label\n1,2,0\n3,1,1\n", {}, "s.csv, line 2: the label '0' has no column; there are 1, 2. .* --classes"),
        (GOOD, {"classes": ("b", "c")}, "s.csv, line 2: the label 'a' is not one of --classes; there are b, c."),
        ("0.5,2.5,-1e3,ant\n1,2,3,bee\n", {}, "s.csv: the first line holds numbers, not names .0.5, 2.5, -1e3, ant.:"),
        ("0.5,0.5\n1,2\n", {"label_column": "y"}, "s.csv: the first line holds numbers, not names .*: add a line of"),
        (
            "a,b,label\n1,0,a\n-3,1,b\n",
            {"log": True},
            "line 3, column 'a': -3 is not a probability from 0 to 1, .* --ignore a",
        ),
        (
            "a,b,label\n1,0,a\n80,20,b\n",
            {"log": True},
            "line 3, column 'a': 80 is not a probability .* Divide percentages by 100",
        ),
        (GOOD, {"part": "val"}, "s.csv has no parts for --part val"),
    ],
)
def test_an_error_in_a_csv_file_names_its_line(tmp_path, content, options, message):
    path = write_text(tmp_path / "s.csv", content)
    with pytest.raises(ValueError, match=message):
        read_scores(path, ReadOptions(**options))


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("0.5,1.5,label\n1,2,0.5\n3,1,1.5\n", {}),
        ("a,b,label\n1,0,a\n0.5,1,b\n", {"log": True, "classes": ("a", "b")}),
    ],
)
def test_headings_may_be_decimal_numbers_and_probabilities_may_be_0_and_1(tmp_path, content, options):
    assert len(read_scores(write_text(tmp_path / "s.csv", content), ReadOptions(**options)).labels) == 2


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (("x", "y", "z"), "--classes names 3 classes, but .*s.csv has 2 columns of logits: name one class for each"),
        (("x", "y", "x"), "--classes names x more than once: name each class once"),
    ],
)
def test_classes_that_do_not_name_each_column_once_are_refused(tmp_path, classes, message):
    with pytest.raises(ValueError, match=message):
        read_scores(write_text(tmp_path / "s.csv", GOOD), ReadOptions(classes=classes))


def test_errors_far_down_a_file_have_the_right_line(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_parquet, "BLOCK", 100)
    for bad, words in (("x,1,a", "line 1202, column 'a': 'x'"), ("1,,a", "line 1202, column 'b' is empty")):
        path = write_text(tmp_path / "s.csv", GOOD + "1,2,a\n3,1,b\n" * 599 + "\n" + bad + "\n")
        with pytest.raises(ValueError, match=words):
            read_scores(path)


@pytest.mark.parametrize("content", [b"\xff\xfea\x00,\x00b\x00", b"a,b,label\n1,2,\xe9\n2,1,b\n"])
def test_text_that_is_not_utf_8_is_refused(tmp_path, content):
    (tmp_path / "s.csv").write_bytes(content)
    with pytest.raises(ValueError, match=r"s.csv(, line 2, column 'label')? is not text in UTF-8: save it as CSV in"):
        read_scores(str(tmp_path / "s.csv"))


def test_several_columns_that_are_no_logits_are_named_at_once(samples, tmp_path):
    logits, labels = samples
    others = {"id": np.arange(120), "age": np.arange(120) % 50}
    path = write_table(tmp_path / "s.csv", others | columns(logits, NAMES[labels]))
    with pytest.raises(ValueError, match=r"columns id, age hold integers only, .* leave them out with --ignore id,age"):
        read_scores(path)


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_a_column_of_ids_is_refused(samples, tmp_path, kind):
    logits, labels = samples
    path = write_table(tmp_path / f"s{kind}", {"patient no": np.arange(120) // 2} | columns(logits, NAMES[labels]))
    with pytest.raises(ValueError, match=r"column 'patient no' holds integers only, .* --ignore 'patient no', or"):
        read_scores(path)
    np.testing.assert_array_equal(read_scores(path, ReadOptions(ignore=("patient no",))).logits, logits)
    np.testing.assert_array_equal(read_scores(path, ReadOptions(classes=tuple(NAMES))).logits, logits)


def test_the_column_of_a_class_that_is_masked_out_is_not_an_id(samples, tmp_path):
    logits, labels = samples
    table = columns(logits, labels, range(5)) | {"5": np.full(120, -1e4)}
    assert read_scores(write_table(tmp_path / "s.csv", table)).classes.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_column_whose_class_no_row_has_gets_a_warning(samples, tmp_path):
    logits, labels = samples
    path = write_table(tmp_path / "s.csv", {"age": logits[:, 0] ** 2} | columns(logits, NAMES[labels]))
    with pytest.warns(UserWarning, match=r"s.csv: no row has the label age, but .* not classes, with --ignore age\."):
        assert len(read_scores(path).classes) == 6
    assert len(read_scores(path, ReadOptions(ignore=("age",))).classes) == 5


@pytest.mark.parametrize(
    ("labels", "named"), [(["x", "y", "w"], "w, x, y"), (["3", "5", "9"], "3, 5, 9"), (["x", "y", "x"], "x, y")]
)
def test_columns_that_are_called_like_no_label_are_refused_as_sorted_labels_would_be_a_guess(tmp_path, labels, named):
    content = "u,v,z-1,label\n" + "".join(f"0.5,1,2,{label}\n" for label in labels)
    message = rf"are u, v, z-1, the labels {named}\. Name the class of each column with --classes, in the order"
    with pytest.raises(ValueError, match=message):
        read_scores(write_text(tmp_path / "s.csv", content))


def test_columns_in_order_are_listed_in_a_warning_if_the_class_of_one_has_no_label(tmp_path):
    path = write_text(tmp_path / "s.csv", "u,v,w,label\n0.5,1,2,0\n0.5,1,2,1\n")
    with pytest.warns(UserWarning, match="no column that is called like a label: u, v, w are used as 0, 1, 2, in this"):
        read_scores(path)


def test_a_first_line_of_integers_is_not_headings_either(tmp_path):
    write_table(tmp_path / "labels.csv", {"label": [0, 1, 2]})
    path = write_text(tmp_path / "s.csv", "7,-3,9\n1,2,3\n4,5,6\n7,8,9\n")
    with pytest.raises(ValueError, match=r"s.csv: the first line holds numbers, not names \(7, -3, 9\)"):
        read_scores(path, ReadOptions(labels=tmp_path / "labels.csv"))


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
    scores = read_scores(write_text(tmp_path / "s.csv", content), ReadOptions(classes=("a", "b")))
    assert scores.logits.tolist() == [[1.5, -2], [0, 100]]
    assert scores.labels.tolist() == ["a", "b"]


def test_commas_in_quotes_do_not_separate(tmp_path):
    path = write_text(tmp_path / "s.csv", '"a, or b";c;label\n1;2;c\n2;1;"a, or b"\n')
    assert read_scores(path).classes.tolist() == ["a, or b", "c"]
    write_table(tmp_path / "labels.csv", {"other": ["x", "x"], "label": ["c", "a, or b"]})
    path = write_text(tmp_path / "labels.csv", "other;label\n1,5;c\n2;a, or b\n")
    options = ReadOptions(labels=tmp_path / "labels.csv", ignore=("label",))
    assert read_scores(str(tmp_path / "s.csv"), options).labels.tolist() == ["c", "a, or b"]


def test_logits_may_be_integers(tmp_path):
    logits, labels = make_samples(n_samples=40)
    scores = read_scores(write_table(tmp_path / "s.csv", columns(np.rint(100 * logits), labels)))
    np.testing.assert_array_equal(scores.logits, np.rint(100 * logits))


def test_an_error_in_a_parquet_file_names_its_row_and_column(samples, tmp_path):
    logits, labels = samples
    path = write_table(tmp_path / "s.parquet", columns(logits, labels) | {"name": ["x"] * 120})
    with pytest.raises(ValueError, match=r"s.parquet, column 'name' is of type string: numbers are .*--ignore name"):
        read_scores(path)
    logits = logits.copy()
    logits[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"s.parquet, row 7 \(counted from 0\), column 'cat' is empty or NaN"):
        read_scores(write_table(tmp_path / "s.parquet", columns(logits, labels)))
    nulls = columns(samples[0]) | {"label": pa.array([None if n == 5 else 1 for n in range(120)])}
    with pytest.raises(ValueError, match=r"s.parquet, row 5 \(counted from 0\) has no label"):
        read_scores(write_table(tmp_path / "s.parquet", nulls))


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"logits": np.zeros(5), "labels": np.zeros(5)}, r"logits have shape \(5,\): a row for each sample"),
        ({"logits": np.zeros((5, 1)), "labels": np.zeros(5)}, r"logits have shape \(5, 1\)"),
        ({"logits": np.zeros((5, 2)), "labels": np.zeros(4)}, "logits have 5 rows but labels have 4"),
        ({"logits": np.zeros((5, 2)), "features": np.zeros((6, 2))}, "logits have 5 rows but features have 6"),
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
def test_an_error_in_an_archive_names_the_array(tmp_path, arrays, words):
    with pytest.raises(ValueError, match=words):
        read_scores(write_npz(tmp_path / "s.npz", **arrays))


def test_pickles_are_never_read(tmp_path):
    path = write_npz(tmp_path / "s.npz", logits=np.zeros((2, 2)), labels=np.array(["a", None], dtype=object))
    with pytest.raises(ValueError, match=r"s.npz, labels, holds Python objects, which are not read.*astype\(str\)"):
        read_scores(path)


@pytest.mark.parametrize("kind", [".npz", ".npy", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("kept", [3, 0.5, 0.98])
def test_truncated_files_are_refused(tmp_path, kind, kept):
    logits, labels = make_samples(n_samples=2_000)
    path = tmp_path / f"s{kind}"
    write_scores(path, logits, labels)
    whole = path.read_bytes()
    path.write_bytes(whole[: kept if kept > 1 else int(kept * len(whole))])
    with pytest.raises(ValueError, match=rf"s\{kind}.* (is damaged, or its format|is truncated|is not text)"):
        read_scores(str(path))


def test_changed_bytes_are_noticed(tmp_path):
    logits, labels = make_samples(n_samples=2_000)
    path = tmp_path / "s.npz"
    np.savez_compressed(path, logits=logits, labels=labels)
    changed = bytearray(path.read_bytes())
    changed[40_000] ^= 0xFF
    path.write_bytes(changed)
    with pytest.raises(ValueError, match=r"s.npz.* is (damaged|truncated)"):
        read_scores(str(path))


def test_files_that_are_not_there_or_of_another_kind_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere.csv is not there"):
        read_scores("nowhere.csv")
    with pytest.raises(FileNotFoundError, match=r"nowhere is not there"):
        read_scores("nowhere")
    with pytest.raises(ValueError, match=r"scores.xlsx is a spreadsheet: save it as CSV"):
        read_scores("scores.xlsx")
    with pytest.raises(ValueError, match=r"is not a score file by its name: it should end in .npz, .npy, .csv"):
        read_scores(write_text(tmp_path / "scores.dat", GOOD))
    (tmp_path / "s.csv").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_scores(str(tmp_path / "s.csv"))


def test_files_next_to_a_score_file_must_fit_it(samples, tmp_path):
    logits, labels = samples
    np.save(tmp_path / "logits.npy", logits)
    np.save(tmp_path / "many.npy", np.append(labels, 0))
    np.save(tmp_path / "few.npy", labels[:-1])
    write_table(tmp_path / "two.csv", {"x": labels, "y": labels})
    path = str(tmp_path / "logits.npy")
    for options, words in (
        (ReadOptions(labels=tmp_path / "many.npy"), "many.npy has 121 rows but .*logits.npy has 120: one"),
        (ReadOptions(labels=tmp_path / "few.npy"), "few.npy has 119 rows but .*logits.npy has more: one"),
        (
            ReadOptions(labels=tmp_path / "two.csv"),
            "two.csv has columns x, y: name the one with the labels with --label-column",
        ),
        (ReadOptions(labels=tmp_path / "two.csv", label_column="z"), "two.csv has columns x, y"),
        (ReadOptions(labels=tmp_path / "labels.npz"), "is not there"),
        (ReadOptions(features=(tmp_path / "two.csv",)), "--features takes .npy files"),
        (ReadOptions(features=(tmp_path / "few.npy",)), "features have shape"),
        (ReadOptions(keep=("id",)), "logits.npy has no columns to --keep"),
    ):
        with pytest.raises((ValueError, FileNotFoundError), match=words):
            read_scores(path, options)
    for source in (path, write_table(tmp_path / "scores.csv", columns(logits))):
        assert len(read_scores(source, ReadOptions(labels=tmp_path / "two.csv", label_column="y")).labels) == 120
