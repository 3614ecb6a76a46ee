"""Score files of thousands of classes on the command line: short text, complete JSON."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from aftermax import SPHClassifier
from aftermax._scorefiles import ReadOptions, read_scores
from aftermax._scorefiles.read import open_scores
from helpers.command import run_here
from helpers.thousands import CHARACTERS, KnownPredictions, character_samples, characters

FEW = 300  # classes, where a real head is fitted


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Score files of 6,623 characters, most of which no sample shows."""
    folder = tmp_path_factory.mktemp("characters")
    logits, codes, _ = character_samples(n_samples=300)
    names = characters()
    parquet.write_table(table(logits, names, codes), folder / "scores.parquet")
    np.savez(folder / "scores.npz", logits=logits, labels=codes)
    return folder


def table(logits, names, codes):
    return pa.table(dict(zip(names.tolist(), logits.T, strict=True)) | {"label": names[codes]})


@pytest.fixture
def _known(monkeypatch):
    after = character_samples(n_samples=300)[2]
    monkeypatch.setattr("aftermax._cli.audit._estimator", lambda _, classes: KnownPredictions(after, classes))


def is_short(text):
    return len(text.splitlines()) < 60 and max(map(len, text.splitlines()), default=0) < 400


def test_parquet_is_read_hundreds_of_rows_at_a_time(files):
    """With few rows at a time of so many columns, most of the time went into making arrays."""
    with open_scores(str(files / "scores.parquet"), ReadOptions()) as file:
        assert [len(rows.logits) for rows in file.batches] == [300]


@pytest.mark.usefixtures("_known")
@pytest.mark.parametrize("name", ["scores.parquet", "scores.npz"])
def test_an_audit_prints_a_page(name, files):
    done = run_here("audit", name, cwd=files, check=True)
    assert is_short(done.stdout)
    assert is_short(done.stderr)
    assert f"{CHARACTERS - 15:,} others" in done.stdout


@pytest.mark.usefixtures("_known")
def test_the_json_of_an_audit_has_every_class(files):
    done = run_here("audit", "scores.parquet", "--json", "--html", "report.html", cwd=files, check=True)
    found = json.loads(done.stdout)
    assert [one["name"] for one in found["by_class"]] == characters().tolist()
    assert is_short(done.stderr)
    assert (files / "report.html").stat().st_size < 600_000


def test_a_warning_of_columns_without_samples_names_a_few(files):
    with pytest.warns(UserWarning, match=r"no row has the label .* \d+ in all, .* with --ignore NAME,NAME\.") as caught:
        read_scores(str(files / "scores.parquet"))
    assert all(len(str(one.message)) < 400 for one in caught)


def test_fit_and_check_print_a_page_each(tmp_path, monkeypatch):
    monkeypatch.setattr("aftermax._cli.audit._estimator", lambda _, classes: SPHClassifier(classes=classes))
    names, (logits, codes, _) = characters(FEW), character_samples(FEW, n_samples=700)
    parquet.write_table(table(logits, names, codes), tmp_path / "val.parquet")
    new = logits[::-1] + np.where(np.arange(FEW) % 2, 3, 0)  # in every second class
    parquet.write_table(table(new, names, codes).drop(["label"]), tmp_path / "new.parquet")
    fitted = run_here("fit", "val.parquet", "-o", "head.npz", cwd=tmp_path, check=True)
    assert "Saved to head.npz" in fitted.stderr
    checked = run_here("check", "head.npz", "new.parquet", cwd=tmp_path, check=True)
    assert "more changes" in checked.stdout
    for text in (fitted.stdout, fitted.stderr, checked.stdout, checked.stderr):
        assert is_short(text)
    found = json.loads(run_here("check", "head.npz", "new.parquet", "--json", cwd=tmp_path, check=True).stdout)
    assert len(found["drift"]["changes"]) == 1 + 2 * FEW
