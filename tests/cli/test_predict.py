"""aftermax predict: the head's predictions, from and to every format."""

import gzip
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import aftermax
from aftermax._scorefiles.write import round_for_text
from helpers.command import SCRIPT, refused, run, run_here
from helpers.samples import make_samples

NAMES = np.array(["ant", "bee", "cat"])


def rows(count=200, seed=2):
    logits, labels = make_samples(seed=seed, n_samples=count, n_classes=3)
    return logits + np.array([2.0, -1.0, 0.0]), labels


@pytest.fixture(scope="module")
def head():
    logits, labels = rows(seed=1)
    return aftermax.SPHClassifier(min_gain=-1.0).fit(logits, NAMES[labels])


@pytest.fixture(scope="module")
def folder(tmp_path_factory, head):
    """A head, and score files of the same samples."""
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
    done = run_here("predict", "head.npz", source, "-o", path, "--probabilities", cwd=folder, check=True)
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
        rounding = 0 if out == ".parquet" else 5e-9
        np.testing.assert_allclose(np.column_stack([table[name] for name in NAMES]), shares, rtol=rounding)
    summary = "200 rows" if source == "logits.npy" else f"200 rows, 200 with labels; {accuracies(head)}"
    assert done.stderr == f"{summary}. Written to {path}\n"
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == [path]


def test_predictions_alone_fit_in_an_npy_file_and_labels_may_be_in_another_file(folder, head, tmp_path):
    path = tmp_path / "predictions.npy"
    asked = ["--labels", "labels.npy", "--json", "--out", path]
    done = run_here("predict", "head.npz", "logits.npy", *asked, cwd=folder, check=True)
    np.testing.assert_array_equal(np.load(path), head.predict(rows()[0]))
    printed = json.loads(done.stdout)
    assert (printed["rows"], printed["labelled"], printed["written"]) == (200, 200, str(path))
    assert (printed["scores"], printed["unknown"], printed["unknown_labels"]) == ("logits", 0, [])
    assert printed["accuracy_head"] == head.score(rows()[0], NAMES[rows()[1]])


def test_csv_goes_through_pipes_with_columns_kept(folder, head):
    asked = ["predict", "head.npz", "-", "--keep", "id,label"]
    done = run(*asked, cwd=folder, check=True, input=(folder / "scores.csv").read_text())
    lines = done.stdout.splitlines()
    assert lines[0] == "id,label,predicted"
    assert lines[1] == f'"n,0","{NAMES[rows()[1][0]]}","{head.predict(rows()[0])[0]}"'
    assert len(lines) == 201


def test_text_has_quotes_only_where_it_needs_them(folder, head):
    done = run_here("predict", "head.npz", "scores.npz", cwd=folder, check=True)
    assert done.stdout.splitlines() == ["predicted", *head.predict(rows()[0])]


def test_probabilities_have_nine_digits_in_text():
    shares = np.array([1.0, 0.0, 2 / 3, 1 / 30, 0.1, 1.23456789123e-5, 1.23456789123e-18, 5e-324])
    texts = ["1.0", "0.0", "0.666666667", "0.0333333333", "0.1", "1.23456789e-05", "1.2346e-18", "0.0"]
    assert list(map(repr, round_for_text(shares).tolist())) == texts


def test_columns_are_found_by_name_in_any_order_and_others_are_ignored(folder, head, tmp_path):
    logits, _ = rows()
    table = {"weight": [0.5] * 200, "cat": logits[:, 2], "ant": logits[:, 0], "note": ["x"] * 200, "bee": logits[:, 1]}
    csv.write_csv(pa.table(table), tmp_path / "s.csv")
    done = run_here("predict", folder / "head.npz", tmp_path / "s.csv", check=True)
    assert done.stdout.splitlines()[1:] == head.predict(logits).tolist()


def test_options_choose_parts_labels_and_logarithms(head, folder, tmp_path):
    logits, labels = rows()
    table = {"ant": logits[:, 0], "bee": logits[:, 1], "cat": logits[:, 2], "y": NAMES[labels]}
    parquet.write_table(pa.table(table), tmp_path / "s.parquet")
    done = run_here("predict", folder / "head.npz", tmp_path / "s.parquet", "--label-column", "y", check=True)
    assert done.stdout.splitlines()[1:] == head.predict(logits).tolist()
    assert accuracies(head) in done.stderr
    shares = np.exp(logits - logits.max())
    np.savez(tmp_path / "s.npz", val_logits=logits[:5], test_logits=shares, test_labels=labels)
    done = run_here("predict", folder / "head.npz", tmp_path / "s.npz", "--part", "test", "--log", check=True)
    assert done.stdout.splitlines()[1:] == head.predict(np.log(shares)).tolist()
    summary = "200 rows of probabilities (their logarithms are the logits)"
    assert done.stderr == f"{summary}; all 200 labels are unknown to the head, such as '2', '0', '1'\n"


def test_labels_that_the_head_does_not_know_are_counted_and_named(head, folder, tmp_path):
    logits, labels = rows()
    stray = np.where(np.arange(200) % 50 == 0, "Ant", NAMES[labels])
    np.savez(tmp_path / "s.npz", logits=logits, labels=stray)
    done = run_here("predict", folder / "head.npz", tmp_path / "s.npz", check=True)
    assert done.stderr.startswith("200 rows, 196 with labels; accuracy: softmax ")
    assert done.stderr.endswith(" %; 4 labels are unknown to the head, such as 'Ant'\n")
    asked = ["-o", tmp_path / "p.npy", "--json"]
    printed = json.loads(run_here("predict", folder / "head.npz", tmp_path / "s.npz", *asked, check=True).stdout)
    assert (printed["labelled"], printed["unknown"], printed["unknown_labels"]) == (196, 4, ["Ant"])
    (tmp_path / "s.csv").write_text("ant,bee,cat,label\n1,2,3,\n1,2,3,bee\n")
    done = run_here("predict", folder / "head.npz", tmp_path / "s.csv", check=True)
    assert done.stderr.startswith("2 rows, 1 with labels; ")
    assert "unknown" not in done.stderr


def test_columns_of_other_names_are_read_in_order_if_the_classes_are_0_1_2(tmp_path):
    logits, labels = rows()
    head = aftermax.SPHClassifier(min_gain=-1.0).fit(logits, labels)
    aftermax.save(head, tmp_path / "head.npz")
    csv.write_csv(pa.table({name: logits[:, j] for j, name in enumerate("zyx")}), tmp_path / "s.csv")
    done = run_here("predict", "head.npz", "s.csv", cwd=tmp_path, check=True)
    assert done.stdout.splitlines()[1:] == list(map(str, head.predict(logits)))
    warning, summary = done.stderr.splitlines()
    assert warning == (
        "aftermax: warning: s.csv has no column that is called like a class: z, y, x are used as 0, 1, 2, in this "
        "order."
    )
    assert summary == "200 rows"
    rename = "Name the columns as in the file that the head was fitted on."
    for headings, words in (
        (
            "5.0640,1.2,-0.3",
            "s.csv: the first line holds numbers, not names (5.0640, 1.2, -0.3): add a line of headings.",
        ),
        ("5,9,-3", "s.csv: the first line holds numbers, not names (5, 9, -3): add a line of headings."),
        ("1,2,3", f"s.csv has no column for 0. Its columns are 1, 2, 3. {rename}"),
        ("a,b,c,d", f"s.csv has no column for 0, 1, 2. Its columns are a, b, c, d. {rename}"),
    ):
        (tmp_path / "s.csv").write_text(headings + "\n" + "1,2,3,4\n"[: 2 * headings.count(",") + 1] + "\n")
        assert refused("predict", "head.npz", "s.csv", cwd=tmp_path) == f"aftermax: {words}\n"


def test_columns_are_found_by_the_names_that_a_head_was_fitted_on(tmp_path):
    logits, labels = rows()
    frame = pd.DataFrame(logits, columns=["z0", "z1", "z2"])
    head = aftermax.SPHClassifier(min_gain=-1.0).fit(frame, labels)
    aftermax.save(head, tmp_path / "head.npz")
    frame[["z2", "z0", "z1"]].assign(note="x").to_csv(tmp_path / "s.csv")
    done = run_here("predict", "head.npz", "s.csv", cwd=tmp_path, check=True)
    assert done.stdout.splitlines()[1:] == [str(one) for one in head.predict(frame)]
    assert done.stderr == "200 rows\n"


def test_a_head_with_features_reads_them_and_refuses_files_without_them(tmp_path):
    logits, labels = rows()
    head = aftermax.AutoHead().fit(logits, labels, features=logits[:, ::-1])
    aftermax.save(head, tmp_path / "head.npz")
    np.save(tmp_path / "logits.npy", logits)
    np.save(tmp_path / "features.npy", logits[:, ::-1])
    asked = ["predict", "head.npz", "logits.npy"]
    done = run_here(*asked, "--features", "features.npy", cwd=tmp_path, check=True)
    assert done.stdout.splitlines()[1:] == [str(one) for one in head.predict(logits, features=logits[:, ::-1])]
    for number, part in enumerate(np.hsplit(logits[:, ::-1], 3)):
        np.save(tmp_path / f"layer{number}.npy", part)
    layers = [text for number in range(3) for text in ("--features", f"layer{number}.npy")]
    assert run_here(*asked, *layers, cwd=tmp_path, check=True).stdout == done.stdout
    np.save(tmp_path / "layer2.npy", logits[1:, :1])
    message = refused(*asked, *layers, cwd=tmp_path)
    assert message.startswith(f"aftermax: layer2.npy has {len(logits) - 1} rows but logits.npy has more")
    message = refused(*asked, cwd=tmp_path)
    assert message.startswith("aftermax: logits.npy has no features, but the head was fitted with 3.")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            ["scores.csv", "-o", "p.xlsx"],
            "p.xlsx: predictions are written to files that end in .csv, .csv.gz, .parquet",
        ),
        (["scores.csv", "-o", "."], ". is a folder: name a file in it."),
        (
            ["scores.csv", "-o", "p.npy", "--probabilities"],
            "p.npy: an .npy file holds one array, so it has no room for --probabilities",
        ),
        (["scores.csv", "-o", "p.npz", "--keep", "id"], "p.npz cannot hold the columns of --keep: write a"),
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
        (["less.csv"], "less.csv has no column for cat. Its columns are id, ant, bee, owl."),
        (["other.csv"], "other.csv has no column for ant, bee, cat. Its columns are a, b, c."),
        (["scores.csv", "-o", "scores.csv"], "scores.csv is one of the inputs and would be overwritten: choose an"),
        (["scores.csv", "-o", "head.npz"], "head.npz is one of the inputs and would be overwritten: choose an"),
        (["scores.csv", "-o", "new/p.csv"], "new/p.csv cannot be written: folder new is not there."),
        (["narrow.npy"], "narrow.npy has 2 columns of logits, but the head was fitted on 3."),
        (["none.csv"], "none.csv has no rows."),
    ],
)
def test_an_error_is_one_line_and_nothing_is_written(folder, asked, words):
    (folder / "less.csv").write_text("id,ant,bee,owl\nx7,1,2,3\n")
    (folder / "other.csv").write_text("a,b,c\n1,2,3\n")
    (folder / "none.csv").write_text("ant,bee,cat\n")
    np.save(folder / "narrow.npy", np.zeros((4, 2)))
    before = sorted(folder.iterdir())
    assert refused("predict", "head.npz", *asked, cwd=folder).startswith(f"aftermax: {words}")
    assert sorted(folder.iterdir()) == before


def test_a_file_that_is_not_a_head_is_refused(folder):
    message = refused("predict", "scores.npz", "scores.csv", cwd=folder)
    assert re.match(r"aftermax: scores.npz is (no|not a) head file: it is an archive of ", message)
    assert message.endswith(" or 'aftermax fit' wrote.\n")
    message = refused("predict", "scores.csv", "head.npz", cwd=folder)
    assert (
        message == "aftermax: scores.csv is not a head file, but head.npz is: name the head first, then the scores.\n"
    )
    assert refused("predict", "nowhere.npz", "scores.csv", cwd=folder) == "aftermax: nowhere.npz is not there.\n"
    assert refused("predict", ".", "scores.csv", cwd=folder) == "aftermax: . is a folder: name a file in it.\n"


def test_an_error_far_down_leaves_the_old_file(folder, tmp_path):
    (tmp_path / "p.csv").write_text("what was there")
    bad = "ant,bee,cat\n" + "1.25,2.5,3.75\n" * 90_000 + "1,2,x\n"
    (tmp_path / "s.csv").write_text(bad)
    message = refused("predict", folder / "head.npz", "s.csv", "-o", "p.csv", cwd=tmp_path)
    assert message.startswith("aftermax: s.csv, line 90002, column 'cat': 'x' is not a number")
    assert (tmp_path / "p.csv").read_text() == "what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.csv", "s.csv"]


def test_a_closed_pipe_is_not_an_error(folder, tmp_path):
    np.save(tmp_path / "many.npy", np.tile(rows()[0], (500, 1)))
    started = subprocess.Popen([SCRIPT, "predict", folder / "head.npz", tmp_path / "many.npy"], stdout=-1, stderr=-1)
    started.stdout.readline()
    started.stdout.close()
    assert started.stderr.read() == b""
    assert started.wait(timeout=300) == 1
    started.stderr.close()


@pytest.mark.parametrize(
    "kind", [".csv", *(pytest.param(kind, marks=pytest.mark.slow) for kind in (".parquet", ".npz"))]
)
def test_memory_does_not_grow_with_the_rows(tmp_path, kind):
    aftermax.save(aftermax.SPHClassifier(certainty=0.0).fit(*make_samples(n_classes=20)), tmp_path / "head.npz")
    asked = [SCRIPT, "predict", "head.npz", f"s{kind}", "-o", "p.parquet", "--probabilities"]
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )

    def peak(count):
        logits, _ = make_samples(n_samples=count, n_classes=20)
        table = pa.table({f"z{j}": logits[:, j] for j in range(20)})
        if kind == ".csv":
            csv.write_csv(table, tmp_path / "s.csv")
        elif kind == ".parquet":
            parquet.write_table(table, tmp_path / "s.parquet", row_group_size=25_000)
        else:
            np.savez(tmp_path / "s.npz", logits=logits)
        command = [sys.executable, "-c", code, *asked]
        return int(subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout) / 1024

    # 150,000 rows more are 24 megabytes of logits, as many of probabilities, and 57 as text; a row group may be 8 more.
    assert peak(200_000) - peak(50_000) < 30


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "@SUM(1)", "+cmd|x", "\t=1+1"])
def test_class_names_that_are_formulas_are_not_written_to_csv(tmp_path, name):
    names = np.array([name, "bee", "cat"])
    logits, labels = rows()
    aftermax.save(aftermax.SoftmaxClassifier(classes=names).fit(logits, names[labels]), tmp_path / "head.npz")
    np.save(tmp_path / "logits.npy", logits)
    for out in ("out.csv", "out.csv.gz", "-"):
        message = refused("predict", "head.npz", "logits.npy", "-o", out, cwd=tmp_path)
        assert "would be a formula to a spreadsheet that opens a .csv file: write a .parquet" in message
    run_here("predict", "head.npz", "logits.npy", "-o", "out.npz", cwd=tmp_path, check=True)
    assert set(np.load(tmp_path / "out.npz")["predicted"]) <= set(names)


def test_class_names_that_only_begin_like_formulas_are_written(tmp_path):
    names = np.array(["-1", "@home", "+"])
    logits, labels = rows()
    aftermax.save(aftermax.SoftmaxClassifier(classes=names).fit(logits, names[labels]), tmp_path / "head.npz")
    np.save(tmp_path / "logits.npy", logits)
    done = run_here("predict", "head.npz", "logits.npy", cwd=tmp_path, check=True)
    assert set(done.stdout.splitlines()[1:]) <= set(names)
