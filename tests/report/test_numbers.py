"""In a browser: the numbers of the report are those of the audit."""

import re
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from aftermax import AutoHead, SPHClassifier, audit
from aftermax._audit.verdict import better_and_worse, samples_to_be_sure
from aftermax._utils.text import fewer, fewer_between, fewer_count, percent
from aftermax.report._response_data import MAX_PICKED_CLASSES
from aftermax.report._tables import MAX_LISTED_CLASSES
from helpers.report_pages import cells, certainties, number
from helpers.samples import make_samples

pytestmark = pytest.mark.browser


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
        fewer_between(*found.gain_prediction_interval),
        str(found.wins),
        str(found.losses),
        f"{found.p_value:.2g}" if found.p_value >= 0.0001 else "< 0.0001",
        samples_to_be_sure(found),
        "combination: several corrections of the logits, combined by stacking"
        + ("" if found.trust == 1 else f" ({found.trust:.0%} of it)"),
    ]
    tiles = page.locator(".tile .number").all_text_contents()
    assert tiles == [percent(found.error_before), percent(found.error_after), fewer(found.gain), _wins(found)]
    assert page.locator("#changes").text_content() == better_and_worse(found)
    assert page.locator("#size").text_content() == "400 labelled samples, 10 classes"


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
        assert ("chosen" in line[0]) == (one.name == found.candidates.chosen)
        assert line[1] == percent(one.error)
        change = [fewer(one.gain) + fewer_between(*one.gain_interval), str(one.wins), str(one.losses)]
        assert line[2:5] == (["", "", ""] if one.name == "softmax" else change)
        assert (line[5] == "") == (one.name == "softmax")
        assert line[6] == ("" if np.isnan(one.log_loss) else f"{one.log_loss:.3f}")


def test_where_softmax_is_kept_the_page_says_so_and_names_no_head(opened):
    logits, labels = make_samples(seed=5, n_samples=200, home=6.0)
    logits[:6] = np.roll(logits[:6], 1, axis=1)  # a few errors
    found = audit(logits, labels, AutoHead(cv=2))
    assert found.chosen == "softmax"
    page = opened(found, logits, labels)
    assert page.locator("#verdict").text_content() == found.verdict
    tiles = page.locator(".tile").all_text_contents()
    assert tiles[2] == "Change in errors to expectnonesoftmax is kept"
    assert page.locator(".tile .number").all_text_contents()[:2] == [percent(found.error_before)] * 2
    method = page.locator(".definitions").last.text_content()
    assert "It keeps softmax." in method
    assert "As softmax is kept, after is the same as before" in method
    assert "divided into folds by the cv that was set" in method


def test_an_audit_without_errors_or_changes_is_shown_too(opened):
    labels = np.arange(40) % 2
    logits = np.eye(2)[labels] * 8
    page = opened(audit(logits, labels, LogisticRegression(), cv=2), logits, labels)
    tiles = page.locator(".tile").all_text_contents()
    assert tiles[2] == "Change in errors to expectno errorssoftmax makes no errors"
    assert "100.0 %" not in "".join(tiles)
    assert page.locator("#pair-chart").count() == 0
    assert "No pair of classes is confused more often or less often" in page.locator("main").text_content()
    page = opened(audit(logits, labels, SPHClassifier(), cv=2), logits, labels)
    page.locator("#gate").fill("1")
    assert page.locator("#pooled-samples").text_content() == "40 of 40 (100.0 %)"
    assert page.locator("#pooled-share").text_content() == "0 of 0"


def test_the_reliability_of_the_head_is_that_of_its_out_of_fold_probabilities(opened, digits, animals):
    found, logits, labels = digits
    page = opened(found, logits, labels)
    shares = found.head.held_out_proba_
    confidence, right = shares.max(axis=1), found.head.classes_[shares.argmax(axis=1)] == labels
    bins = np.minimum((confidence * 10).astype(int), 9)
    page.locator("#reliability-chart").focus()
    page.keyboard.press("End")
    words = page.locator("#reliability-chart .tooltip").text_content()
    inside = right[bins == bins.max()]
    assert words.startswith(
        f"The head: {confidence[bins == bins.max()].mean():.3f} on average\n{inside.sum()} of {len(inside)}"
    )
    of_softmax = np.unique(np.minimum((certainties(logits) * 10).astype(int), 9))
    assert page.locator("#reliability-chart g").count() == len(of_softmax) + len(np.unique(bins))
    assert "Softmax only" not in page.locator("section:has(#reliability-chart)").inner_text()
    alone = opened(*animals)
    assert "this head has no out-of-fold probabilities" in alone.locator("section:has(#reliability-chart)").inner_text()
    assert alone.locator("#reliability-chart .head").count() == 0


def test_the_bars_of_the_histogram_hold_all_samples_and_errors(opened, digits):
    found, logits, labels = digits
    page = opened(found, logits, labels)
    certainty, wrong = certainties(logits), logits.argmax(axis=1) != labels
    page.locator("#certainty-chart").focus()
    page.keyboard.press("Home")
    for place in range(20):
        inside = np.minimum(np.floor(certainty * 20), 19) == place
        words = page.locator("#certainty-chart .tooltip").text_content()
        rows, errors = re.findall(r"(\d+) sample.*, (\d+) error", words)[0]
        assert (int(rows), int(errors)) == (inside.sum(), (inside & wrong).sum()), words
        page.keyboard.press("ArrowRight")


def test_of_very_many_classes_part_is_listed_and_the_file_stays_small(opened):
    size = 230
    logits, labels = make_samples(seed=3, n_classes=size, home=4.0, labels=np.arange(4 * size) % size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = audit(logits, labels, GaussianNB(), cv=2)
    page = opened(found, logits, labels)
    assert page.locator("#class option").count() == MAX_PICKED_CLASSES
    assert f"Of 230 classes, {MAX_PICKED_CLASSES} are compared" in page.locator("#response-note").text_content()
    listed = cells(page, "classes")
    assert len(listed) == MAX_LISTED_CLASSES
    note = page.locator("#class-status").text_content()
    wins, losses = re.findall(r"errors, ([\d,]+) wins and ([\d,]+) losses", note)[0]
    assert number(wins) + sum(number(line[6]) for line in listed) == found.wins
    assert number(losses) + sum(number(line[7]) for line in listed) == found.losses
    assert len(page.content()) < 400_000
