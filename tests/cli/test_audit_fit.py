"""aftermax audit and aftermax fit: the same results as from Python, from every format."""

import io
import json
import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import aftermax
from aftermax import AutoHead, SPHClassifierCV
from aftermax.report import model_card
from helpers.command import refused, run, run_here
from helpers.samples import make_samples

NAMES = np.array(["ant", "bee", "cat"])


def weak(n_samples=150, seed=1):
    """Samples of a network whose softmax makes many errors that a head can correct."""
    logits, labels = make_samples(seed=seed, n_samples=n_samples, n_classes=3)
    return logits + np.array([2.0, -1.0, 0.0]), labels


@pytest.fixture(scope="module")
def found():
    logits, labels = weak()
    return aftermax.audit(logits, NAMES[labels])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Score files of the same samples."""
    folder = tmp_path_factory.mktemp("scores", numbered=False)
    logits, labels = weak()
    table = pa.table({name: logits[:, j] for j, name in enumerate(NAMES)} | {"label": NAMES[labels]})
    csv.write_csv(table, folder / "scores.csv")
    parquet.write_table(table, folder / "scores.parquet")
    np.save(folder / "logits.npy", logits)
    np.save(folder / "labels.npy", labels)
    np.save(folder / "features.npy", logits[:, ::-1] + make_samples(seed=9, n_samples=150, n_classes=3)[0])
    np.savez(folder / "parts.npz", val_logits=logits, val_labels=labels, val_features=logits, test_logits=logits)
    shifted = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    odd = {"id": np.arange(150), "z1": shifted[:, 1], "z0": shifted[:, 0], "z2": shifted[:, 2]}
    csv.write_csv(pa.table(odd | {"truth": NAMES[labels]}), folder / "odd.csv")
    grouped = {"patient": [f"p{n // 3:02}" for n in range(150)], "importance": importance()}
    csv.write_csv(pa.table(grouped | {name: table[name] for name in table.column_names}), folder / "grouped.csv")
    return folder


def importance():
    return 1.0 + np.arange(150) % 2


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


def test_the_card_is_what_python_gives_titled_as_asked_or_with_the_files_name(folder, found):
    done = run_here("audit", "scores.csv", "--card", "card.md", cwd=folder, check=True)
    assert done.stderr == "Written to card.md\n"
    assert (folder / "card.md").read_text() == model_card(found, title="A head for the outputs in scores.csv")
    run_here("audit", "scores.csv", "--card", "card.md", "--title", "Spring", cwd=folder, check=True)
    assert (folder / "card.md").read_text() == model_card(found, title="Spring")


def test_audit_takes_sph_and_a_seed(folder):
    logits, labels = weak()
    expected = aftermax.audit(logits, labels, SPHClassifierCV(random_state=7), random_state=7)
    asked = ["audit", "logits.npy", "--labels", "labels.npy", "--head", "sph", "--seed", "7", "--json"]
    done = run_here(*asked, cwd=folder, check=True)
    assert json.loads(done.stdout) == json.loads(json.dumps(expected.to_dict()))


def test_options_name_columns_of_any_name_and_say_that_scores_are_probabilities(folder, found):
    asked = ["--label-column", "truth", "--ignore", "id", "--classes", "bee,ant,cat", "--log", "--json"]
    done = run_here("audit", "odd.csv", *asked, cwd=folder, check=True)
    printed = json.loads(done.stdout)
    assert printed["classes"] == ["bee", "ant", "cat"]
    assert printed["error_before"] == pytest.approx(found.error_before)
    assert printed["gain"] == pytest.approx(found.gain, abs=0.1)


def test_a_warning_is_one_line_that_names_the_option_and_is_given_once(folder):
    asked = ["--label-column", "truth", "--ignore", "id", "--classes", "bee,ant,cat", "--head", "sph"]
    done = run_here("audit", "odd.csv", *asked, cwd=folder, check=True)
    assert done.stdout.count("Warning: logits look like probabilities") == 1
    assert done.stderr == ""
    done = run_here("audit", "odd.csv", *asked, "--json", cwd=folder, check=True)
    assert done.stderr.startswith("aftermax: warning: logits look like probabilities")
    assert done.stderr.endswith(" in Python, --log on the command line.\n")
    assert done.stderr.count("\n") == 1


def test_columns_are_of_the_same_classes_at_fit_and_predict_and_every_output_says_how_they_were_found(tmp_path):
    """Headings are not sorted, and differ from the labels by a prefix."""
    logits, codes = weak()
    fruit = np.array(["plum", "fig", "kiwi"])
    table = {f"logit_{name}": logits[:, j] for j, name in enumerate(fruit)}
    csv.write_csv(pa.table(table | {"label": fruit[codes]}), tmp_path / "val.csv")
    csv.write_csv(pa.table(dict(reversed(table.items()))), tmp_path / "new.csv")
    fitted = run_here("fit", "val.csv", "-o", "head.npz", cwd=tmp_path, check=True)
    says = (
        "val.csv: the columns are called like the labels with 'logit_' before each: logit_plum, logit_fig, logit_kiwi"
    )
    assert fitted.stderr.count(says) == 1
    done = run_here("predict", "head.npz", "new.csv", cwd=tmp_path, check=True)
    assert done.stdout.splitlines()[1:] == aftermax.load(tmp_path / "head.npz").predict(logits).tolist()
    asked = ["audit", "val.csv", "--html", "report.html", "--card", "card.md"]
    found = json.loads(run_here(*asked, "--json", cwd=tmp_path, check=True).stdout)
    assert found["classes"] == fruit.tolist()
    assert [says in message for message in found["warnings"]] == [True]
    for output in ("report.html", "card.md"):
        assert "before each: logit" in (tmp_path / output).read_text().replace("\\", "")
    done = run_here(*asked, cwd=tmp_path, check=True)
    assert done.stdout.count(says) == 1
    assert says not in done.stderr


def test_a_column_that_is_no_class_is_warned_of_once(tmp_path):
    logits, codes = weak(300)
    table = {name: logits[:, j] for j, name in enumerate(NAMES)} | {"conf": np.random.default_rng(0).random(300)}
    csv.write_csv(pa.table(table | {"label": NAMES[codes]}), tmp_path / "s.csv")
    found = json.loads(run_here("audit", "s.csv", "--json", cwd=tmp_path, check=True).stdout)
    (message,) = found["warnings"]
    assert "'conf'" in message
    assert "--ignore" in message


@pytest.mark.parametrize("head", ["auto", "sph"])
def test_audit_takes_groups_weights_and_class_weights(folder, head):
    logits, labels = weak()
    given = {"groups": np.arange(150) // 3, "sample_weight": importance()}
    estimator = {"auto": AutoHead, "sph": SPHClassifierCV}[head](class_weight={"ant": 2.0, "cat": 0.5})
    expected = aftermax.audit(logits, NAMES[labels], estimator, **given)
    asked = ["--groups", "patient", "--weights", "importance", "--class-weight", "ant=2,cat=0.5", "--head", head]
    done = run_here("audit", "grouped.csv", *asked, "--json", cwd=folder, check=True)
    printed = json.loads(done.stdout)
    assert printed["groups"] == 50
    assert printed["gain"] == pytest.approx(expected.gain)
    assert printed["p_value"] == pytest.approx(expected.p_value)


def test_audit_takes_the_shares_of_the_classes_and_only_what_is_proven(folder):
    logits, labels = weak()
    prior = {"ant": 0.1, "bee": 0.2, "cat": 0.7}
    expected = aftermax.audit(logits, NAMES[labels], AutoHead(class_prior=prior, only_proven=True))
    asked = ["--class-prior", "ant=0.1,bee=0.2,cat=0.7", "--only-proven", "--json"]
    printed = json.loads(run_here("audit", "scores.csv", *asked, cwd=folder, check=True).stdout)
    assert printed["error_before"] == pytest.approx(expected.error_before)
    assert (printed["chosen"], printed["gain"]) == (expected.chosen, pytest.approx(expected.gain))


# ---- fit -------------------------------------------------------------------------------------------------------------


def test_fit_prints_the_gain_to_expect_and_saves_a_head_that_predicts_as_pythons(folder, found, tmp_path):
    done = run("fit", folder / "scores.csv", "-o", tmp_path / "head.npz", check=True)
    verdict, expected, saved = done.stderr.splitlines()
    assert verdict == found.verdict
    assert re.fullmatch(
        r"Chosen: combination. To expect on new samples: \S+ % fewer errors \(95 % interval: .*\)\.", expected
    )
    assert saved == f"Saved to {tmp_path / 'head.npz'}."
    assert done.stdout == ""
    head, logits = aftermax.load(tmp_path / "head.npz"), weak(seed=5)[0]
    np.testing.assert_array_equal(head.predict_proba(logits), found.head.predict_proba(logits))
    assert head.classes_.tolist() == NAMES.tolist()


def test_fit_takes_parts_features_and_weights_and_prints_json(folder, tmp_path):
    logits, labels = weak()
    features = np.load(folder / "features.npy")
    asked = ["--part", "val", "--features", folder / "features.npy", "--class-weight", "balanced", "--json"]
    done = run_here("fit", folder / "parts.npz", *asked, "--out", tmp_path / "head.npz", check=True)
    printed = json.loads(done.stdout)
    assert (printed["saved"], printed["scores"]) == (str(tmp_path / "head.npz"), "logits")
    expected = AutoHead(class_weight="balanced").fit(logits, labels, features=features)
    assert printed["chosen"] == expected.chosen_
    unseen = weak(seed=5)[0]
    predicted = aftermax.load(tmp_path / "head.npz").predict(unseen, features=unseen)
    np.testing.assert_array_equal(predicted, expected.predict(unseen, features=unseen))


def test_fit_can_leave_features_out_and_says_that_softmax_is_kept(folder, tmp_path):
    logits, labels = make_samples(seed=4, n_samples=80, n_classes=3, home=9.0)
    np.savez(tmp_path / "strong.npz", logits=logits, labels=labels, features=logits)
    done = run_here("fit", "strong.npz", "--logits-only", "-o", "head.npz", cwd=tmp_path, check=True)
    assert done.stderr.splitlines()[1] == "Softmax is kept: the head predicts as softmax does."
    np.testing.assert_array_equal(aftermax.load(tmp_path / "head.npz").predict(logits), logits.argmax(axis=1))


def test_a_head_knows_the_scores_that_it_was_fitted_on(folder, tmp_path):
    """Found by a newcomer: predict without --log ruined the predictions of a head that was fitted with it."""
    named = ["--label-column", "truth", "--ignore", "id"]
    fitted = [*named, "--classes", "bee,ant,cat", "--log", "--head", "sph"]
    done = run_here("fit", "odd.csv", *fitted, "-o", tmp_path / "head.npz", cwd=folder, check=True)
    assert done.stderr.endswith("head.npz. It takes probabilities: predict does not need --log.\n")
    table = csv.read_csv(folder / "odd.csv")
    head = aftermax.load(tmp_path / "head.npz")
    expected = head.predict(np.log([table[name].to_numpy() for name in ("z1", "z0", "z2")]).T).tolist()
    assert expected != [head.classes_[0]] * 150
    for asked in ([], ["--log"]):  # which is allowed, but not needed
        done = run_here("predict", tmp_path / "head.npz", "odd.csv", *named, *asked, cwd=folder, check=True)
        assert done.stdout.splitlines() == ["predicted", *expected]
        assert done.stderr.startswith("150 rows of probabilities (their logarithms are the logits), 150 with labels; ")
    done = run_here("predict", tmp_path / "head.npz", "odd.csv", "-o", tmp_path / "p.npy", "--json", cwd=folder)
    assert json.loads(done.stdout)["scores"] == "probabilities"
    csv.write_csv(table.select(["z2", "z0", "z1"]), tmp_path / "shuffled.csv")
    done = run_here("predict", tmp_path / "head.npz", tmp_path / "shuffled.csv", check=True)
    assert done.stdout.splitlines() == ["predicted", *expected]
    message = refused("predict", tmp_path / "head.npz", "logits.npy", cwd=folder)
    assert (
        "is not a probability from 0 to 1, which --log needs, and so does a head that was fitted with --log." in message
    )


def test_fit_prints_in_json_that_the_head_takes_probabilities(tmp_path):
    (tmp_path / "s.csv").write_text("a,b,label\n" + "0.75,0.25,a\n0.5,0.5,b\n" * 10)
    asked = ["fit", "s.csv", "-o", "head.npz", "--log", "--head", "sph", "--json"]
    assert json.loads(run_here(*asked, cwd=tmp_path, check=True).stdout)["scores"] == "probabilities"


# ---- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["audit", "nowhere.csv"], "nowhere.csv is not there."),
        (["audit", "scores.xlsx"], "scores.xlsx is a spreadsheet: save it as CSV."),
        (["audit", "parts.npz"], "parts.npz has parts, val, test: choose one, such as --part val."),
        (["audit", "odd.csv"], "odd.csv, line 2, column 'truth': "),
        (
            ["audit", "scores.csv", "--label-column", "y"],
            "scores.csv has no column 'y' for --label-column: it has ant,",
        ),
        (["audit", "logits.npy"], "logits.npy has no labels. An .npy file holds logits only: name the file of"),
        (
            ["audit", "scores.csv", "--classes", "ant,bee"],
            "scores.csv, line 4: the label 'cat' is not one of --classes; there are ant, bee.",
        ),
        (
            ["audit", "scores.csv", "--classes", "ant,bee,owl,fly"],
            "--classes names 4 classes, but scores.csv has 3 columns of logits: name one",
        ),
        (["audit", "odd.csv", "--label-column", "truth"], "odd.csv, column 'id' holds integers only"),
        (
            ["audit", "scores.csv", "--log"],
            "scores.csv, line 2, column 'ant': 1.8561 is not a probability from 0",
        ),
        (["audit", "scores.csv", "--html", "."], ". is a folder: name a file in it."),
        (
            ["audit", "scores.csv", "--head", "sph", "--class-prior", "ant=1"],
            "--class-prior needs --head auto: use --class-weight with --head sph.",
        ),
        (["audit", "scores.csv", "--class-weight", "even"], "--class-weight has 'even': write the name of a class, ="),
        (
            ["audit", "scores.csv", "--class-weight", "owl=2"],
            "--class-weight names 'owl', which is no class: there are",
        ),
        (
            ["audit", "scores.csv", "--class-prior", "ant=0.5,bee=0.1"],
            "class_prior sums to 0.6: pass shares of at least",
        ),
        (["fit", "scores.csv", "-o", "h.npz", "--groups", "id"], "scores.csv has no column 'id' for --groups: it has"),
        (["audit", "scores.csv", "--weights", "w"], "scores.csv has no column 'w' for --weights: it has ant, bee,"),
        (
            ["audit", "grouped.csv", "--weights", "patient"],
            "grouped.csv, line 2, column 'patient': 'p00' is not a number. --weights needs numbers of at least 0",
        ),
        (
            ["audit", "scores.csv", "--head", "sph", "--features", "features.npy"],
            "--features cannot be used with --head",
        ),
        (
            ["audit", "scores.csv", "--logits-only", "--features", "features.npy"],
            "--features cannot be used with --logits-only",
        ),
        (["fit", "scores.csv", "-o", "."], ". is a folder: name a file in it."),
        (
            ["fit", "scores.csv", "-o", "scores.csv/head.npz"],
            "scores.csv/head.npz cannot be written: folder scores.csv",
        ),
        (["fit", "scores.csv", "-o", "new/head.npz"], "new/head.npz cannot be written: folder new is not there."),
        (["fit", "scores.csv", "-o", "head.csv"], "head.csv: the name of this file should end in .npz."),
        (["fit", "parts.npz", "-o", "parts.npz"], "parts.npz is one of the inputs and would be overwritten: choose"),
        (["fit", "scores.csv", "-o", "../scores/parts.npz", "--labels", "parts.npz"], "../scores/parts.npz is one of"),
        (["audit", "scores.csv", "--html", "r.txt"], "r.txt: the name of this file should end in .html or"),
        (["audit", "scores.csv", "--html", "new/r.html"], "new/r.html cannot be written: folder new is not there."),
        (["audit", "scores.csv", "--title", "Spring"], "--title needs --html or --card: it is the title of"),
        (["audit", "scores.csv", "--card", "card.html"], "card.html: the name of this file should end in .md."),
        (["audit", "scores.csv", "--card", "new/card.md"], "new/card.md cannot be written: folder new is not there."),
    ],
)
def test_an_error_is_one_line_and_nothing_is_written(folder, asked, words):
    before = sorted(folder.iterdir())
    assert refused(*asked, cwd=folder).startswith(f"aftermax: {words}")
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("s.csv", b"a,b,label\n1,2,a\n3,x,b\n", "s.csv, line 3, column 'b': 'x' is not a number."),
        ("s.csv", b"a,b,label\n1,2,a\n3,,b\n", "s.csv, line 3, column 'b' is empty or NaN"),
        ("s.csv", b"a,b,label\n1,2,a\n3,b\n", "s.csv, line 3 has 2 cells, but there are 3 headings"),
        ("s.csv", b"a,a,label\n1,2,a\n", "s.csv has several columns called a"),
        ("s.csv", b"", "s.csv is empty."),
        ("s.npz", b"PK\x03\x04", "s.npz is damaged, or its format is not the one of its file name"),
        ("s.parquet", b"PAR1PAR1", "s.parquet is damaged, or its format is not"),
        ("s.npy", b"\x93NUMPY", "s.npy is damaged, or its format is not"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    assert refused("audit", name, cwd=tmp_path).startswith(f"aftermax: {words}")


def test_wrong_standard_input_is_refused_in_one_line():
    words = "aftermax: standard input, line 2 has 2 cells, but there are 3 headings: correct the line."
    assert refused("audit", "-", input="a,b,label\n1,2\n") == words + "\n"


def test_an_archive_of_pickles_is_refused(tmp_path):
    file = io.BytesIO()
    np.savez(file, logits=np.array([[1, None]], dtype=object))
    (tmp_path / "s.npz").write_bytes(file.getvalue())
    assert "holds Python objects, which are not read" in refused("audit", "s.npz", cwd=tmp_path)
