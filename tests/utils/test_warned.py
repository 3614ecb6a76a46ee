"""Warnings that are kept for one thread."""

import ast
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from aftermax._utils.warned import kept_warnings, warn, warn_once_each
from helpers.samples import ROOT


def test_outside_a_warning_points_at_the_line_that_it_is_told():
    def caller():
        warn("Few samples.", stacklevel=2)

    with pytest.warns(UserWarning, match=r"^Few samples\.$") as caught:
        caller()
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="Few samples|No label") as caught:
        warn_once_each(["Few samples.", "No label.", "Few samples."])
    assert [(str(one.message), one.filename) for one in caught] == [
        ("Few samples.", __file__),
        ("No label.", __file__),
    ]


def test_what_is_kept_is_not_shown_and_an_outer_list_gets_what_is_warned_of_again():
    with kept_warnings() as outer:
        with kept_warnings() as inner:
            warn("Few samples.")
        assert (outer, inner) == ([], ["Few samples."])
        warn_once_each(inner * 2)
    assert outer == ["Few samples."]


def test_threads_keep_their_own_warnings_and_leave_pythons_filters_alone():
    inside = threading.Barrier(2)

    def keep(name):
        with kept_warnings() as messages:
            inside.wait(timeout=10)
            warn(name)
            inside.wait(timeout=10)
        return messages

    filters, show = list(warnings.filters), warnings.showwarning
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(keep, "ab")) == [["a"], ["b"]]
    assert (warnings.filters, warnings.showwarning) == (filters, show)


def test_nothing_in_the_package_changes_the_filters_that_all_threads_share():
    """An attack found audits in threads with each other's warnings, and ``warnings.warn`` dead after them."""
    users = [
        path.name
        for path in (ROOT / "src" / "aftermax").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("catch_warnings", "simplefilter", "filterwarnings")
    ]
    assert users == []
