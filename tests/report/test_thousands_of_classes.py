"""A report on 6,623 classes: small, quick to open, and any class can be found."""

import json
import re
import tracemalloc

import numpy as np
import pytest

from aftermax import ResponseArray, audit
from aftermax._utils.text import fewer_count, percent
from aftermax.report import html_report
from aftermax.report._response_data import MAX_PICKED_CLASSES, MAX_UNITS
from aftermax.report._tables import MAX_LISTED_CLASSES
from helpers.report_pages import cells, number
from helpers.thousands import CHARACTERS, KnownPredictions, audited_characters, character_samples, characters


@pytest.fixture(scope="module")
def found():
    return audited_characters()


@pytest.fixture(scope="module")
def text(found):
    return html_report(*found)


def embedded(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text)[1])


def test_the_file_is_small_and_holds_every_class(text, found):
    assert len(text.encode()) < 600_000
    assert max(map(len, text.split("<"))) < 500_000  # the data
    data = embedded(text)
    assert data["allClasses"]["names"] == list(found[0].classes)
    assert sum(data["allClasses"]["wins"]) == found[0].wins
    assert text.count("<tr>") < MAX_LISTED_CLASSES + 50


def test_the_charts_have_the_largest_changes_only(text):
    data = embedded(text)
    assert len(data["classes"]) == 15
    assert data["otherClasses"][0]["name"] == f"{CHARACTERS - 15:,} others"
    assert len(data["responses"]["classes"]) == MAX_PICKED_CLASSES
    assert max(len(one.get("units", [])) for one in data["responses"]["classes"]) == MAX_UNITS


def test_where_nothing_changes_the_classes_with_most_errors_are_listed():
    logits, codes, _ = character_samples(n_classes=500, n_samples=600)
    names = characters(500)
    head = KnownPredictions(logits.argmax(axis=1), names)
    text = html_report(audit(logits, names[codes], head, classes=names), logits, names[codes])
    assert f"The {MAX_LISTED_CLASSES} of 500 classes with the most errors; the 300 others have " in text


def test_the_response_array_is_that_of_the_classes_that_can_be_picked(text, found):
    result, logits, labels = found
    data = embedded(text)["responses"]
    picked = [one["class"] for one in data["classes"]]
    of_pairs = {name for pair in (*result.pairs, *result.tangled) for name in (pair.true, pair.taken_for)}
    names = np.array(result.classes)[picked]
    assert of_pairs <= set(names)
    some = np.isin(labels, names)
    array = ResponseArray.fit(logits[some][:, picked], labels[some], classes=names)
    separation = array.separation()
    for row in (0, 10, 100):
        one = data["classes"][row]
        units = [picked.index(unit) for unit in one["units"]]
        assert one["samples"] == array.counts[row]
        assert one["center"] == [float(f"{value:.4g}") for value in array.center[row, units]]
        assert one["separation"] == [float(f"{value:.4g}") for value in separation[row, units]]


def test_it_takes_no_table_of_all_pairs_of_classes():
    few = audited_characters(n_samples=200)
    html_report(*few)  # what is compiled or imported once does not count
    tracemalloc.start()
    html_report(*few)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < CHARACTERS**2


@pytest.mark.browser
def test_any_class_can_be_found_by_its_name(opened, found):
    page = opened(*found)
    assert len(cells(page, "classes")) == MAX_LISTED_CLASSES
    assert f"The {MAX_LISTED_CLASSES} of {CHARACTERS:,} classes that change most" in status(page)
    at_first = cells(page, "classes")
    for one in (found[0].by_class[1], found[0].by_class[-1]):
        page.get_by_label("Find a class").fill(one.name)
        recalls = ["" if np.isnan(recall) else percent(recall) for recall in one.recall]
        rows, errors, wins, losses = (f"{count:,}" for count in one[1:])
        expected = [one.name, rows, errors, fewer_count(one.net), *recalls, wins, losses]
        assert cells(page, "classes") == [expected]
        assert status(page) == f"1 of {CHARACTERS:,} classes has this in its name. "
    page.get_by_label("Find a class").fill("no such class")
    assert cells(page, "classes") == []
    assert status(page) == f"No class has this in its name; there are {CHARACTERS:,}."
    page.keyboard.press("Escape")
    assert cells(page, "classes") == at_first


@pytest.mark.browser
def test_all_classes_are_sorted_and_not_only_those_that_were_listed(opened, found):
    page = opened(*found)
    by_class = found[0].by_class
    page.get_by_role("button", name="errors", exact=True).click()
    most = sorted((one.errors for one in by_class), reverse=True)[:MAX_LISTED_CLASSES]
    assert [number(line[2]) for line in cells(page, "classes")] == most
    assert status(page) == f"All {CHARACTERS:,} classes are sorted. The first {MAX_LISTED_CLASSES} are listed."
    page.get_by_role("button", name="change", exact=True).click()
    page.get_by_role("button", name="change", exact=True).click()
    worst = sorted(one.net for one in by_class)[:MAX_LISTED_CLASSES]
    assert [line[3] for line in cells(page, "classes")] == list(map(fewer_count, worst))
    page.get_by_label("Find a class").fill(found[0].classes[5_000])
    assert [line[0] for line in cells(page, "classes")] == [found[0].classes[5_000]]


@pytest.mark.browser
def test_a_name_that_is_the_same_comes_before_names_that_begin_so_or_hold_it(opened, many):
    page = opened(*many)
    page.get_by_label("Find a class").fill("7")
    names = [line[0] for line in cells(page, "classes")]
    assert names[0] == "7"
    assert set(names[1:11]) == {str(number) for number in range(70, 80)}
    assert set(names[11:]) == {str(number) for number in range(17, 100, 10)} - {"77"}
    assert status(page).startswith("19 of 100 classes have this in their names.")


@pytest.mark.browser
def test_a_few_classes_need_no_search(opened, digits):
    page = opened(*digits)
    assert page.locator("input[type=search]").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 1400])
def test_nothing_is_wider_than_the_screen(width, opened, found):
    page = opened(*found, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.get_by_label("Find a class").is_visible()


def status(page):
    return page.locator("#class-status").text_content()
