"""The report in a real browser: its numbers are the audit's, its controls do what they say, and nothing leaks."""

import json
import re
import shutil
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from aftermax import AutoHead, ResponseArray, SPHClassifier, SPHClassifierCV, audit
from aftermax._audit.result import better_and_worse, rows_to_be_sure
from aftermax._utils.softmax import softmax
from aftermax._utils.text import fewer, fewer_between, fewer_count, percent
from aftermax.data import load_vmnist
from aftermax.report import html_report, write_report
from aftermax.report._chart_data import MOST_ROWS, MOST_UNITS
from aftermax.report._tables import MOST_LISTED
from helpers.samples import make_samples

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NASTY = np.array(
    [
        "</script><script>document.title = 'broken in'</script>",
        '"><img src=x onerror="document.title = 1">',
        "<!-- </script / & &amp; $verdict ${data}",
        "mü \u2028 \u202e \ud800",
        "a very long name of a class, as they come in medicine: adenocarcinoma_of_the_oesophagogastric_junction" * 2,
    ]
)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("the browser chromium is not installed")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Open a report as a colleague would, and see afterwards that it was quiet: no error, no other file, no network."""
    said, asked, pages = [], [], []

    def open_page(found, logits, labels, width=1000, scheme="light", **settings):
        write_report(tmp_path / "report.html", found, logits, labels, **settings)
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page.set_default_timeout(5000)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto((tmp_path / "report.html").as_uri())
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert said == []
    assert {address for address in asked if not address.startswith("data:")} == {(tmp_path / "report.html").as_uri()}


@pytest.fixture(scope="module")
def digits():
    scores = load_vmnist(trained_on=500)
    logits, labels = scores.val_logits[:400], scores.val_labels[:400]
    return audit(logits, labels, AutoHead(cv=2)), logits, labels


@pytest.fixture(scope="module")
def animals():
    """Five classes with names, and a head that is cross-validated."""
    logits, labels = make_samples(seed=1, rows=200)
    labels = np.array(["ant", "bee", "cat", "dog", "eel"])[labels]
    return audit(logits, labels, GaussianNB(), cv=3), logits, labels


@pytest.fixture(scope="module")
def many():
    """A hundred classes, of which one has no rows."""
    logits, labels = make_samples(seed=3, rows=600, size=100, home=4.0)
    kept = labels != 7
    logits, labels = logits[kept], labels[kept]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return audit(logits, labels, GaussianNB(), classes=np.arange(100), cv=3), logits, labels


def certainties(logits):
    return softmax(np.asarray(logits, dtype=float)).max(axis=1)


def cells(page, table):
    """The text of each cell of a table's body."""
    return page.eval_on_selector_all(
        f"#{table} tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )


def tab_to(page, name):
    """Press Tab until the element of that id has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == name:
            return
    raise AssertionError(f"Tab does not lead to {name}")


def number(text):
    return float(text.replace(",", ""))


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_the_verdict_comes_first_and_every_figure_is_the_audits(opened, digits):
    found, logits, labels = digits
    page = opened(found, logits, labels)
    assert page.locator("#verdict").text_content() == found.verdict
    assert page.locator("main").text_content().strip().startswith(found.verdict)
    lines = page.eval_on_selector_all(".figures tr", "rows => rows.map(row => row.cells[1].textContent)")
    assert lines == [
        "400",
        "10",
        f"{found.errors[0]} ({percent(found.error_before)})",
        f"{found.errors[1]} ({percent(found.error_after)})",
        fewer(found.gain),
        fewer_between(*found.gain_interval),
        str(found.wins),
        str(found.losses),
        f"{found.p_value:.2g}" if found.p_value >= 0.0001 else "< 0.0001",
        f"{found.head_p_value:.2g}" if found.head_p_value >= 0.0001 else "< 0.0001",
        rows_to_be_sure(found),
        "combination: several corrections of the model's scores, weighed against each other",
    ]
    tiles = page.locator(".tile .number").all_text_contents()
    assert tiles == [percent(found.error_before), percent(found.error_after), fewer(found.gain), _wins(found)]
    assert page.locator("#changes").text_content() == better_and_worse(found)
    assert page.locator("#size").text_content() == "400 labelled rows, 10 classes"


def _wins(found):
    return f"{found.wins} : {found.losses}"


def test_every_table_has_the_audits_counts(opened, digits):
    found, logits, labels = digits
    page = opened(found, logits, labels)
    expected = [
        [*map(str, one[:3]), fewer_count(one.net), *map(percent, one.recall), *map(str, one[3:])]
        for one in found.by_class
    ]
    assert sorted(cells(page, "classes")) == sorted(expected)
    assert cells(page, "pairs") == [
        [str(one.true), str(one.taken_for), str(one.before), str(one.after), fewer_count(one.before - one.after)]
        for one in [*found.pairs, *found.tangled]
    ]
    tried = cells(page, "candidates")
    assert len(tried) == len(found.candidates)
    for line, one in zip(tried, found.candidates.values(), strict=True):
        assert line[0].startswith(one.name)
        assert ("chosen" in line[0]) == (one.name == found.chosen)
        assert line[1] == percent(one.error)
        if one.name != "softmax":
            assert line[2] == fewer(one.gain) + fewer_between(*one.gain_interval)
            assert line[3:5] == [str(one.wins), str(one.losses)]
        assert line[5] == ("" if np.isnan(one.log_loss) else f"{one.log_loss:.3f}")


def test_where_softmax_stays_the_page_says_so_and_calls_nothing_the_heads(opened):
    logits, labels = make_samples(seed=5, rows=200, home=6.0)
    logits[:6] = np.roll(logits[:6], 1, axis=1)  # a few errors
    found = audit(logits, labels, AutoHead(cv=2))
    assert found.chosen == "softmax"
    page = opened(found, logits, labels)
    assert page.locator("#verdict").text_content() == found.verdict
    assert "Error by the best candidate" in page.locator(".tiles").text_content()
    method = page.locator(".method").last.text_content()
    assert "It keeps softmax." in method
    assert "divided into 2 folds" in method


def test_an_audit_without_errors_or_changes_is_shown_too(opened):
    labels = np.arange(40) % 2
    logits = np.eye(2)[labels] * 8
    page = opened(audit(logits, labels, LogisticRegression(), cv=2), logits, labels)
    tiles = page.locator(".tile").all_text_contents()
    assert tiles[2] == "Change in errorsnone to takesoftmax makes no errors"
    assert "100.0 %" not in "".join(tiles)
    assert page.locator("#pair-picture").count() == 0
    assert "No pair of classes is confused more often or less often" in page.locator("main").text_content()
    page.locator("#gate").fill("1")
    assert page.locator("#pooled-rows").text_content() == "40 of 40 (100.0 %)"
    assert page.locator("#pooled-share").text_content() == "0 of 0"


# ---- the gate --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["digits", "animals", "many"])
def test_the_gate_counts_exactly_the_rows_below_it(case, opened, request):
    found, logits, labels = request.getfixturevalue(case)
    page = opened(found, logits, labels)
    certainty = certainties(logits)
    wrong = np.asarray(found.classes)[logits.argmax(axis=1)] != labels
    for gate in (0.0, 0.3, 0.505, 0.7, 0.9, 0.995, 1.0):
        page.locator("#gate").fill(str(gate))
        below = certainty < gate
        pooled, errors = below.sum(), (below & wrong).sum()
        assert page.locator("#gate-value").text_content() == f"{gate:.3f}"
        among = f" ({percent(errors / pooled)})" if pooled else ""
        assert page.locator("#pooled-rows").text_content() == f"{pooled} of {len(labels)} ({percent(below.mean())})"
        assert page.locator("#pooled-errors").text_content() == f"{errors} of {pooled}{among}"
        assert page.locator("#pooled-share").text_content() == (
            f"{errors} of {wrong.sum()} ({percent(errors / wrong.sum())})"
        )


def test_a_row_exactly_at_the_gate_is_not_pooled(opened):
    logits = np.array([[3.0, 3.0], [0.0, 0.1], [1.0, 0.0], [-400.0, 400.0]]).repeat(5, axis=0)
    labels = np.array([0, 1, 0, 1]).repeat(5)  # certainties 0.5, 0.525, 0.731 and 1
    page = opened(audit(logits, labels, GaussianNB(), cv=2), logits, labels)
    for gate, pooled in ((0.5, 0), (0.505, 5), (0.53, 10), (0.735, 15), (1.0, 15)):
        page.locator("#gate").fill(str(gate))
        assert page.locator("#pooled-rows").text_content().startswith(f"{pooled} of 20"), gate


@pytest.mark.parametrize("head", [SPHClassifier(certainty=0.6), SPHClassifierCV({"certainty": [0.6]}, cv=2, alpha=1)])
def test_the_gate_starts_at_the_heads_own_if_it_has_one(head, opened):
    logits, labels = make_samples(seed=1, rows=200)
    logits += np.array([2, -1, 0, 1, -2])
    page = opened(audit(logits, labels, head), logits, labels)
    assert page.locator("#gate").input_value() == "0.6"
    assert "The gate of the head audited here is 0.6." in page.locator("main").text_content()


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (SPHClassifier(certainty=0.0), "The gate of the head audited here is 0: it pools no row."),
        (SPHClassifierCV({"certainty": [0.6]}, cv=2, alpha=0.0), "is 0: it pools no row."),
        (AutoHead(cv=2, alpha=0.0), "Only SPH has a gate; here softmax stays, and no row is pooled."),
        (GaussianNB(), "Only SPH has a gate: other heads, as the one audited here, look at every row."),
    ],
)
def test_the_page_says_where_there_is_no_gate(head, words):
    logits, labels = make_samples(seed=1, rows=200)
    page = html_report(audit(logits, labels, head), logits, labels)
    assert words in page
    assert '"gate":{"start":0.9,' in page
    gate, responses = (page.index(f"<h2>{title}</h2>") for title in ("How certain softmax is", "The response array"))
    assert (gate > responses) == words.startswith("Only SPH")  # last where it is of no use


def test_the_page_says_of_how_many_rows_softmax_is_uncertain(animals):
    found, logits, labels = animals
    below = int((certainties(logits) < 0.5).sum())
    assert below > 0
    assert f"less than half certain of {below} of the 200 rows." in html_report(found, logits, labels)
    certain = 30 * np.eye(5)[logits.argmax(axis=1)]
    assert "Softmax is at least half certain of every row." in html_report(found, certain, labels)


def test_settings_changed_after_the_fit_do_not_move_the_gate():
    logits, labels = make_samples(seed=1, rows=200)
    found = audit(logits, labels, SPHClassifier(certainty=0.6))
    found.head.set_params(certainty=0.3)
    assert '"gate":{"start":0.6,' in html_report(found, logits, labels)


def test_the_bars_of_the_histogram_hold_all_rows_and_errors(opened, digits):
    found, logits, labels = digits
    page = opened(found, logits, labels)
    certainty, wrong = certainties(logits), logits.argmax(axis=1) != labels
    page.locator("#certainty-picture").focus()
    page.keyboard.press("Home")
    for place in range(20):
        inside = np.minimum(np.floor(certainty * 20), 19) == place
        words = page.locator("#certainty-picture .tip").text_content()
        rows, errors = re.findall(r"(\d+) row.*, (\d+) error", words)[0]
        assert (int(rows), int(errors)) == (inside.sum(), (inside & wrong).sum()), words
        page.keyboard.press("ArrowRight")


# ---- the response array ----------------------------------------------------------------------------------------------


def read_responses(page):
    """Unit, center, left, right and separation of each row of the picture, from what it says to the keyboard."""
    page.locator("#response-picture").focus()
    page.keyboard.press("Home")
    found = []
    for _ in range(page.locator("#response-picture g").count()):
        words = page.locator("#response-picture .tip").text_content()
        name, numbers = re.match(r"Unit (.*?)(?: \(own\))?\ncenter ", words)[1], re.findall(r"-?\d[\d.e+-]*", words)
        center, left, right, apart = map(number, numbers[-4:])
        found.append((name, "(own)" in words, center, left, right, apart))
        page.keyboard.press("ArrowDown")
    return found


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
        assert page.locator("#response-picture text.own").all_text_contents() == [str(name)]


def test_of_a_hundred_units_the_ones_that_separate_best_are_drawn(opened, many):
    found, logits, labels = many
    page = opened(found, logits, labels)
    apart = ResponseArray.fit(logits, labels, classes=found.classes).separation()
    page.locator("#class").select_option(label="42")
    shown = read_responses(page)
    others = [unit for unit in np.argsort(-apart[42], kind="stable") if unit != 42][: MOST_UNITS - 1]
    assert [int(one[0]) for one in shown] == [42, *others]
    assert f"the {MOST_UNITS - 1} of 100 units" in page.locator("#response-note").text_content()
    page.locator("#class").select_option(label="7 (no rows)")
    assert "no rows of this class" in page.locator("#response-picture").text_content()
    assert len(cells(page, "classes")) == 100


def test_of_very_many_classes_part_is_listed_and_the_file_stays_small(opened):
    size = 230
    logits, labels = make_samples(seed=3, rows=4 * size, size=size, home=4.0, labels=np.arange(4 * size) % size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = audit(logits, labels, GaussianNB(), cv=2)
    page = opened(found, logits, labels)
    assert page.locator("#class option").count() == MOST_ROWS
    assert f"The {MOST_ROWS} of 230 classes" in page.locator("#response-note").text_content()
    listed = cells(page, "classes")
    assert len(listed) == MOST_LISTED
    wins, losses = re.findall(
        r"have ([\d,]+) wins and ([\d,]+) losses", page.locator("#classes-caption").text_content()
    )[0]
    assert number(wins) + sum(number(line[6]) for line in listed) == found.wins
    assert number(losses) + sum(number(line[7]) for line in listed) == found.losses
    assert len(page.content()) < 400_000


# ---- hand and keyboard -----------------------------------------------------------------------------------------------


def test_tables_are_sorted_by_click_and_by_key(opened, digits):
    found, logits, labels = digits
    page = opened(found, logits, labels)

    def column(place):
        return [number(line[place]) for line in cells(page, "classes")]

    nets = sorted((one.net for one in found.by_class), reverse=True)
    assert [line[3] for line in cells(page, "classes")] == list(map(fewer_count, nets))
    page.get_by_role("button", name="rows", exact=True).click()
    assert column(1) == sorted((one.rows for one in found.by_class), reverse=True)
    page.get_by_role("button", name="rows", exact=True).press("Enter")
    assert column(1) == sorted(one.rows for one in found.by_class)
    page.get_by_role("button", name="class", exact=True).press("Space")
    assert column(0) == list(range(10))
    orders = page.eval_on_selector_all("#classes th", "heads => heads.map(head => head.getAttribute('aria-sort'))")
    assert orders == ["ascending", *["none"] * 7]


def test_the_keyboard_alone_can_do_everything(opened, animals):
    found, logits, labels = animals
    page = opened(found, logits, labels)
    tab_to(page, "theme")
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    tab_to(page, "class-picture")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    first = page.locator("#class-picture .tip").text_content()
    page.keyboard.press("ArrowDown")
    assert page.locator("#class-picture .tip").text_content() not in ("", first)
    page.keyboard.press("Escape")
    assert page.locator("#class-picture .tip").text_content() == ""
    tab_to(page, "gate")
    page.keyboard.press("Home")
    for _ in range(110):
        page.keyboard.press("ArrowRight")
    below = int((certainties(logits) < 0.55).sum())
    assert page.locator("#pooled-rows").text_content().startswith(f"{below} of 200")
    assert page.locator("#gate").get_attribute("aria-valuetext").startswith(f"0.550: {below} of 200")
    tab_to(page, "class")
    page.keyboard.press("d")
    assert "class dog" in page.locator("#response-title").text_content()


def test_hovering_shows_the_counts_of_a_class_and_of_a_pair(opened, digits):
    found, logits, labels = digits
    page = opened(found, logits, labels)
    best = max(found.by_class, key=lambda one: (one.net, -one.losses, one.errors))
    page.locator("#class-picture g").first.hover()
    words = page.locator("#class-picture .tip").text_content()
    assert words.startswith(f"{best.name}\n{best.rows} rows, {best.errors} errors by softmax")
    assert f"wins {best.wins}, losses {best.losses}" in words
    pair = found.pairs[0]
    page.locator("#pair-picture g").first.hover()
    words = page.locator("#pair-picture .tip").text_content()
    assert words.startswith(f"{pair.true}, taken for {pair.taken_for}\nby softmax {pair.before} row")
    page.mouse.move(1, 1)
    assert page.locator("#pair-picture .tip").text_content() == ""


def test_everything_has_a_name_for_those_who_listen(opened, digits):
    page = opened(*digits)
    unnamed = """[...document.querySelectorAll('svg, .chart, input, select, button, .scroll[tabindex]')].filter(one =>
        !one.getAttribute('aria-label') && !one.labels?.length && !one.textContent
        && !document.getElementById(one.getAttribute('aria-labelledby')))"""
    assert page.evaluate(f"{unnamed}.map(one => one.outerHTML)") == []
    assert page.locator("svg[role=img]").count() == page.locator("svg").count() == 5
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("h1").count() == 1


TOUCH = {"has_touch": True, "is_mobile": True, "viewport": {"width": 380, "height": 800}}


def test_a_tap_shows_values_until_the_next_tap(browser, animals, tmp_path):
    write_report(tmp_path / "report.html", *animals)
    page = browser.new_page(**TOUCH)
    page.set_default_timeout(5000)
    page.goto((tmp_path / "report.html").as_uri())
    tip = page.locator("#class-picture .tip")
    page.locator("#class-picture g").nth(0).tap()
    first = tip.text_content()
    page.wait_for_timeout(100)
    assert first != ""
    assert tip.text_content() == first
    page.locator("#class-picture g").nth(1).tap()
    assert tip.text_content() not in ("", first)
    page.locator("h2").first.tap()
    assert tip.text_content() == ""
    assert not page.locator("#gate-help").is_visible()  # there are no arrow keys
    page.close()


# ---- looks -----------------------------------------------------------------------------------------------------------


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
    colours = ("page", "surface", "text", "muted", "head", "mind", "mind-surface")
    found = {name: luminance(page.evaluate(value, f"--{name}")) for name in colours}
    pairs = [(front, behind) for front in ("text", "muted", "head") for behind in ("page", "surface")]
    for front, behind in [*pairs, ("text", "mind-surface"), ("mind", "mind-surface")]:
        low, high = sorted([found[front], found[behind]])
        assert (high + 0.05) / (low + 0.05) >= 4.5, (front, behind)


def luminance(colour):
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return float(np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("case", ["digits", "many", "nasty"])
def test_nothing_is_wider_than_the_screen(case, width, opened, request):
    page = opened(*(nasty_audit() if case == "nasty" else request.getfixturevalue(case)), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    outside = """[...document.querySelectorAll('svg text')].filter(one => {
        const box = one.getBoundingClientRect(), edge = one.ownerSVGElement.getBoundingClientRect();
        return box.left < edge.left - 1 || box.right > edge.right + 1})"""
    assert page.evaluate(f"{outside}.map(one => one.textContent)") == []


def test_on_a_narrow_screen_pairs_have_two_lines_and_columns_show_that_they_can_be_sorted(opened):
    logits, labels = make_samples(seed=1, rows=200)
    names = np.array(["cardiomegaly", "effusion", "infiltration", "no finding", "pneumonia"])
    page = opened(audit(logits, names[labels], GaussianNB(), cv=2), logits, names[labels], width=380)
    written = page.locator("#pair-picture text:not(.axis)").all_text_contents()
    assert {word.removeprefix("→ ") for line in written for word in line.split(" → ")} <= set(names)
    assert any(line.startswith("→ ") for line in written)
    arrow = "heads => heads.map(head => getComputedStyle(head, '::after').content)"
    assert "none" not in page.eval_on_selector_all("th button", arrow)


def test_pictures_are_drawn_anew_when_the_window_is_narrowed(opened, animals):
    page = opened(*animals, width=1400)
    page.set_viewport_size({"width": 360, "height": 800})
    page.wait_for_function("document.querySelector('#response-picture svg').viewBox.baseVal.width < 360")
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_without_scripts_the_verdict_and_the_tables_are_there(browser, animals, tmp_path):
    found, logits, labels = animals
    write_report(tmp_path / "report.html", found, logits, labels)
    page = browser.new_page(java_script_enabled=False)
    page.goto((tmp_path / "report.html").as_uri())
    assert page.locator("#verdict").text_content() == found.verdict
    assert page.locator("#classes tbody tr").count() == 5
    assert "The pictures need JavaScript" in page.locator("noscript").inner_text()
    page.close()


# ---- words for those who did not run it ------------------------------------------------------------------------------


def test_warnings_are_well_visible_below_the_verdict(opened, animals):
    found, logits, labels = animals
    assert 'class="mind"' not in html_report(found, logits, labels)
    found = replace(found, warnings=("a class is <b>rare</b>.", "columns are in disorder."))
    page = opened(found, logits, labels)
    assert page.locator(".mind li").all_text_contents() == list(found.warnings)
    assert page.locator("#verdict + .mind").count() == 1
    box = page.locator(".mind").bounding_box()
    assert box["y"] + box["height"] < 800  # of the first screen


def test_terms_are_explained_where_one_asks_for_it(opened, animals):
    page = opened(*animals)
    explained = page.locator("details dd").first
    assert not explained.is_visible()
    page.get_by_text("In plain words").click()
    assert explained.is_visible()
    terms = " ".join(page.locator("details dt").all_text_contents())
    for term in ("Softmax", "Head", "Wins", "p", "interval", "SPH", "Response unit", "Spread", "Pooled", "Log-loss"):
        assert term in terms


# ---- what users have named, and what must not leak -------------------------------------------------------------------


def nasty_audit():
    logits, codes = make_samples(seed=1, rows=200)
    labels = NASTY[codes]
    return audit(logits, labels, GaussianNB(), cv=2, classes=NASTY), logits, labels


def test_names_with_html_in_them_are_shown_as_they_are(opened):
    found, logits, labels = nasty_audit()
    page = opened(found, logits, labels, title="<i>$verdict</i> & more")
    names = {name.replace("\ud800", "?") for name in NASTY.tolist()}
    assert {line[0] for line in cells(page, "classes")} == names
    options = page.locator("#class option").all_text_contents()
    assert {" ".join(name.split()) for name in options} == {" ".join(name.split()) for name in names}
    assert page.title() == "<i>$verdict</i> & more"
    assert page.locator("h1").text_content() == "<i>$verdict</i> & more"
    assert page.locator("script").count() == 2
    assert page.locator("img").count() == page.locator("h1 i").count() == 0
    page.locator("#class").select_option(index=0)
    assert str(found.classes[0]) in page.locator("#response-title").text_content()


def test_the_page_lets_in_no_script_or_style_but_its_own(browser, animals, tmp_path):
    page_text = html_report(*animals)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page_text)[1]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert re.findall(r"(?:https?:)?//[a-z]", page_text.replace("http://www.w3.org/2000/svg", "")) == []
    smuggled = page_text.replace("</main>", "<script>document.title = 'broken in'</script></main>")
    (tmp_path / "smuggled.html").write_text(smuggled, encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "smuggled.html").as_uri())
    assert page.title() == "Is there accuracy left on the table?"
    page.close()


def test_the_same_audit_gives_the_same_bytes(tmp_path):
    texts = []
    for _ in range(2):
        found, logits, labels = nasty_audit()
        write_report(tmp_path / "report.html", found, logits, labels)
        texts.append((tmp_path / "report.html").read_bytes())
    assert texts[0] == texts[1]
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_no_row_and_no_setting_of_a_foreign_head_is_in_the_file(tmp_path):
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    logits, labels = make_samples(seed=1, rows=2000)
    head = Pipeline([("scale", StandardScaler()), ("bayes", GaussianNB())], memory=str(tmp_path / "secret"))
    text = html_report(audit(logits, labels, head, cv=2), logits, labels)
    assert "secret" not in text
    assert str(tmp_path) not in text
    embedded = re.search(r'id="data">(.*?)</script>', text)[1]
    data = json.loads(embedded)
    assert len(data["gate"]["rows"]) == len(data["gate"]["errors"]) == 201
    assert len(re.findall(r"\d+\.\d+", embedded)) < 5 * 5 * 4 + 10 * 3 + 2  # D, the bins of reliability, and the gate


# ---- bad input -------------------------------------------------------------------------------------------------------


def test_what_is_no_audit_is_refused(animals):
    _, logits, labels = animals
    with pytest.raises(TypeError, match=r"not dict: pass what aftermax\.audit\(logits, labels\) returns"):
        html_report({}, logits, labels)


def test_rows_that_were_not_audited_are_refused_and_nothing_is_written(animals, tmp_path):
    found, logits, labels = animals
    path = tmp_path / "report.html"
    broken = logits.copy()
    broken[3, 2] = np.nan
    others = {
        "not the rows of the audit: it counted 200 rows": (logits[:-1], labels[:-1]),
        "or others by class": (-logits, labels),
        "logits contain NaN at row 3": (broken, labels),
        "there are 199 labels": (logits, labels[:-1]),
        "labels hold 5 classes but logits have 4 columns": (logits[:, :4], labels),
        "no rows": (logits[:0], labels[:0]),
        "one class only": (logits[:5], labels[:1].repeat(5)),
        "labels hold 'yak'": (logits, np.where(labels == "ant", "yak", labels)),
    }
    for message, (some_logits, some_labels) in others.items():
        with pytest.raises(ValueError, match=message):
            write_report(path, found, some_logits, some_labels)
    assert list(tmp_path.iterdir()) == []


def test_data_frames_are_taken_and_warnings_are_not_given_twice(animals):
    pandas = pytest.importorskip("pandas")
    found, logits, labels = animals
    frame = pandas.DataFrame(logits, columns=list(found.classes))
    assert html_report(found, frame, pandas.Series(labels)) == html_report(found, logits, labels)
    probabilities = softmax(logits)
    with pytest.warns(UserWarning, match="look like probabilities"):
        warned = audit(probabilities, labels, GaussianNB(), cv=2)
    assert "<h1>" in html_report(warned, probabilities, labels)
