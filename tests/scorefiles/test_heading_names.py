"""Headings that differ from the labels by white space, case, a prefix or a suffix name them nevertheless."""

import warnings
from collections import Counter

import numpy as np
import pytest
from pyarrow import parquet

from aftermax import SPHClassifier
from aftermax._scorefiles import ReadOptions, read_scores
from aftermax._scorefiles.check import read_for_check
from aftermax._scorefiles.heading_names import classes_of_headings, find_headings
from aftermax._scorefiles.predict import read_for_head
from helpers.folders import predict
from helpers.score_files import write_table

FRUIT = ["apple", "kiwi", "plum", "fig", "lime"]  # not sorted
KINDS = [".csv", ".parquet"]


def write(path, samples, headings, spelt):
    """A table with a column for each of the fruits, under these headings, and labels that are spelt so."""
    logits, codes = samples
    labels = np.array(list(map(spelt, FRUIT)))[codes]
    return write_table(path, {name: logits[:, j] for j, name in enumerate(headings)} | {"label": labels})


def cut(path, text):
    path.write_text(path.read_text().replace('"', "").replace(",", text))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("heading", "label", "says"),
    [
        (str.upper, str, "the columns are called like the labels, but for case or white space: APPLE, KIWI"),
        (str, str.title, "but for case or white space: apple, kiwi, plum, fig, lime are used as Apple, Kiwi,"),
        ("logit_{}".format, str, "the columns are called like the labels with 'logit_' before each: logit_apple, "),
        ("{}.score".format, str.upper, "with '.score' after each: apple.score, kiwi.score, .* are used as APPLE, "),
        (str, "class_{}".format, "the labels are called like the columns with 'class_' before each: apple, kiwi, "),
    ],
)
def test_each_column_is_of_the_class_that_its_heading_names_and_one_line_says_so(
    samples, tmp_path, kind, heading, label, says
):
    path = write(tmp_path / f"s{kind}", samples, map(heading, FRUIT), label)
    with pytest.warns(UserWarning, match=says) as caught:
        scores = read_scores(path)
    assert len(caught) == 1
    assert scores.classes.tolist() == [label(name) for name in FRUIT]
    assert scores.labels.tolist() == [label(FRUIT[code]) for code in samples[1]]


@pytest.mark.parametrize("separator", [", ", " ,", " , "])
def test_white_space_around_headings_and_labels_of_text_is_no_part_of_them(samples, tmp_path, separator):
    path = write(tmp_path / "s.csv", samples, FRUIT, str)
    cut(tmp_path / "s.csv", separator)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = read_scores(path, ReadOptions(label_column=" label"))
    assert scores.classes.tolist() == FRUIT
    np.testing.assert_array_equal(scores.logits, samples[0])


def test_headings_may_be_quoted_after_a_blank(tmp_path):
    (tmp_path / "s.csv").write_text('"a", "b, or c", "label"\n1, 2, a\n2, 1, a\n1, 2,"b, or c"\n')
    assert read_scores(str(tmp_path / "s.csv")).classes.tolist() == ["a", "b, or c"]


def test_classes_without_a_label_are_named_alike():
    assert classes_of_headings(Counter(["Fig", "Kiwi"]), ["logit_Kiwi", "logit_Plum", "logit_Fig"]).classes == [
        "Kiwi",
        "Plum",
        "Fig",
    ]
    assert classes_of_headings(Counter(["is_fig", "is_kiwi"]), ["kiwi", "plum", "fig"]).classes == [
        "is_kiwi",
        "is_plum",
        "is_fig",
    ]


def test_several_spellings_of_a_label_are_one_class(tmp_path):
    (tmp_path / "s.csv").write_text("ant,bee,label\n1,2,Bee\n2,1,ant\n1,2,bee\n1,3,BEE\n3,1,Ant\n")
    with pytest.warns(UserWarning, match=r"are taken for it: 'Bee' as 'bee', 'BEE' as 'bee', 'Ant' as 'ant'\."):
        assert read_scores(str(tmp_path / "s.csv")).labels.tolist() == ["bee", "ant", "bee", "bee", "ant"]


@pytest.mark.parametrize(
    ("names", "headings"),
    [
        (["apple", "fig"], ["logit_apple", "logit_fig", "p_apple", "p_fig"]),  # which?
        (["apple", "fig"], ["logit_apple", "p_fig"]),
        (["a", "b"], ["A", "B", "a ", "b "]),
        (["0", "1"], ["10", "11"]),
        (["1", "2"], ["0.1", "0.2"]),
    ],
)
def test_what_is_not_clear_is_not_matched(names, headings):
    assert find_headings(names, headings) is None


def test_numbered_columns_in_order_are_taken_as_ever_and_others_by_their_numbers(samples, tmp_path):
    logits, codes = samples
    for headings, labels in ((["x0", "x1", "x2", "x3", "x4"], codes), (["x1", "x2", "x3", "x4", "x5"], codes)):
        table = {name: logits[:, j] for j, name in enumerate(headings)}
        scores = read_scores(write_table(tmp_path / "s.csv", table | {"label": labels}))
        assert scores.classes.tolist() == [0, 1, 2, 3, 4]
    table = {f"x{number}": logits[:, j] for j, number in enumerate([3, 0, 4, 1, 2])}
    path = write_table(tmp_path / "s.csv", table | {"label": np.array([3, 0, 4, 1, 2])[codes]})
    with pytest.warns(UserWarning, match="with 'x' before each: x3, x0, x4, x1, x2 are used as 3, 0, 4, 1, 2"):
        assert read_scores(path).classes.tolist() == [3, 0, 4, 1, 2]


def test_classes_that_are_given_find_their_columns_too(samples, tmp_path):
    path = write(tmp_path / "s.csv", samples, ["logit_" + name for name in FRUIT], str)
    with pytest.warns(UserWarning, match="called like the classes with 'logit_' before each"):
        scores = read_scores(path, ReadOptions(classes=tuple(sorted(FRUIT))))
    np.testing.assert_array_equal(scores.logits, samples[0][:, np.argsort(FRUIT)])


def test_a_head_finds_columns_that_are_called_nearly_as_at_its_fit(samples, tmp_path):
    logits, codes = samples
    head = SPHClassifier(min_gain=-1.0, classes=FRUIT).fit(logits, np.array(FRUIT)[codes])
    turned = logits[:, ::-1]
    for name, headings, says in (
        ("a", map(str.upper, FRUIT), "but for case"),
        ("b", ["p_" + one for one in FRUIT], "'p_' before each"),
    ):
        path = write_table(tmp_path / f"{name}.csv", {one: turned[:, j] for j, one in enumerate(list(headings)[::-1])})
        with pytest.warns(UserWarning, match=f"called like the classes.* {says}"):
            read, _ = read_for_head(head, path, ReadOptions())
        np.testing.assert_array_equal(read, logits)


def test_the_parts_of_a_folder_find_theirs(samples, tmp_path):
    logits, codes = samples
    head = SPHClassifier(min_gain=-1.0, classes=FRUIT).fit(logits, np.array(FRUIT)[codes])
    (tmp_path / "scores").mkdir()
    headings = [name.upper() for name in FRUIT[::-1]]
    write_table(tmp_path / "scores" / "0.parquet", dict(zip(headings, logits[:, ::-1].T, strict=True)))
    with pytest.warns(UserWarning, match="but for case"):
        predict(head, tmp_path / "scores")
    found = parquet.read_table(tmp_path / "predictions" / "0.parquet")["predicted"].to_pylist()
    assert found == head.predict(logits).tolist()


def test_labels_of_new_samples_may_be_spelt_otherwise_too(samples, tmp_path):
    logits, codes = samples
    head = SPHClassifier(min_gain=-1.0, classes=FRUIT).fit(logits, np.array(FRUIT)[codes])
    path = write(tmp_path / "s.csv", samples, FRUIT, str.title)
    with pytest.warns(UserWarning, match="differ from a class in case or white space only"):
        assert read_for_check(head, path, ReadOptions()).labels.tolist() == [FRUIT[code] for code in codes]
