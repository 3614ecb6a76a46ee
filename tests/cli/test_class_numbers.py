"""A number for each class on the command line."""

import numpy as np
import pytest

from aftermax._cli.class_numbers import class_weight, numbers_by_class

ANIMALS = np.array(["cat", "dog", "a=b", "none, or both"])


def test_weights_are_none_balanced_or_a_number_for_each_class():
    assert class_weight(None, ANIMALS) is None
    assert class_weight("balanced", ANIMALS) == "balanced"
    assert class_weight("cat=5,dog=0.5", ANIMALS) == {"cat": 5.0, "dog": 0.5}
    assert class_weight('a=b=2,"none, or both=3"', ANIMALS) == {"a=b": 2.0, "none, or both": 3.0}


def test_classes_have_the_type_of_the_labels():
    assert numbers_by_class("--class-prior", "0=0.25, 1=0.75", np.array([0, 1])) == {0: 0.25, 1: 0.75}
    assert numbers_by_class("--class-prior", "0=1", np.array(["0", "x"])) == {"0": 1.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("even", "--class-weight has 'even': write the name of a class, = and a number for each, as .* Or write bal"),
        ("cat", "--class-weight has 'cat': write"),
        ("cat=x", "--class-weight has 'cat=x': write"),
        ("=3", "--class-weight has '=3': write"),
        ("", "--class-weight has '': write"),
        ("owl=3", "--class-weight names 'owl', which is no class: there are cat, dog, a=b, none, or both"),
        ("cat=3,cat=4", "--class-weight names 'cat' more than once: name each class once"),
    ],
)
def test_a_text_that_cannot_be_read_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        class_weight(text, ANIMALS)
