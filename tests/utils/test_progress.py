"""The progress bar."""

import io
import sys

import pytest

from aftermax import sweep
from aftermax._utils import progress
from aftermax._utils.progress import Progress
from helpers.terminal import PlainTerminal, Terminal


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only when told to."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def run(clock, seconds, shown=None):
    with Progress("sweep", 4, shown) as bar:
        for _ in range(3):
            clock[0] += seconds
            bar.step()


def test_on_a_terminal_it_shows_share_and_time_left_and_cleans_up(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())
    run(clock, 30.0)
    lines = sys.stderr.getvalue().split("\r")
    assert "sweep" in lines[1]
    assert "25 %, 90 s left" in lines[1]
    assert "50 %, 60 s left" in lines[2]
    assert "75 %, 30 s left" in lines[3]
    assert lines[4].strip() == ""
    assert len(lines[4]) >= len(lines[3].rstrip())


def test_it_is_quiet_for_two_seconds_and_where_there_is_no_terminal(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())
    run(clock, 0.6)
    assert sys.stderr.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    run(clock, 30.0)
    assert sys.stderr.getvalue() == ""


def test_it_can_be_switched_on_and_off(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())
    run(clock, 30.0, shown=False)
    assert sys.stderr.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    run(clock, 0.1, shown=True)
    assert "25 %" in sys.stderr.getvalue()


def test_long_times_are_in_minutes_and_plain_terminals_get_plain_characters(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", PlainTerminal())
    run(clock, 600.0)
    assert "30 min left" in sys.stderr.getvalue()
    assert "#######......" in sys.stderr.getvalue()


def test_no_standard_error_is_no_obstacle(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", None)
    run(clock, 30.0)
    run(clock, 30.0, shown=True)


def test_a_sweep_shows_it(monkeypatch, validation):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    sweep(*validation, {"center": ["mean", "median"]}, progress=True)
    assert "sweep" in sys.stderr.getvalue()
    assert "50 %" in sys.stderr.getvalue()


def test_steps_of_different_length_count_as_they_are_long(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress("training", 100) as bar:
        clock[0] += 30.0
        bar.step(75)
        assert "75 %, 10 s left" in sys.stderr.getvalue()
