"""The section of the report on what the head may decide alone."""

import pytest
from sklearn.naive_bayes import GaussianNB

from aftermax import Decider, SoftmaxClassifier, audit
from aftermax.data import load_vmnist
from aftermax.report import html_report
from helpers.samples import make_samples


@pytest.fixture(scope="module")
def decided():
    scores = load_vmnist(trained_on=500)
    logits, labels = scores.val_logits[:1_200], scores.val_labels[:1_200]
    return audit(logits, labels, Decider(SoftmaxClassifier(), max_error=0.1)), logits, labels


def test_the_promise_is_in_the_page_with_its_method(decided):
    page = html_report(*decided)
    share = f"{100 * decided[0].abstention.share:.1f}"
    assert f"{share} %</span> of the samples, of which at most" in page
    assert "largest acceptable error" in page
    assert "fixed-sequence testing" in page


def test_without_a_largest_error_the_option_is_named_as_in_python_and_on_the_command_line():
    logits, labels = make_samples()
    page = html_report(audit(logits, labels, SoftmaxClassifier()), logits, labels).replace("\u2011", "-")
    assert "max_error of a Decider, --max-error on the command line" in page


def test_without_probabilities_out_of_fold_there_is_no_such_section():
    logits, labels = make_samples()
    page = html_report(audit(logits, labels, GaussianNB()), logits, labels)
    assert 'id="risk-chart"' not in page


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 400])
def test_the_curve_is_drawn_and_told_to_the_keyboard(opened, decided, width):
    page = opened(*decided, width=width)
    chart = page.locator("#risk-chart")
    assert chart.locator("path.risk").count() == 2
    assert chart.locator("line.limit").count() == 1
    chart.focus()
    page.keyboard.press("End")
    assert f"error of the head: {100 * decided[0].error_after:.1f} %" in chart.locator(".tooltip").text_content()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
def test_without_a_largest_error_there_is_no_limit(opened):
    logits, labels = make_samples()
    page = opened(audit(logits, labels, SoftmaxClassifier()), logits, labels)
    assert page.locator("#risk-chart path.risk").count() == 2
    assert page.locator("#risk-chart line.limit").count() == 0
