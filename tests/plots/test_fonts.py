"""Class names whose letters matplotlib's own font does not have. A letter that is missing is a warning, so an error."""

import numpy as np
import pytest
from matplotlib.font_manager import fontManager

from aftermax import SPHClassifier, plots
from aftermax._audit.counts import PairCounts
from aftermax.plots import _fonts
from aftermax.plots.style import shortened
from helpers.audits import made_up_audit
from helpers.samples import weak_samples

NAMES = np.array(["\u732b", "\u72ac\u306e\u540d\u524d", "\uace0\uc591\uc774", "cat", "\u00e9t\u00e9"])
INSTALLED = sorted(set(fontManager.get_font_names()) & set(_fonts.FAMILIES))


def displays():
    """Every Display that writes class names."""
    logits, codes = weak_samples(n_samples=200)
    head = SPHClassifier(classes=NAMES).fit(logits, NAMES[codes])
    samples = logits, NAMES[codes]
    pairs = (PairCounts(NAMES[0], NAMES[2], 9, 3),)
    result = made_up_audit(9, 2, 30, classes=tuple(NAMES[:2]), pairs=pairs)
    yield plots.AuditDisplay.from_audit(result)
    yield plots.GainByClassDisplay.from_estimator(head, *samples)
    yield plots.ConfusionChangeDisplay.from_estimator(head, *samples)
    yield plots.ClassPairDisplay.from_estimator(head, NAMES[0], NAMES[1])
    yield plots.ResponseArrayDisplay.from_estimator(head)
    yield plots.WeightsDisplay.from_estimator(head)


def test_letters_that_no_font_has_are_written_as_code_points(monkeypatch):
    monkeypatch.setattr(_fonts, "FAMILIES", ())
    for display in displays():
        display.figure_.canvas.draw()
    assert shortened(NAMES[0], 20) == "U+732B"
    assert shortened(NAMES[4], 20) == NAMES[4]
    assert "fontfamily" not in _fonts.font_for(*NAMES)


@pytest.mark.skipif(not INSTALLED, reason="no font with Chinese letters is installed")
def test_a_font_that_has_the_letters_is_used_where_one_is_installed():
    for display in displays():
        display.figure_.canvas.draw()
    display = plots.GainByClassDisplay(NAMES[:2], rows=[9, 9], errors=[3, 3], wins=[1, 0], losses=[0, 0]).plot()
    assert {label.get_text() for label in display.axes_.get_yticklabels()} == set(NAMES[:2])
    assert display.axes_.get_yticklabels()[0].get_fontfamily()[-1] in INSTALLED


def test_names_that_need_no_other_font_are_drawn_as_ever():
    assert _fonts.font_for("cat", NAMES[4], "a \u2192 b") == {}
    assert shortened("a name that is long", 8) == "a name \u2026"


def test_wide_letters_count_twice_where_a_name_is_cut(monkeypatch):
    monkeypatch.setattr("aftermax.plots.style.drawable", lambda text: text)
    assert shortened("\u732b" * 10, 20) == "\u732b" * 10
    assert shortened("\u732b" * 11, 20) == "\u732b" * 9 + "\u2026"
