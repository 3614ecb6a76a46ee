"""Killed commands and hostile circumstances: the checks can fail, and a few of the trials hold."""

import signal
import subprocess
import sys

import pytest

from hardening import circumstances, kills, soak
from hardening.circumstances import CIRCUMSTANCES, check_interrupted, check_nothing_new, check_refused

WHOLE = {"table.csv": b"a,b\n1,2\n3,4\n", "report.md": b"# Report\n"}


def done(code=2, stderr="aftermax: out.csv: No space left on device"):
    return subprocess.CompletedProcess([], code, "", stderr)


def test_a_refusal_is_one_line_that_says_what_is_wrong():
    check_refused(done(), "out.csv", "No space left")
    check_refused(done(stderr="aftermax: warning: few rows.\naftermax: out.csv is a folder."), "folder")
    for wrong in (done(0), done(1), done(stderr="Traceback\naftermax: out.csv"), done(stderr="aftermax: Errno 28")):
        with pytest.raises(AssertionError):
            check_refused(wrong, "out.csv")


def test_a_folder_in_which_something_is_new_or_changed_is_seen(tmp_path):
    (tmp_path / "old").write_text(circumstances.OLD)
    check_nothing_new(tmp_path, "old")
    for name, text in ((".new.partial", ""), ("old", "cut")):
        (tmp_path / name).write_text(text)
        with pytest.raises(AssertionError):
            check_nothing_new(tmp_path, "old")


def test_an_interrupt_leaves_nothing_or_the_whole_file(tmp_path):
    place, whole = tmp_path / "place", tmp_path / "whole.csv"
    place.mkdir()
    whole.write_text("predicted\na\n")
    for code in (130, -signal.SIGINT):
        check_interrupted(code, "", place, whole)
    (place / "out.csv").write_text("predicted\na\n")  # the interrupt came after the file had its name
    for code in (0, 130):
        check_interrupted(code, "", place, whole)


@pytest.mark.parametrize(
    ("code", "files"),
    [
        (1, {}),
        (0, {}),
        (130, {"out.csv": "predicted\n"}),
        (0, {"out.csv": "predicted\n"}),
        (130, {"out.csv": "predicted\na\n", ".out.csv.partial": ""}),
    ],
)
def test_what_an_interrupt_may_not_leave_is_seen(code, files, tmp_path):
    place, whole = tmp_path / "place", tmp_path / "whole.csv"
    place.mkdir()
    whole.write_text("predicted\na\n")
    for name, text in files.items():
        (place / name).write_text(text)
    with pytest.raises(AssertionError):
        check_interrupted(code, "", place, whole)


@pytest.mark.parametrize(
    ("found", "are_whole"),
    [
        ({"table.csv": b"a,b\n1,2\n"}, True),
        ({"table.csv": b"a,b\n1,"}, False),
        ({"table.csv": b"a,b\n9,9\n"}, False),
        ({"report.md": b"# Rep\n"}, False),
    ],
)
def test_an_experiment_may_have_measured_a_part_but_no_line_is_cut(found, are_whole):
    assert kills._are_whole_lines(WHOLE | found, WHOLE, list(found)) is are_whole


def test_the_commit_in_a_report_makes_no_other_result(tmp_path):
    for end in ("", "-dirty"):
        (tmp_path / "report.md").write_text(f"Measured with commit {'0a' * 20}{end}. 3 runs.")
        assert kills._content(tmp_path / "report.md") == b"Measured with commit. 3 runs."
    assert kills._content(tmp_path / "none.md") is None


def test_memory_that_grows_is_seen():
    assert soak.Load(memory=[50, 90, *[100] * 30]).growth == 0.0
    assert soak.Load(memory=list(range(100, 140))).growth > 0.1


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kills")
    kills.write_inputs(folder, n_new=5_000)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("what", [what for what in kills.COMMANDS if what != "experiment"])
def test_what_is_killed_leaves_what_was_there_or_the_whole_result(what, folder):
    row, failures = kills._killed(what, folder, 2)
    assert failures == []
    assert row["times"] == 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="mounts, capabilities and signals of Linux")
@pytest.mark.parametrize("what", CIRCUMSTANCES)
def test_every_circumstance_is_borne(what, folder):
    error = kills._outcome(CIRCUMSTANCES[what], folder)
    assert error is None or error.startswith("(not tried")
