"""The page of a check: the verdict and its tables, whatever the classes are called, and nothing from elsewhere."""

import re

import numpy as np
import pytest

from aftermax import SPHClassifier, check
from aftermax.report import check_html, write_check
from helpers.head_files import weak


@pytest.fixture(scope="module")
def head():
    logits, labels = weak()
    return SPHClassifier(certainty=1.0).fit(logits, np.array(["<b>ant</b>", "bée", "$cat"])[labels])


def page_of(head, *, labelled=True, **others):
    logits, labels = weak(300, seed=4)
    return check_html(check(head, 3 * logits, head.classes_[labels] if labelled else None), **others)


def test_it_has_the_verdict_the_comparisons_and_the_drift(head):
    text = page_of(head, title="A & B")
    assert "<h1>A &amp; B</h1>" in text
    assert re.search(r'id="verdict"><strong>(Keep|Refit|Drop|Not enough samples to tell):</strong>', text)
    for words in ("this head against softmax", "a refit against this head", "mean logit", "<h2>Drift</h2>"):
        assert words in text


def test_without_labels_there_are_no_comparisons(head):
    text = page_of(head, labelled=False)
    assert "this head against softmax" not in text
    assert "300 new samples, without labels" in text


def test_on_the_samples_of_the_fit_there_are_no_tables(head):
    logits, labels = weak()
    text = check_html(check(head, logits, head.classes_[labels]))
    assert "which prove nothing" in text
    assert "<table>" not in text


def test_it_says_what_is_counted_and_has_no_tables_of_one_sample(head):
    assert "Every sample counts the same." in page_of(head)
    logits, labels = weak(1, seed=4)
    text = check_html(check(head, logits, head.classes_[labels]))
    assert "One sample is too few" in text
    assert "<table>" not in text


def test_names_of_classes_are_shown_as_they_are(head):
    text = page_of(head)
    assert "<b>ant</b>" not in text
    assert "&lt;b&gt;ant&lt;/b&gt;" in text
    assert "$cat" in text


def test_it_loads_nothing_and_runs_nothing(head):
    text = page_of(head)
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert not re.search(r'(src|href)="(?!data:)', text)
    assert "http://" not in text
    assert "https://" not in text


def test_it_is_written_whole(head, tmp_path):
    result = check(head, weak(50, seed=4)[0])
    write_check(tmp_path / "page.html", result)
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == check_html(result)
    with pytest.raises(TypeError, match=r"This page takes a Check, not str: pass what aftermax.check gives"):
        check_html("keep")
