"""In a browser: the responses of the picked class are its row of the response array."""

import re

import numpy as np
import pytest

from aftermax import ResponseArray
from aftermax.report._response_data import MAX_UNITS
from helpers.report_pages import cells, number

pytestmark = pytest.mark.browser


def read_responses(page):
    """Unit, center, left, right and separation of each line of the chart, from its tooltips by keyboard."""
    page.locator("#response-chart").focus()
    page.keyboard.press("Home")
    read = []
    for _ in range(page.locator("#response-chart g").count()):
        text = page.locator("#response-chart .tooltip").text_content()
        name, numbers = re.match(r"Unit (.*?)(?: \(own\))?\ncenter ", text)[1], re.findall(r"-?\d[\d.e+-]*", text)
        center, left, right, separation = map(number, numbers[-4:])
        read.append((name, "(own)" in text, center, left, right, separation))
        page.keyboard.press("ArrowDown")
    return read


@pytest.mark.parametrize(("case", "picked"), [("digits", [3, 8]), ("animals", ["bee", "eel"])])
def test_the_picked_class_shows_its_row_of_d(case, picked, opened, request):
    found, logits, labels = request.getfixturevalue(case)
    page = opened(found, logits, labels)
    array = ResponseArray.fit(logits, labels, classes=found.classes)
    apart = array.separation()
    for name in picked:
        page.locator("#class").select_option(label=str(name))
        row = found.classes.index(name)
        assert f"of class {name}" in page.locator("#response-title").text_content()
        expected = [
            (
                str(unit),
                unit == name,
                *(float(f"{part[row, j]:.4g}") for part in (array.center, array.left, array.right, apart)),
            )
            for j, unit in enumerate(found.classes)
        ]
        assert read_responses(page) == expected
        assert page.locator("#response-chart text.own").all_text_contents() == [str(name)]


def test_of_a_hundred_units_the_ones_that_separate_best_are_drawn(opened, many):
    found, logits, labels = many
    page = opened(found, logits, labels)
    apart = ResponseArray.fit(logits, labels, classes=found.classes).separation()
    page.locator("#class").select_option(label="42")
    shown = read_responses(page)
    others = [unit for unit in np.argsort(-apart[42], kind="stable") if unit != 42][: MAX_UNITS - 1]
    assert [int(one[0]) for one in shown] == [42, *others]
    assert f"the {MAX_UNITS - 1} of 100 units" in page.locator("#response-note").text_content()
    page.locator("#class").select_option(label="7 (no samples)")
    assert "no samples of this class" in page.locator("#response-chart").text_content()
    assert len(cells(page, "classes")) == 100
