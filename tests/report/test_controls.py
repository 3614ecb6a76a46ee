"""In a browser: mouse, touch and keyboard."""

import pytest

from aftermax._utils.text import fewer_count
from aftermax.report import write_report
from helpers.report_pages import cells, certainties, number, tooltip_of

pytestmark = pytest.mark.browser

TOUCH = {"has_touch": True, "is_mobile": True, "viewport": {"width": 380, "height": 800}}


def tab_to(page, name):
    """Press Tab until the element of that id has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == name:
            return
    raise AssertionError(f"Tab does not lead to {name}")


def test_tables_are_sorted_by_click_and_by_key(opened, digits):
    found, logits, labels = digits
    page = opened(found, logits, labels)

    def column(place):
        return [number(line[place]) for line in cells(page, "classes")]

    nets = sorted((one.net for one in found.by_class), reverse=True)
    assert [line[3] for line in cells(page, "classes")] == list(map(fewer_count, nets))
    page.get_by_role("button", name="samples", exact=True).click()
    assert column(1) == sorted((one.rows for one in found.by_class), reverse=True)
    page.get_by_role("button", name="samples", exact=True).press("Enter")
    assert column(1) == sorted(one.rows for one in found.by_class)
    page.get_by_role("button", name="class", exact=True).press("Space")
    assert column(0) == list(range(10))
    orders = page.eval_on_selector_all("#classes th", "heads => heads.map(head => head.getAttribute('aria-sort'))")
    assert orders == ["ascending", *["none"] * 7]


def test_the_keyboard_alone_can_do_everything(opened, gated):
    found, logits, labels = gated
    page = opened(found, logits, labels)
    tab_to(page, "theme")
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    tab_to(page, "class-chart")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    first = page.locator("#class-chart .tooltip").text_content()
    page.keyboard.press("ArrowDown")
    assert page.locator("#class-chart .tooltip").text_content() not in ("", first)
    page.keyboard.press("Escape")
    assert page.locator("#class-chart .tooltip").text_content() == ""
    tab_to(page, "gate")
    page.keyboard.press("Home")
    for _ in range(110):
        page.keyboard.press("ArrowRight")
    below = int((certainties(logits) < 0.55).sum())
    assert page.locator("#pooled-samples").text_content().startswith(f"{below} of 200")
    assert page.locator("#gate").get_attribute("aria-valuetext").startswith(f"0.550: {below} of 200")
    tab_to(page, "class")
    page.keyboard.press("d")
    assert "class dog" in page.locator("#response-title").text_content()


def test_hovering_shows_the_counts_of_a_class_and_of_a_pair(opened, digits):
    found, logits, labels = digits
    page = opened(found, logits, labels)
    best = max(found.by_class, key=lambda one: (one.net, -one.losses, one.errors))
    page.locator("#class-chart g").first.hover()
    text = tooltip_of(page, "class-chart")
    assert text.startswith(f"{best.name}\n{best.rows} samples, {best.errors} errors by softmax")
    assert f"wins {best.wins}, losses {best.losses}" in text
    pair = found.pairs[0]
    page.locator("#pair-chart g").first.hover()
    text = tooltip_of(page, "pair-chart")
    assert text.startswith(f"{pair.true}, predicted as {pair.taken_for}\nby softmax: {pair.before} sample")
    page.mouse.move(1, 1)
    assert tooltip_of(page, "pair-chart", empty=True) == ""


def test_everything_has_a_name_for_screen_readers(opened, digits):
    page = opened(*digits)
    unnamed = """[...document.querySelectorAll('svg, .chart, input, select, button, .scroll[tabindex]')].filter(one =>
        !one.getAttribute('aria-label') && !one.labels?.length && !one.textContent
        && !document.getElementById(one.getAttribute('aria-labelledby')))"""
    assert page.evaluate(f"{unnamed}.map(one => one.outerHTML)") == []
    assert page.locator("svg[role=img]").count() == page.locator("svg").count() == 6
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("h1").count() == 1


def test_a_tap_shows_values_until_the_next_tap(new_page, gated, tmp_path):
    write_report(tmp_path / "report.html", *gated)
    page = new_page(**TOUCH)
    page.goto((tmp_path / "report.html").as_uri())
    page.locator("#class-chart g").nth(0).tap()
    first = tooltip_of(page, "class-chart")
    page.wait_for_timeout(100)
    assert tooltip_of(page, "class-chart") == first
    page.locator("#class-chart g").nth(1).tap()
    assert tooltip_of(page, "class-chart", other_than=first) != first
    page.locator("h2").first.tap()
    assert tooltip_of(page, "class-chart", empty=True) == ""
    assert not page.locator("#gate-help").is_visible()  # there are no arrow keys


def test_the_glossary_opens_on_a_click(opened, animals):
    page = opened(*animals)
    explained = page.locator("details dd").first
    assert not explained.is_visible()
    page.get_by_text("In plain words").click()
    assert explained.is_visible()
    terms = " ".join(page.locator("details dt").all_text_contents())
    for term in ("Softmax", "Head", "Wins", "p-value", "interval", "Out-of-fold", "Log loss"):
        assert term in terms
    for term in ("SPH", "Pooled", "Response unit", "Spread"):
        assert term in terms
