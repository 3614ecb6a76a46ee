"""Values from a file that anyone may have written."""

import math

import numpy as np
import pytest

from aftermax._utils.untrusted import Arrays, count, fields, flag, label, number, one_of, some, texts


def test_values_of_the_expected_form_are_returned():
    assert fields({"a": 1}, ["a"], "it") == {"a": 1}
    assert some([1, 2], 2, "it") == [1, 2]
    assert texts(["a"], 1, "it").tolist() == ["a"]
    assert one_of(None, ("a", None), "it") is None
    assert label("cat", "it") == "cat"
    assert flag(True, "it") is True
    assert count(3, "it") == 3
    assert number(2, "it", 0, 2) == 2.0
    assert number(math.inf, "it", infinite=True) == math.inf
    assert math.isnan(number(math.nan, "it", 0, 1, unknown=True))


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: fields(None, None, "the head"), "the head is missing"),
        (lambda: fields({"a": 1}, ["b"], "the head"), "the head has missing or unknown fields: 'a', 'b'"),
        (lambda: some([1], 2, "the list"), "the list is not a list of 2"),
        (lambda: texts(["a", 1], 2, "the list"), "the list holds something other than strings"),
        (lambda: one_of("b", ("a",), "the kind"), "the kind is 'b', which is not known"),
        (lambda: one_of(["a"], (["a"],), "the kind"), "which is not known"),
        (lambda: label([], "the list"), r"the list names \[\], which is not a class"),
        (lambda: flag(1, "weighted"), "weighted is 1: true or false is needed"),
        (lambda: count(True, "the size"), "the size is True: an integer of at least 0 is needed"),
        (lambda: count(2**63, "the size"), "an integer of at least 0 is needed"),
        (lambda: number("1", "the gain"), "the gain is '1': a number is needed"),
        (lambda: number(2, "the gain", 0, 1), "the gain is 2.0, which is out of range"),
        (lambda: number(0, "the width", 0, positive=True), "the width is 0.0, which is out of range"),
        (lambda: number(10**400, "the gain"), "the gain is inf, which is out of range"),
        (lambda: number(math.nan, "the gain"), "the gain is nan, which is out of range"),
    ],
)
def test_other_values_are_refused(check, message):
    with pytest.raises(ValueError, match=message):
        check()


def test_arrays_are_taken_once_and_none_may_be_left():
    arrays = Arrays({"a": np.ones((2, 3)), "classes": np.array(["x", "y"])})
    with pytest.raises(ValueError, match="it holds arrays that do not belong to such a head: a, classes"):
        arrays.all_taken()
    assert arrays.take("a", (2, None), positive=True).shape == (2, 3)
    assert arrays.classes("classes", objects=False).tolist() == ["x", "y"]
    arrays.all_taken()
    with pytest.raises(ValueError, match="the array a is missing"):
        arrays.take("a", (2, 3))
