"""In a browser: names of classes are shown as they are, and no foreign script runs."""

import re

import pytest

from aftermax._utils.text import visible
from aftermax.report import html_report
from helpers.report_pages import HOSTILE_NAMES, cells, hostile_audit

pytestmark = pytest.mark.browser


def test_names_with_html_in_them_are_shown_as_they_are(opened):
    found, logits, labels = hostile_audit()
    page = opened(found, logits, labels, title="<i>$verdict</i> & more")
    names = set(map(visible, HOSTILE_NAMES.tolist()))
    assert {line[0] for line in cells(page, "classes")} == names
    options = page.locator("#class option").all_text_contents()
    assert {" ".join(name.split()) for name in options} == {" ".join(name.split()) for name in names}
    assert page.title() == "<i>$verdict</i> & more"
    assert page.locator("h1").text_content() == "<i>$verdict</i> & more"
    assert page.locator("script").count() == 2
    assert page.locator("img").count() == page.locator("h1 i").count() == 0
    page.locator("#class").select_option(index=0)
    assert visible(str(found.classes[0])) in page.locator("#response-title").text_content()


def test_the_page_lets_in_no_script_or_style_but_its_own(new_page, animals, tmp_path):
    page_text = html_report(*animals)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page_text)[1]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert re.findall(r"(?:https?:)?//[a-z]", page_text.replace("http://www.w3.org/2000/svg", "")) == []
    smuggled = page_text.replace("</main>", "<script>document.title = 'broken in'</script></main>")
    (tmp_path / "smuggled.html").write_text(smuggled, encoding="utf-8")
    page = new_page()
    page.goto((tmp_path / "smuggled.html").as_uri())
    assert page.title() == "Is there accuracy left on the table?"
