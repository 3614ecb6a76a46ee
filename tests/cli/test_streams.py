"""Standard streams that are closed, terminals that cannot show everything, and names made to harm a terminal."""

import json
import os
import shlex
import subprocess

import numpy as np
import pytest

import aftermax
from helpers.command import SCRIPT, run_here
from helpers.samples import make_samples

NAMES = np.array(["ant", "b\u00e9e", "\u732b"])
SUMMARY = "120 rows, 120 with labels; accuracy: "


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A head, and a score file with names that are not ASCII."""
    folder = tmp_path_factory.mktemp("scores")
    logits, labels = make_samples(n_samples=120, n_classes=3)
    aftermax.save(aftermax.SoftmaxClassifier().fit(logits, NAMES[labels]), folder / "head.npz")
    write(folder / "scores.csv", NAMES, logits, labels)
    return folder


def write(path, names, logits, labels):
    rows = [",".join([*map(str, row), names[code]]) for row, code in zip(logits, labels, strict=True)]
    path.write_text("\n".join([",".join([*names, "label"]), *rows]) + "\n", encoding="utf-8")


def shell(folder, arguments, streams="", **environment):
    """Run the installed script from a shell that closes streams."""
    command = f"{shlex.quote(str(SCRIPT))} {arguments} {streams}"
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, cwd=folder, env={**os.environ, **environment}
    )


def test_without_standard_error_standard_output_has_predictions_only(folder):
    """An attack found the summary in the CSV: print(..., file=None) prints on standard output."""
    done = shell(folder, "predict head.npz scores.csv", "2>&-")
    assert done.returncode == 0
    assert set(done.stdout.split()) == {"predicted", *NAMES}
    assert len(done.stdout.splitlines()) == 121


def test_without_standard_output_only_what_needs_it_is_refused(folder):
    done = shell(folder, "predict head.npz scores.csv", ">&-")
    assert done.returncode == 2
    assert done.stderr.startswith("aftermax: standard output is closed, so nothing can be printed: leave it open, or")
    assert done.stderr.count("\n") == 1
    done = shell(folder, "predict head.npz scores.csv -o out.csv", ">&-")
    assert done.returncode == 0
    assert done.stderr.startswith(SUMMARY)
    assert len((folder / "out.csv").read_text(encoding="utf-8").splitlines()) == 121


def test_without_standard_input_only_what_reads_it_is_refused(folder):
    done = shell(folder, "predict head.npz -", "<&-")
    assert done.returncode == 2
    assert done.stderr == "aftermax: standard input is closed: leave it open, or name a file.\n"
    done = shell(folder, "predict head.npz scores.csv -o all.csv", "<&- >&- 2>&-")
    assert done.returncode == 0
    assert (folder / "all.csv").read_text(encoding="utf-8").startswith("predicted\n")


@pytest.mark.parametrize("option", ["", "--json"])
def test_a_terminal_that_shows_only_ascii_gets_escapes(folder, option):
    done = shell(folder, f"audit scores.csv --head softmax {option}", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    if option:
        assert json.loads(done.stdout)["classes"] == NAMES.tolist()
    else:
        assert "b\\xe9e" in done.stdout
        assert "\\u732b" in done.stdout


@pytest.mark.parametrize("option", ["", "--json"])
def test_names_of_classes_cannot_steer_the_terminal(tmp_path, option):
    """Clear the screen, by an escape of one byte or two, turn text around, start a line."""
    names = ["\x1b[2Jant", "\x9b2Jbee", "\u202ecat"]
    logits, labels = make_samples(n_samples=120, n_classes=3)
    write(tmp_path / "scores.csv", names, logits + np.array([3.0, 0.0, 0.0]), labels)
    done = run_here("audit", "scores.csv", *option.split(), cwd=tmp_path, check=True)
    for printed in (done.stdout, done.stderr):
        assert all(letter.isprintable() or letter == "\n" for letter in printed)
    if option:
        assert json.loads(done.stdout)["classes"] == sorted(names)
    else:
        assert all(text in done.stdout for text in ("\\x1b[2Jant", "\\x9b2Jbee", "\\u202ecat"))


def test_errors_of_any_length_are_one_short_line(tmp_path):
    (tmp_path / "scores.csv").write_text(f"{'a' * 100_000}\x1b,label\n1,2\n")
    done = run_here("audit", "scores.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr) < 2100
    assert all(letter.isprintable() for letter in done.stderr.rstrip("\n"))
