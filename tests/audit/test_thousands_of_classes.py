"""An audit of 6,623 classes prints a page, and has all of them as data."""

import json

import pytest

from helpers.thousands import CHARACTERS, audited_characters


@pytest.fixture(scope="module")
def found():
    return audited_characters()[0]


def test_what_is_printed_is_as_short_as_for_few_classes(found):
    text = str(found)
    assert len(text.splitlines()) < 60
    assert max(map(len, text.splitlines())) < 250
    assert f"{CHARACTERS - 15:,} others" in text
    assert f"and {CHARACTERS - 5:,} others" in text  # of the class proportions


def test_the_table_has_the_largest_changes_and_sums_the_others(found):
    lines = next(part for part in str(found).split("\n\n") if part.startswith("class ")).splitlines()
    counts = [[int(number.replace(",", "")) for number in line.split()[-5:]] for line in lines[1:]]
    net = [one[-1] for one in counts[:-1]]
    changes = [one.net for one in found.by_class]
    assert net[0] == max(changes)
    assert net[-1] == min(changes) < 0
    assert [sum(column) for column in zip(*counts, strict=True)][1:4] == [found.errors[0], found.wins, found.losses]


def test_all_classes_are_there_as_data(found):
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert len(plain["by_class"]) == len(plain["classes"]) == len(plain["class_shares"]) == CHARACTERS
    assert sum(one["wins"] for one in plain["by_class"]) == found.wins
