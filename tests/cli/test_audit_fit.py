"""aftermax audit and aftermax fit, as installed: the same answers as from Python, from every kind of file."""

import io
import json
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import aftermax
from aftermax import AutoHead, SPHClassifierCV
from aftermax._cli import _tell
from aftermax._cli.options import tell_if_first
from aftermax.sph.classifier_cv import rare_classes_in_words
from helpers.command import refused, run, run_here
from helpers.samples import make_samples

NAMES = np.array(["ant", "bee", "cat"])


def weak(rows=150, seed=1):
    """Rows of a network whose softmax leaves much on the table."""
    logits, labels = make_samples(seed=seed, rows=rows, size=3)
    return logits + np.array([2.0, -1.0, 0.0]), labels


@pytest.fixture(scope="module")
def found():
    logits, labels = weak()
    return aftermax.audit(logits, NAMES[labels])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Score files of the same rows."""
    folder = tmp_path_factory.mktemp("scores", numbered=False)
    logits, labels = weak()
    table = pa.table({name: logits[:, j] for j, name in enumerate(NAMES)} | {"label": NAMES[labels]})
    csv.write_csv(table, folder / "scores.csv")
    parquet.write_table(table, folder / "scores.parquet")
    np.save(folder / "logits.npy", logits)
    np.save(folder / "labels.npy", labels)
    np.save(folder / "features.npy", logits[:, ::-1] + make_samples(seed=9, rows=150, size=3)[0])
    np.savez(folder / "parts.npz", val_logits=logits, val_labels=labels, val_features=logits, test_logits=logits)
    shifted = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    table = {"id": np.arange(150), "z1": shifted[:, 1], "z0": shifted[:, 0], "z2": shifted[:, 2]}
    csv.write_csv(pa.table(table | {"truth": NAMES[labels]}), folder / "odd.csv")
    return folder


# ---- audit -----------------------------------------------------------------------------------------------------------


def test_audit_prints_what_python_prints_verdict_first(folder, found):
    done = run("audit", "scores.csv", cwd=folder, check=True)
    assert done.stdout == f"{found}\n"
    assert done.stdout.startswith(found.verdict)
    assert done.stderr == ""


def test_json_is_what_python_gives_and_nothing_else_and_the_report_is_written(folder, found):
    done = run_here("audit", "scores.parquet", "--json", "--html", "report.html", cwd=folder, check=True)
    assert json.loads(done.stdout) == json.loads(json.dumps(found.to_dict()))
    page = (folder / "report.html").read_text()
    assert found.verdict.removeprefix("Yes:").split(";")[0] in page
    assert "<h1>Is there accuracy left on the table? scores.parquet</h1>" in page


def test_audit_says_where_the_report_is_and_gives_it_a_title(folder):
    asked = ["audit", "-", "--html", "new.HTM", "--title", "Spring & autumn", "--jobs", "1", "--head", "sph"]
    done = run_here(*asked, cwd=folder, check=True, input=(folder / "scores.csv").read_text())
    assert done.stderr == "Written to new.HTM\n"
    assert "<h1>Spring &amp; autumn</h1>" in (folder / "new.HTM").read_text()


def test_audit_takes_sph_and_a_seed(folder):
    logits, labels = weak()
    expected = aftermax.audit(logits, labels, SPHClassifierCV(random_state=7), random_state=7)
    asked = ["audit", "logits.npy", "--labels", "labels.npy", "--head", "sph", "--seed", "7", "--json"]
    done = run_here(*asked, cwd=folder, check=True)
    assert json.loads(done.stdout) == json.loads(json.dumps(expected.to_dict()))


def test_columns_of_any_name_and_probabilities_are_taken_when_said_so(folder, found):
    asked = ["--label-column", "truth", "--ignore", "id", "--classes", "bee,ant,cat", "--log", "--json"]
    done = run_here("audit", "odd.csv", *asked, cwd=folder, check=True)
    told = json.loads(done.stdout)
    assert told["classes"] == ["bee", "ant", "cat"]
    assert told["error_before"] == pytest.approx(found.error_before)
    assert told["gain"] == pytest.approx(found.gain, abs=0.1)


def test_warnings_are_one_line_in_the_commands_words(folder):
    asked = ["--label-column", "truth", "--ignore", "id", "--classes", "bee,ant,cat", "--head", "sph"]
    done = run_here("audit", "odd.csv", *asked, cwd=folder, check=True)
    assert done.stderr.startswith("aftermax: warning: logits look like probabilities")
    assert done.stderr.endswith("in Python, --log on the command line.\n")
    assert done.stderr.count("\n") == 1


def test_warnings_have_no_python_in_them(capsys):
    _tell(rare_classes_in_words(NAMES))
    assert "may be lost to the others, and the gain cannot see it." in capsys.readouterr().err


# ---- fit -------------------------------------------------------------------------------------------------------------


def test_fit_says_what_to_expect_and_saves_a_head_that_answers_as_pythons(folder, found, tmp_path):
    done = run("fit", folder / "scores.csv", "-o", tmp_path / "head.npz", check=True)
    verdict, expected, saved = done.stderr.splitlines()
    assert verdict == found.verdict
    assert expected.startswith("Chosen: combination. Fewer errors to expect: +")
    assert saved == f"Saved to {tmp_path / 'head.npz'}."
    assert done.stdout == ""
    head, logits = aftermax.load(tmp_path / "head.npz"), weak(seed=5)[0]
    np.testing.assert_array_equal(head.predict_proba(logits), found.head.predict_proba(logits))
    assert head.classes_.tolist() == NAMES.tolist()


def test_fit_takes_parts_features_and_weights_and_tells_in_json(folder, tmp_path):
    logits, labels = weak()
    features = np.load(folder / "features.npy")
    asked = ["--part", "val", "--features", folder / "features.npy", "--class-weight", "balanced", "--json"]
    done = run_here("fit", folder / "parts.npz", *asked, "--out", tmp_path / "head.npz", check=True)
    told = json.loads(done.stdout)
    assert (told["saved"], told["scores"]) == (str(tmp_path / "head.npz"), "logits")
    expected = AutoHead(class_weight="balanced").fit(logits, labels, features=features)
    assert told["chosen"] == expected.chosen_
    unseen = weak(seed=5)[0]
    answers = aftermax.load(tmp_path / "head.npz").predict(unseen, features=unseen)
    np.testing.assert_array_equal(answers, expected.predict(unseen, features=unseen))


def test_fit_can_leave_features_out_and_says_when_softmax_stays(folder, tmp_path):
    logits, labels = make_samples(seed=4, rows=80, size=3, home=9.0)
    np.savez(tmp_path / "strong.npz", logits=logits, labels=labels, features=logits)
    done = run_here("fit", "strong.npz", "--logits-only", "-o", "head.npz", cwd=tmp_path, check=True)
    assert done.stderr.splitlines()[1] == "Softmax stays: the head answers as softmax does."
    np.testing.assert_array_equal(aftermax.load(tmp_path / "head.npz").predict(logits), logits.argmax(axis=1))


def test_a_head_knows_the_scores_that_it_was_fitted_on(folder, tmp_path):
    """Found by a newcomer: predict without --log ruined the answers of a head that was fitted with it."""
    named = ["--label-column", "truth", "--ignore", "id"]
    fitted = [*named, "--classes", "bee,ant,cat", "--log", "--head", "sph"]
    done = run_here("fit", "odd.csv", *fitted, "-o", tmp_path / "head.npz", cwd=folder, check=True)
    assert done.stderr.endswith("head.npz. It takes probabilities, and predict needs no --log.\n")
    table = csv.read_csv(folder / "odd.csv")
    head = aftermax.load(tmp_path / "head.npz")
    expected = head.predict(np.log([table[name].to_numpy() for name in ("z1", "z0", "z2")]).T).tolist()
    assert expected != [head.classes_[0]] * 150
    for asked in ([], ["--log"]):  # which is no mistake, but not needed
        done = run_here("predict", tmp_path / "head.npz", "odd.csv", *named, *asked, cwd=folder, check=True)
        assert done.stdout.splitlines() == ["predicted", *expected]
        assert done.stderr.startswith("150 rows of probabilities, whose logarithms were taken, 150 with labels; acc")
    done = run_here("predict", tmp_path / "head.npz", "odd.csv", "-o", tmp_path / "p.npy", "--json", cwd=folder)
    assert json.loads(done.stdout)["scores"] == "probabilities"
    csv.write_csv(table.select(["z2", "z0", "z1"]), tmp_path / "shuffled.csv")
    done = run_here("predict", tmp_path / "head.npz", tmp_path / "shuffled.csv", check=True)
    assert done.stdout.splitlines() == ["predicted", *expected]
    said = refused("predict", tmp_path / "head.npz", "logits.npy", cwd=folder)
    assert "is no probability (0 to 1), which --log wants, and a head that was fitted with it. Divide" in said


def test_fit_tells_in_json_that_the_head_takes_probabilities(tmp_path):
    (tmp_path / "s.csv").write_text("a,b,label\n" + "0.75,0.25,a\n0.5,0.5,b\n" * 10)
    asked = ["fit", "s.csv", "-o", "head.npz", "--log", "--head", "sph", "--json"]
    assert json.loads(run_here(*asked, cwd=tmp_path, check=True).stdout)["scores"] == "probabilities"


def test_the_first_run_says_that_it_compiles(monkeypatch, tmp_path, capsys):
    from aftermax.sph import _kernels as kernels

    stats = SimpleNamespace(cache_path=str(tmp_path))
    monkeypatch.setattr(kernels, "certainties", SimpleNamespace(stats=stats))
    tell_if_first()
    assert capsys.readouterr().err.startswith("aftermax: the first run compiles, which may take a minute")
    (tmp_path / "kernels.certainties-81.py311.nbi").touch()
    tell_if_first()
    assert capsys.readouterr().err == ""
    assert kernels.describe_classes.stats.cache_path is not None  # what is asked of numba


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["audit", "nowhere.csv"], "nowhere.csv is not there."),
        (["audit", "scores.xlsx"], "scores.xlsx is no score file by its name: save it as CSV."),
        (["audit", "parts.npz"], "parts.npz has parts, val, test: choose one, such as --part val."),
        (["audit", "odd.csv"], "odd.csv, line 2, column 'truth': "),
        (
            ["audit", "scores.csv", "--label-column", "y"],
            "scores.csv has no column 'y' for --label-column: it has ant,",
        ),
        (["audit", "logits.npy"], "logits.npy has no labels. An .npy file holds logits only: name"),
        (
            ["audit", "scores.csv", "--classes", "ant,bee"],
            "scores.csv, line 4: the label 'cat' is not among --classes; there are ant, bee.",
        ),
        (["audit", "odd.csv", "--label-column", "truth"], "odd.csv, column 'id' holds whole numbers only"),
        (
            ["audit", "scores.csv", "--log"],
            "scores.csv, line 2, column 'ant': 1.8561 is no probability (0 to",
        ),
        (["audit", "scores.csv", "--html", "."], ". is a folder: name a file in it."),
        (
            ["audit", "scores.csv", "--head", "sph", "--class-weight", "balanced"],
            "--class-weight goes with --head auto",
        ),
        (["audit", "scores.csv", "--head", "sph", "--features", "features.npy"], "--features is given, but this head"),
        (["fit", "scores.csv", "-o", "."], ". is a folder: name a file in it."),
        (
            ["fit", "scores.csv", "-o", "scores.csv/head.npz"],
            "scores.csv/head.npz cannot be written: folder scores.csv",
        ),
        (["fit", "scores.csv", "-o", "new/head.npz"], "new/head.npz cannot be written: folder new is not there."),
        (["fit", "scores.csv", "-o", "head.csv"], "head.csv is no name for what is written: it should end in .npz."),
        (["fit", "parts.npz", "-o", "parts.npz"], "parts.npz is one of the inputs, and would be replaced: choose"),
        (["fit", "scores.csv", "-o", "../scores/parts.npz", "--labels", "parts.npz"], "../scores/parts.npz is one of"),
        (["audit", "scores.csv", "--html", "r.txt"], "r.txt is no name for what is written: it should end in .html or"),
        (["audit", "scores.csv", "--html", "new/r.html"], "new/r.html cannot be written: folder new is not there."),
        (["audit", "scores.csv", "--title", "Spring"], "--title goes with --html: it is what stands above the report."),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(folder, asked, words):
    before = sorted(folder.iterdir())
    assert refused(*asked, cwd=folder).startswith(f"aftermax: {words}")
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("s.csv", b"a,b,label\n1,2,a\n3,x,b\n", "s.csv, line 3, column 'b': 'x' is no number."),
        ("s.csv", b"a,b,label\n1,2,a\n3,,b\n", "s.csv, line 3, column 'b' is empty or NaN"),
        ("s.csv", b"a,b,label\n1,2,a\n3,b\n", "s.csv, line 3 has 2 cells where the headings are 3"),
        ("s.csv", b"a,a,label\n1,2,a\n", "s.csv has more than one column called a"),
        ("s.csv", b"", "s.csv is empty."),
        ("s.npz", b"PK\x03\x04", "s.npz is damaged, or of another kind than its name says"),
        ("s.parquet", b"PAR1PAR1", "s.parquet is damaged, or of another kind"),
        ("s.npy", b"\x93NUMPY", "s.npy is damaged, or of another kind"),
    ],
)
def test_files_that_are_wrong_are_refused_in_one_line(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    assert refused("audit", name, cwd=tmp_path).startswith(f"aftermax: {words}")


def test_standard_input_that_is_wrong_is_refused_in_one_line():
    words = "aftermax: standard input, line 2 has 2 cells where the headings are 3: mend the line."
    assert refused("audit", "-", input="a,b,label\n1,2\n") == words + "\n"


def test_an_archive_of_pickles_is_refused(tmp_path):
    file = io.BytesIO()
    np.savez(file, logits=np.array([[1, None]], dtype=object))
    (tmp_path / "s.npz").write_bytes(file.getvalue())
    assert "holds Python objects, which are not read" in refused("audit", "s.npz", cwd=tmp_path)
