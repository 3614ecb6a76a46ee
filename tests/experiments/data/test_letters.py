"""UCI's letters: from a file of R, which is installed, kept or fetched."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from experiments.data import letters
from experiments.data.letters import fetch, load_letters


@pytest.fixture
def rda(tmp_path, monkeypatch):
    """A file as in the package, with three letters; nothing is installed."""
    pyreadr = pytest.importorskip("pyreadr")
    pandas = pytest.importorskip("pandas")
    monkeypatch.setattr(letters, "FILE", Path("nowhere/LetterRecognition.rda"))
    path = tmp_path / "made.rda"
    table = pandas.DataFrame({"lettr": pandas.Categorical(["C", "A", "B"]), "x.box": [0.0, 15.0, 3.0], "high": 3.0})
    pyreadr.write_rdata(str(path), table, df_name="LetterRecognition")
    return path


def as_factor(monkeypatch):
    """R's factors are read as categories, but written as text."""
    import pyreadr

    read = pyreadr.read_r

    def with_categories(path):
        tables = read(path)
        for table in tables.values():
            table["lettr"] = table["lettr"].astype("category")
        return tables

    monkeypatch.setattr(pyreadr, "read_r", with_categories)


def test_letters_are_fetched_once(rda, tmp_path, monkeypatch):
    as_factor(monkeypatch)
    monkeypatch.setattr(letters, "fetch", rda.read_bytes)
    found = load_letters(tmp_path / "kept")
    np.testing.assert_allclose(found.features, [[0, 0.2], [1, 0.2], [0.2, 0.2]], rtol=1e-6)
    np.testing.assert_array_equal(found.labels, [2, 0, 1])
    monkeypatch.setattr(letters, "fetch", None)  # they are kept
    assert len(load_letters(tmp_path / "kept").labels) == 3


@pytest.mark.parametrize("content", [b"no file of R", b""])
def test_a_damaged_file_is_named(rda, tmp_path, monkeypatch, content):
    monkeypatch.setattr(letters, "fetch", lambda: content)
    with pytest.raises(ValueError, match=r"LetterRecognition.rda is damaged"):
        load_letters(tmp_path / "kept")


def test_the_file_is_unpacked_from_the_package_that_apt_downloads(monkeypatch):
    def run(command, cwd, **options):
        if command[0] == "apt-get":
            (Path(cwd) / "r-cran-mlbench_2.1_amd64.deb").write_bytes(b"")
        else:
            assert command[:3] == ("dpkg-deb", "--extract", "r-cran-mlbench_2.1_amd64.deb")
            (Path(cwd) / letters.FILE).parent.mkdir(parents=True)
            (Path(cwd) / letters.FILE).write_bytes(b"letters")

    monkeypatch.setattr(subprocess, "run", run)
    assert fetch() == b"letters"


def test_without_apt_or_network_or_pyreadr_the_error_says_what_is_missing(rda, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(OSError, match=r"in Debian's r-cran-mlbench, and there is no apt-get to fetch it"):
        load_letters(tmp_path / "kept")

    def fails(command, **options):
        raise subprocess.CalledProcessError(100, command, stderr="E: no network\n")

    monkeypatch.setattr(subprocess, "run", fails)
    with pytest.raises(OSError, match=r"apt-get could not fetch Debian's r-cran-mlbench: E: no network"):
        load_letters(tmp_path / "kept")
    monkeypatch.setitem(sys.modules, "pyreadr", None)
    with pytest.raises(ImportError, match=r"pyreadr: pip install --editable '\.\[experiments\]'"):
        load_letters(tmp_path / "kept")
    assert not list((tmp_path / "kept").glob("*"))
