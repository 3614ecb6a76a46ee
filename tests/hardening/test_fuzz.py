"""A few hundred hostile files of every kind, as ``python -m hardening fuzz`` reads many more of them."""

import warnings

import pytest

from hardening import fuzz, report, seeds
from hardening.workers import run_tasks
from helpers.tasks import task

FEW = 25  # of each kind
SLOW = ("head, long description", "scores, expanding")  # megabytes each


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the committed heads and one of today, which takes no time."""
    from aftermax import SoftmaxClassifier, save

    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "heads").mkdir()
    save(SoftmaxClassifier().fit(*seeds.samples()), folder / "heads" / "softmax.npz")
    for path in seeds.COMMITTED.glob("v3-*.npz"):
        (folder / "heads" / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.fixture(autouse=True)
def no_limit(monkeypatch):
    """Hooks and limits would stay with this process, which has other tests to run."""
    monkeypatch.setattr(fuzz, "install", lambda: None)


@pytest.mark.parametrize("kind", [kind for kind in fuzz.SHARES if kind not in SLOW])
def test_files_made_to_do_harm_are_refused_or_read(kind, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of what scores look like
        words = {fuzz.read_one(kind, index, folder)[0] for index in range(FEW)}
    assert words <= {"refused", "read"}
    assert "refused" in words


def test_every_seed_is_read(folder):
    for kind, content in seeds.score_files().items():
        path = folder / f"whole{kind}"
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            for index in range(2):
                fuzz._read_scores(path, index)()


# ---- the run can fail ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "index", "what"),
    [("crash", 2, "crash: SIGKILL"), ("hang", 3, "hang: more than 1 s"), ("fail", 0, "it failed")],
)
def test_a_crash_a_hang_and_an_error_are_findings_and_the_others_go_on(kind, index, what, tmp_path):
    outcome = run_tasks(task, kind, 5, tmp_path, limit=1.0)
    ((found),) = outcome.findings
    assert (found.index, found.what) == (index, what)
    assert outcome.counts == {"read": 4, "failed": 1}
    assert outcome.largest == 4.0


def test_the_watch_sees_other_files_code_and_warnings(tmp_path):
    """In a process of its own, as hooks stay."""
    import subprocess
    import sys

    code = """
import pickle, sys, warnings
from pathlib import Path
from hardening.arrays_changed import Trap
from hardening.watched import install, nothing_else
install()
def told(act):
    try:
        with nothing_else(Path(sys.argv[1])):
            act()
    except AssertionError as error:
        return str(error)
print(told(lambda: open(sys.argv[1]).close()))
print(told(lambda: open("/etc/hostname").close()))
print(told(lambda: pickle.loads(pickle.dumps(Trap()))))
print(told(lambda: warnings.warn("odd", RuntimeWarning)))
print(told(lambda: warnings.warn("ours", UserWarning)))
"""
    path = tmp_path / "file"
    path.write_text("")
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    fine, other, trap, odd, ours = done.stdout.splitlines()
    assert (fine, ours) == ("None", "None")
    assert other == "opens '/etc/hostname'"
    assert "pickle.find_class ('builtins', 'exec')" in trap
    assert odd == "warns: RuntimeWarning: odd"


def test_a_table_is_written_twice(tmp_path):
    text = report.write("some", [{"kind": "a|b", "inputs": 1_000, "seconds": 2.0}], "About it.", tmp_path)
    assert text == "About it.\n\n| kind | inputs | seconds |\n|---|---|---|\n| a\\|b | 1,000 | 2.0 |\n"
    assert (tmp_path / "some.md").read_text() == text
    assert (tmp_path / "some.csv").read_text() == "kind,inputs,seconds\na|b,1000,2.0\n"
