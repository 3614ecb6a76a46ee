"""aftermax predict, as installed: the head's own answers, from and to every kind of file."""

import gzip
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import aftermax
from command import SCRIPT, refused, run
from conftest import make_rows

NAMES = np.array(["ant", "bee", "cat"])


def rows(count=200, seed=2):
    logits, labels = make_rows(seed=seed, rows=count, size=3)
    return logits + np.array([2.0, -1.0, 0.0]), labels


@pytest.fixture(scope="module")
def head():
    logits, labels = rows(seed=1)
    return aftermax.SPHClassifier(min_gain=-1.0).fit(logits, NAMES[labels])


@pytest.fixture(scope="module")
def folder(tmp_path_factory, head):
    """A head, and score files of the same rows."""
    folder = tmp_path_factory.mktemp("scores")
    aftermax.save(head, folder / "head.npz")
    logits, labels = rows()
    table = {"id": [f"n,{n}" for n in range(200)]} | {name: logits[:, j] for j, name in enumerate(NAMES)}
    csv.write_csv(pa.table(table | {"label": NAMES[labels]}), folder / "scores.csv")
    parquet.write_table(pa.table(table | {"label": NAMES[labels]}), folder / "scores.parquet")
    np.savez(folder / "scores.npz", logits=logits, labels=NAMES[labels], features=logits)
    np.save(folder / "logits.npy", logits)
    np.save(folder / "labels.npy", NAMES[labels])
    return folder


def accuracies(head):
    logits, labels = rows()
    softmax, ours = np.mean(logits.argmax(axis=1) == labels), head.score(logits, NAMES[labels])
    return f"accuracy: softmax {100 * softmax:.2f} %, with the head {100 * ours:.2f} %"


def read_table(path):
    if path.suffix == ".parquet":
        return parquet.read_table(path)
    return csv.read_csv(gzip.open(path)) if path.suffix == ".gz" else csv.read_csv(path)


# ---- predict ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "out"),
    [("scores.csv", ".parquet"), ("scores.parquet", ".csv"), ("scores.npz", ".csv.gz"), ("logits.npy", ".npz")],
)
def test_predictions_are_the_heads_from_and_to_every_kind_of_file(folder, head, tmp_path, source, out):
    path = tmp_path / f"predictions{out}"
    done = run("predict", "head.npz", source, "-o", path, "--probabilities", cwd=folder, check=True)
    expected, shares = head.predict(rows()[0]), head.predict_proba(rows()[0])
    if out == ".npz":
        with np.load(path) as found:
            assert found.files == ["predicted", "probabilities", "classes"]
            np.testing.assert_array_equal(found["predicted"], expected)
            np.testing.assert_array_equal(found["probabilities"], shares)
            np.testing.assert_array_equal(found["classes"], NAMES)
    else:
        table = read_table(path)
        assert table.column_names == ["predicted", *NAMES]
        assert table["predicted"].to_pylist() == expected.tolist()
        np.testing.assert_array_equal(np.column_stack([table[name].to_numpy() for name in NAMES]), shares)
    told = "200 rows" if source == "logits.npy" else f"200 rows, 200 with labels; {accuracies(head)}"
    assert done.stderr == f"{told}. Written to {path}\n"
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == [path]


def test_answers_alone_fit_in_an_npy_file_and_labels_may_be_apart(folder, head, tmp_path):
    path = tmp_path / "predictions.npy"
    asked = ["--labels", "labels.npy", "--json", "--out", path]
    done = run("predict", "head.npz", "logits.npy", *asked, cwd=folder, check=True)
    np.testing.assert_array_equal(np.load(path), head.predict(rows()[0]))
    told = json.loads(done.stdout)
    assert (told["rows"], told["labelled"], told["written"]) == (200, 200, str(path))
    assert told["accuracy_head"] == head.score(rows()[0], NAMES[rows()[1]])


def test_csv_goes_through_pipes_with_columns_kept(folder, head):
    asked = ["predict", "head.npz", "-", "--keep", "id,label"]
    done = run(*asked, cwd=folder, check=True, input=(folder / "scores.csv").read_text())
    lines = done.stdout.splitlines()
    assert lines[0] == "id,label,predicted"
    assert lines[1] == f'"n,0","{NAMES[rows()[1][0]]}","{head.predict(rows()[0])[0]}"'
    assert len(lines) == 201


def test_text_has_quotes_only_where_it_needs_them(folder, head):
    done = run("predict", "head.npz", "scores.npz", cwd=folder, check=True)
    assert done.stdout.splitlines() == ["predicted", *head.predict(rows()[0])]


def test_columns_are_found_by_name_in_any_order_and_the_rest_is_left(folder, head, tmp_path):
    logits, _ = rows()
    table = {"weight": [0.5] * 200, "cat": logits[:, 2], "ant": logits[:, 0], "note": ["x"] * 200, "bee": logits[:, 1]}
    csv.write_csv(pa.table(table), tmp_path / "s.csv")
    done = run("predict", folder / "head.npz", tmp_path / "s.csv", check=True)
    assert done.stdout.splitlines()[1:] == head.predict(logits).tolist()


def test_columns_of_other_names_are_taken_in_order_and_parts_and_labels_by_name(head, folder, tmp_path):
    logits, labels = rows()
    table = {"n": np.arange(200) + 0.5, "z0": logits[:, 0], "z1": logits[:, 1], "z2": logits[:, 2], "y": NAMES[labels]}
    parquet.write_table(pa.table(table), tmp_path / "s.parquet")
    asked = ["--ignore", "n", "--label-column", "y"]
    done = run("predict", folder / "head.npz", tmp_path / "s.parquet", *asked, check=True)
    assert done.stdout.splitlines()[1:] == head.predict(logits).tolist()
    assert accuracies(head) in done.stderr
    np.savez(tmp_path / "s.npz", val_logits=logits[:5], test_logits=np.exp(logits), test_labels=labels)
    done = run("predict", folder / "head.npz", tmp_path / "s.npz", "--part", "test", "--log", check=True)
    assert done.stdout.splitlines()[1:] == head.predict(np.log(np.exp(logits))).tolist()
    assert done.stderr == "200 rows\n"  # the labels 0, 1, 2 are none of the classes


def test_columns_are_found_by_the_names_that_a_head_was_fitted_on(tmp_path):
    logits, labels = rows()
    frame = pd.DataFrame(logits, columns=["z0", "z1", "z2"])
    head = aftermax.SPHClassifier(min_gain=-1.0).fit(frame, labels)
    aftermax.save(head, tmp_path / "head.npz")
    frame[["z2", "z0", "z1"]].assign(note="x").to_csv(tmp_path / "s.csv")
    done = run("predict", "head.npz", "s.csv", cwd=tmp_path, check=True)
    assert done.stdout.splitlines()[1:] == [str(one) for one in head.predict(frame)]
    assert done.stderr == "200 rows\n"


def test_heads_with_features_get_them_and_say_so_if_there_are_none(tmp_path):
    logits, labels = rows()
    head = aftermax.AutoHead().fit(logits, labels, features=logits[:, ::-1])
    aftermax.save(head, tmp_path / "head.npz")
    np.save(tmp_path / "logits.npy", logits)
    np.save(tmp_path / "features.npy", logits[:, ::-1])
    asked = ["predict", "head.npz", "logits.npy"]
    done = run(*asked, "--features", "features.npy", cwd=tmp_path, check=True)
    assert done.stdout.splitlines()[1:] == [str(one) for one in head.predict(logits, features=logits[:, ::-1])]
    said = refused(*asked, cwd=tmp_path)
    assert said.startswith("aftermax: logits.npy has no features, but the head was fitted with 3.")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["scores.csv", "-o", "p.xlsx"], "p.xlsx: predictions go to files that end in .csv, .csv.gz, .parquet"),
        (["scores.csv", "-o", "."], ". is a folder: name a file in it."),
        (
            ["scores.csv", "-o", "p.npy", "--probabilities"],
            "p.npy: an .npy file holds one array, so no --probabilities",
        ),
        (["scores.csv", "-o", "p.npz", "--keep", "id"], "p.npz cannot --keep columns: write a .csv or .parquet file."),
        (["scores.npz", "--keep", "id"], "scores.npz has no columns to --keep"),
        (
            ["scores.csv", "--keep", "name"],
            "scores.csv has no column 'name' for --keep: it has id, ant, bee, cat, label.",
        ),
        (
            ["scores.csv", "--json"],
            "--json and the predictions cannot both go to standard output: name a file with -o.",
        ),
        (["logits.npy", "--features", "logits.npy"], "This head was fitted without features: leave --features out."),
        (["less.csv"], "less.csv has no column for cat. Its columns are ant, bee, owl."),
        (
            ["more.csv"],
            "more.csv has 4 columns of logits, but the head was fitted on 3. Its columns are a, b, c, d: leave",
        ),
        (["narrow.npy"], "narrow.npy has 2 columns of logits, but the head was fitted on 3."),
        (["none.csv"], "none.csv has no rows."),
    ],
)
def test_what_cannot_be_predicted_is_said_in_one_line(folder, asked, words):
    (folder / "less.csv").write_text("ant,bee,owl\n1,2,3\n")
    (folder / "more.csv").write_text("a,b,c,d\n1,2,3,4\n")
    (folder / "none.csv").write_text("ant,bee,cat\n")
    np.save(folder / "narrow.npy", np.zeros((4, 2)))
    before = sorted(folder.iterdir())
    assert refused("predict", "head.npz", *asked, cwd=folder).startswith(f"aftermax: {words}")
    assert sorted(folder.iterdir()) == before


def test_a_head_that_is_none_is_refused(folder):
    assert refused("predict", "scores.npz", "scores.csv", cwd=folder).startswith("aftermax: scores.npz ")


def test_an_error_far_down_leaves_what_was_there(folder, tmp_path):
    (tmp_path / "p.csv").write_text("what was there")
    bad = "ant,bee,cat\n" + "1.25,2.5,3.75\n" * 90_000 + "1,2,x\n"
    (tmp_path / "s.csv").write_text(bad)
    said = refused("predict", folder / "head.npz", "s.csv", "-o", "p.csv", cwd=tmp_path)
    assert said.startswith("aftermax: s.csv, line 90002, column 'cat': 'x' is no number")
    assert (tmp_path / "p.csv").read_text() == "what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.csv", "s.csv"]


def test_a_reader_that_has_had_enough_is_no_error(folder, tmp_path):
    np.save(tmp_path / "many.npy", np.tile(rows()[0], (500, 1)))
    started = subprocess.Popen([SCRIPT, "predict", folder / "head.npz", tmp_path / "many.npy"], stdout=-1, stderr=-1)
    started.stdout.readline()
    started.stdout.close()
    assert started.stderr.read() == b""
    assert started.wait(timeout=60) == 1
    started.stderr.close()


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".npz"])
def test_memory_does_not_grow_with_the_rows(tmp_path, kind):
    aftermax.save(aftermax.SPHClassifier().fit(*make_rows(size=20)), tmp_path / "head.npz")
    asked = [SCRIPT, "predict", "head.npz", f"s{kind}", "-o", "p.parquet", "--probabilities"]
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )

    def peak(count):
        logits, _ = make_rows(rows=count, size=20)
        table = pa.table({f"z{j}": logits[:, j] for j in range(20)})
        if kind == ".csv":
            csv.write_csv(table, tmp_path / "s.csv")
        elif kind == ".parquet":
            parquet.write_table(table, tmp_path / "s.parquet", row_group_size=25_000)
        else:
            np.savez(tmp_path / "s.npz", logits=logits)
        command = [sys.executable, "-c", code, *asked]
        return int(subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout) / 1024

    # 150,000 rows more are 24 megabytes of logits, as many of probabilities, and 57 as text.
    assert peak(200_000) - peak(50_000) < 20
