"""The result of an audit: its text, its plain data and its figure."""

import json
import math

import numpy as np
import pytest
from matplotlib import pyplot

from aftermax import AutoHead, audit
from aftermax._audit.counts import most_changed
from aftermax._audit.verdict import better_and_worse, class_mix
from aftermax.plots import AuditDisplay
from helpers.audits import small_search
from helpers.samples import weak_samples


def test_it_prints_the_verdict_and_the_tables(by_auto_head):
    verdict, changes, summary, classes, pairs, candidates = str(by_auto_head).split("\n\n")
    assert verdict == by_auto_head.verdict
    assert changes == f"{better_and_worse(by_auto_head)}\n{class_mix(by_auto_head)}"
    assert summary.splitlines()[0].split() == ["samples,", "classes", "300,", "5"]
    assert classes.splitlines()[0].split() == ["class", "samples", "errors", "wins", "losses", "net"]
    assert len(classes.splitlines()) == 6
    assert pairs.splitlines()[0].split() == ["true", "class", "predicted", "before", "after"]
    totals = np.array([line.split()[-2:] for line in pairs.splitlines()[1:]], dtype=int).sum(axis=0)
    assert tuple(totals) == by_auto_head.errors
    assert candidates == f"Candidates\n{by_auto_head.candidates}"
    assert repr(by_auto_head) == str(by_auto_head)


@pytest.mark.filterwarnings("ignore:softmax is right on")
def test_to_dict_is_plain_and_survives_json(by_auto_head):
    plain = by_auto_head.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["verdict"] == by_auto_head.verdict
    assert plain["by_class"][0] == by_auto_head.by_class[0]._asdict()
    assert plain["candidates"]["sph"]["log_loss"] is None
    assert "head" not in plain
    assert math.isclose(plain["gain"], by_auto_head.gain)
    assert audit(*weak_samples(n_samples=150), small_search()).to_dict()["candidates"] is None


def test_the_figure_shows_the_counts(by_auto_head):
    display = by_auto_head.plot()
    left, right = display.axes_
    shown, _ = most_changed(by_auto_head.by_class)
    wins, losses = ([bar.get_width() for bar in bars] for bars in left.containers)
    assert wins == [one.wins for one in shown]
    assert losses == [-one.losses for one in shown]
    assert [label.get_text() for label in left.get_yticklabels()] == [str(one.name) for one in shown]
    before, after = (points.get_offsets()[:, 0].tolist() for points in right.collections[1:])
    assert before == [one.before for one in by_auto_head.pairs]
    assert after == [one.after for one in by_auto_head.pairs]
    assert display.figure_.get_suptitle().replace("\n", " ") == by_auto_head.verdict
    display.figure_.canvas.draw()


def test_it_draws_into_two_axes_and_refuses_anything_else(by_auto_head):
    axes = pyplot.figure().subplots(2, 1)
    display = AuditDisplay.from_audit(by_auto_head, ax=axes)
    assert display.figure_ is axes[0].figure
    assert display.axes_.tolist() == axes.tolist()
    with pytest.raises(ValueError, match="ax holds 1 Axes, and there are two panels: pass two"):
        by_auto_head.plot(ax=axes[0])
    with pytest.raises(TypeError, match=r"takes an Audit, not AutoHead: pass the result of aftermax\.audit"):
        AuditDisplay(AutoHead())
