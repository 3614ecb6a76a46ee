"""The command with one column of scores: --positive names the class whose log-odds they are."""

import io
import json
import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import aftermax
from helpers.binary import WORDS, one_logit, sigmoid
from helpers.command import refused, run_here
from helpers.score_files import write_npz, write_table, write_text

Z, LABELS = one_logit(n_samples=150)
NEW, TRUTH = one_logit(n_samples=80, seed=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Score files of the same samples."""
    folder = tmp_path_factory.mktemp("one-score", numbered=False)
    write_table(folder / "scores.csv", {"score": Z, "label": WORDS[LABELS]})
    write_table(folder / "scores.parquet", {"score": Z, "label": WORDS[LABELS]})
    write_table(folder / "new.csv", {"id": np.arange(80), "score": NEW})
    write_table(folder / "shares.csv", {"p": sigmoid(Z), "label": WORDS[LABELS]})
    write_table(folder / "new-shares.csv", {"p": sigmoid(NEW), "label": WORDS[TRUTH]})
    write_npz(folder / "flat.npz", logits=Z, labels=WORDS[LABELS])
    write_npz(folder / "column.npz", logits=Z[:, None], labels=WORDS[LABELS])
    np.save(folder / "logits.npy", Z)
    np.save(folder / "labels.npy", WORDS[LABELS])
    np.save(folder / "new.npy", NEW)
    return folder


@pytest.fixture(scope="module")
def expected():
    return aftermax.fit(Z, WORDS[LABELS])


def predicted(text):
    return csv.read_csv(io.BytesIO(text.encode())).to_pydict()


@pytest.mark.parametrize("scores", ["scores.csv", "scores.parquet", "flat.npz", "column.npz", "logits.npy"])
def test_a_head_is_fitted_on_any_format_as_in_python(folder, tmp_path, expected, scores):
    labels = ["--labels", "labels.npy"] if scores.endswith(".npy") else []
    run_here("fit", scores, *labels, "--positive", "yes", "-o", tmp_path / "head.npz", cwd=folder, check=True)
    head = aftermax.load(tmp_path / "head.npz")
    assert head.n_features_in_ == 1
    np.testing.assert_array_equal(head.predict_proba(NEW), expected.predict_proba(NEW))


def test_predict_needs_no_option_and_finds_the_column_by_its_name(folder, tmp_path, expected):
    head = tmp_path / "head.npz"
    run_here("fit", "scores.csv", "--positive", "yes", "-o", head, cwd=folder, check=True)
    done = run_here("predict", head, "new.csv", "--probabilities", cwd=folder, check=True)
    table = predicted(done.stdout)
    assert table["predicted"] == expected.predict(NEW).tolist()
    np.testing.assert_allclose(table["yes"], expected.predict_proba(NEW)[:, 1], rtol=1e-6)
    with_labels = run_here("predict", head, "scores.csv", "-o", tmp_path / "out.csv", cwd=folder, check=True)
    assert f"accuracy: softmax {100 * np.mean((Z > 0) == LABELS):.2f} %" in with_labels.stderr


def test_the_positive_class_may_be_the_first_one(folder, tmp_path):
    write_table(tmp_path / "scores.csv", {"score": -Z, "label": WORDS[LABELS]})
    run_here("fit", tmp_path / "scores.csv", "--positive", "no", "-o", tmp_path / "head.npz", check=True)
    assert aftermax.load(tmp_path / "head.npz").classes_.tolist() == ["yes", "no"]
    write_table(tmp_path / "new.csv", {"score": [-9.0, 9.0]})
    done = run_here("predict", tmp_path / "head.npz", tmp_path / "new.csv", check=True)
    assert predicted(done.stdout)["predicted"] == ["yes", "no"]


def test_a_head_without_headings_takes_the_only_column_with_a_warning(folder, tmp_path, expected):
    head = tmp_path / "head.npz"
    run_here("fit", "flat.npz", "--positive", "yes", "-o", head, cwd=folder, check=True)
    assert run_here("predict", head, "new.npy", cwd=folder, check=True).stdout.count("\n") == 81
    done = run_here("predict", head, "new.csv", "--ignore", "id", cwd=folder, check=True)
    assert "has no column that is called like a class: score is used as the score of yes" in done.stderr
    assert predicted(done.stdout)["predicted"] == expected.predict(NEW).tolist()
    assert "new.csv has no column for yes" in refused("predict", head, "new.csv", cwd=folder)


def test_audit_takes_it_and_writes_the_report(folder, tmp_path):
    report = tmp_path / "report.html"
    done = run_here("audit", "scores.csv", "--positive", "yes", "--json", "--html", report, cwd=folder, check=True)
    found = json.loads(done.stdout)
    assert found["classes"] == ["no", "yes"]
    assert report.exists()


def test_probabilities_are_refused_and_taken_with_log_which_the_head_remembers(folder, tmp_path):
    head = tmp_path / "head.npz"
    message = refused("fit", "shares.csv", "--positive", "yes", "-o", head, cwd=folder)
    assert "all are in [0, 1]" in message
    assert "--log on the command line" in message
    run_here("fit", "shares.csv", "--positive", "yes", "--log", "-o", head, cwd=folder, check=True)
    done = run_here("predict", head, "new-shares.csv", cwd=folder, check=True)
    assert "of probabilities (their log-odds are the logits)" in done.stderr
    expected = aftermax.fit(np.log(sigmoid(Z) / (1 - sigmoid(Z))), WORDS[LABELS])
    assert predicted(done.stdout)["predicted"] == expected.predict(NEW).tolist()
    exported = run_here("export", head, tmp_path / "head.onnx", "--check", "shares.csv", cwd=folder, check=True)
    assert "It takes log-odds, log(p / (1 - p))" in exported.stderr
    as_json = run_here("export", head, tmp_path / "head.onnx", "--json", cwd=folder, check=True)
    assert json.loads(as_json.stdout)["takes"] == "log-odds"


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ("scores.csv", [], "too few columns of logits, 1 among score, label: .* with --positive"),
        ("flat.npz", [], r"logits have shape \(150,\): .*the one score of a binary model.*with --positive"),
        ("scores.csv", ["--positive", "Yes"], "--positive Yes is no label of scores.csv: there is 'yes'"),
        ("scores.csv", ["--positive", "yes", "--classes", "no,yes"], "--positive and --classes cannot be used"),
        ("two.csv", ["--positive", "yes"], "is for one column of scores, but two.csv has id, score: .*--ignore"),
        ("named.csv", ["--positive", "yes"], "contradicts named.csv, whose column is called no: rename"),
        (
            "three.csv",
            ["--positive", "yes"],
            "for two classes, but the labels are maybe, no, yes",
        ),
        ("hole.csv", ["--positive", "yes"], "hole.csv, line 3, column 'score' is empty or NaN"),
        ("empty.csv", ["--positive", "yes"], "empty.csv has no rows"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, folder, scores, options, message):
    for name in ("scores.csv", "flat.npz"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    words = WORDS[LABELS]
    write_table(tmp_path / "two.csv", {"id": np.arange(150), "score": Z, "label": words})
    write_table(tmp_path / "named.csv", {"no": Z, "label": words})
    write_table(tmp_path / "three.csv", {"score": Z, "label": pa.array(["maybe", *words[1:]])})
    write_text(tmp_path / "hole.csv", "score,label\n1.5,yes\n,no\n")
    write_text(tmp_path / "empty.csv", "score,label\n")
    found = refused("fit", scores, *options, "-o", "head.npz", cwd=tmp_path)
    assert re.search(message, found), found
    assert not (tmp_path / "head.npz").exists()
