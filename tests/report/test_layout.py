"""In a browser: colours, widths and what is visible."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from aftermax import audit
from aftermax.report import html_report, write_report
from helpers.report_pages import hostile_audit
from helpers.samples import make_samples

pytestmark = pytest.mark.browser


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_light_and_dark_follow_the_system_and_the_button(opened, animals):
    light, dark = opened(*animals), opened(*animals, scheme="dark")
    assert background(light) != background(dark)
    as_light = background(light)
    light.locator("#theme").click()
    assert background(light) == background(dark)
    dark.locator("#theme").click()
    assert background(dark) == as_light
    light.reload()
    assert background(light) == as_light  # nothing is remembered
    assert light.evaluate("localStorage.length + sessionStorage.length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(scheme, opened, animals):
    page = opened(*animals, scheme=scheme)
    value = "name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()"
    colours = ("page", "surface", "text", "muted", "head", "warning", "warning-surface")
    found = {name: luminance(page.evaluate(value, f"--{name}")) for name in colours}
    pairs = [(front, behind) for front in ("text", "muted", "head") for behind in ("page", "surface")]
    for front, behind in [*pairs, ("text", "warning-surface"), ("warning", "warning-surface")]:
        low, high = sorted([found[front], found[behind]])
        assert (high + 0.05) / (low + 0.05) >= 4.5, (front, behind)


def luminance(colour):
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return float(np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("case", ["digits", "many", "hostile"])
def test_nothing_is_wider_than_the_screen(case, width, opened, request):
    page = opened(*(hostile_audit() if case == "hostile" else request.getfixturevalue(case)), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    outside = """[...document.querySelectorAll('svg text')].filter(one => {
        const box = one.getBoundingClientRect(), edge = one.ownerSVGElement.getBoundingClientRect();
        return box.left < edge.left - 1 || box.right > edge.right + 1})"""
    assert page.evaluate(f"{outside}.map(one => one.textContent)") == []


@pytest.mark.parametrize("case", ["digits", "animals", "gated"])
def test_on_a_phone_nothing_is_scrolled_sideways_not_even_a_table(case, opened, request):
    page = opened(*request.getfixturevalue(case), width=400)
    wider = "[...document.querySelectorAll('body, .scroll')].filter(one => one.scrollWidth > one.clientWidth)"
    assert page.evaluate(f"{wider}.map(one => one.outerHTML.slice(0, 200))") == []
    outside = "[...document.querySelectorAll('td, th')].filter(one => one.scrollWidth > one.clientWidth + 1)"
    assert page.evaluate(f"{outside}.map(one => one.textContent)") == []


def test_on_a_narrow_screen_pairs_have_two_lines_and_columns_show_that_they_can_be_sorted(opened):
    logits, labels = make_samples(seed=1, n_samples=200)
    names = np.array(["cardiomegaly", "effusion", "infiltration", "no finding", "pneumonia"])
    page = opened(audit(logits, names[labels], GaussianNB(), cv=2), logits, names[labels], width=380)
    written = page.locator("#pair-chart text:not(.axis)").all_text_contents()
    assert {word.removeprefix("→ ") for line in written for word in line.split(" → ")} <= set(names)
    assert any(line.startswith("→ ") for line in written)
    arrow = "heads => heads.map(head => getComputedStyle(head, '::after').content)"
    assert "none" not in page.eval_on_selector_all("th button", arrow)


def test_on_a_phone_each_number_of_a_wide_table_says_what_it_is(opened, animals):
    page = opened(*animals, width=400)
    labels = "cells => cells.map(cell => getComputedStyle(cell, '::before').content)"
    numbers = page.locator("#classes tbody tr").first.locator("td:not(.text)")
    headings = page.locator("#classes th").all_text_contents()[1:]
    assert numbers.evaluate_all(labels) == [f'"{heading}"' for heading in headings]
    page.set_viewport_size({"width": 1280, "height": 800})
    assert numbers.evaluate_all(labels) == ["none"] * len(headings)


def test_charts_are_redrawn_when_the_window_is_narrowed(opened, animals):
    page = opened(*animals, width=1400)
    page.set_viewport_size({"width": 360, "height": 800})
    page.wait_for_function("document.querySelector('#response-chart svg').viewBox.baseVal.width < 360")
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_without_scripts_the_verdict_and_the_tables_are_there(new_page, animals, tmp_path):
    found, logits, labels = animals
    write_report(tmp_path / "report.html", found, logits, labels)
    page = new_page(java_script_enabled=False)
    page.goto((tmp_path / "report.html").as_uri())
    assert page.locator("#verdict").text_content() == found.verdict
    assert page.locator("#classes tbody tr").count() == 5
    assert "The charts need JavaScript" in page.locator("noscript").inner_text()


def test_warnings_are_well_visible_below_the_verdict(opened, animals):
    found, logits, labels = animals
    assert 'class="warnings"' not in html_report(found, logits, labels)
    found = replace(found, warnings=("a class is <b>rare</b>.", "columns are in disorder."))
    page = opened(found, logits, labels)
    assert page.locator(".warnings li").all_text_contents() == list(found.warnings)
    assert page.locator("#verdict + .warnings").count() == 1
    box = page.locator(".warnings").bounding_box()
    assert box["y"] + box["height"] < 800  # of the first screen
