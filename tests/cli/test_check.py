"""aftermax check: a head file and new samples, with and without labels; and predict on the samples of the fit."""

import json
import re

import numpy as np
import pytest

import aftermax
from helpers.command import refused, run_here
from helpers.samples import make_samples

NAMES = np.array(["ant", "bee", "cat"])
SHIFT = np.array([2.0, -1.0, 0.0])


def rows(count=300, seed=2):
    logits, labels = make_samples(seed=seed, n_samples=count, n_classes=3)
    return logits + SHIFT, labels


def write_csv(path, logits, labels=None):
    """Numbers as text in full, so that they are the same when they are read."""
    heads = [*NAMES] + ([] if labels is None else ["label"])
    cells = [[repr(float(value)) for value in row] for row in logits]
    if labels is not None:
        cells = [[*row, label] for row, label in zip(cells, labels, strict=True)]
    path.write_text("\n".join(",".join(row) for row in [heads, *cells]) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A head, the samples it was fitted on, new ones of the same kind, and drifted ones."""
    folder = tmp_path_factory.mktemp("check")
    logits, labels = rows(seed=1)
    aftermax.save(aftermax.AutoHead(cv=3).fit(logits, NAMES[labels]), folder / "head.npz")
    write_csv(folder / "val.csv", logits, NAMES[labels])
    new, classes = rows()
    write_csv(folder / "new.csv", new, NAMES[classes])
    write_csv(folder / "unlabelled.csv", new)
    np.savez(folder / "drifted.npz", logits=new - 3 * SHIFT, labels=NAMES[classes])
    np.save(folder / "logits.npy", new)
    np.save(folder / "labels.npy", NAMES[classes])
    return folder


def test_the_verdict_and_its_tables_are_printed(folder):
    done = run_here("check", "head.npz", "new.csv", cwd=folder, check=True)
    head = aftermax.load(folder / "head.npz")
    assert done.stdout == f"{aftermax.check(head, rows()[0], NAMES[rows()[1]])}\n"
    assert done.stdout.startswith("Keep: the head makes ")
    assert done.stderr == ""


def test_json_is_all_of_it(folder):
    done = run_here("check", "head.npz", "drifted.npz", "--json", cwd=folder, check=True)
    printed = json.loads(done.stdout)
    assert printed["action"] in ("refit", "drop")
    assert printed["drift"]["drifted"] is True
    assert printed["against_softmax"]["n_samples"] == 300


def test_without_labels_drift_is_told(folder):
    done = run_here("check", "head.npz", "unlabelled.csv", cwd=folder, check=True)
    assert done.stdout.startswith("The new samples look like those that the head was fitted on. Without labels this")
    moved = run_here("check", "head.npz", "drifted.npz", "--labels", "labels.npy", cwd=folder, check=True)
    assert "The new samples do not look like those that the head was fitted on: " in moved.stdout


def test_labels_may_be_in_another_file(folder):
    asked = ["check", "head.npz", "logits.npy", "--labels", "labels.npy"]
    assert run_here(*asked, cwd=folder, check=True).stdout.startswith("Keep: ")


def test_rows_without_a_label_are_left_out_and_counted(folder, tmp_path):
    new, classes = rows()
    labels = NAMES[classes].astype(object)
    labels[:100] = ""
    write_csv(tmp_path / "some.csv", new, labels)
    done = run_here("check", folder / "head.npz", tmp_path / "some.csv", "--json", check=True)
    assert json.loads(done.stdout)["n_samples"] == 200
    assert "100 of 300 rows have no label and are left out" in done.stderr


def test_groups_and_weights_are_columns(folder, tmp_path):
    new, classes = rows()
    header, *lines = (folder / "new.csv").read_text().splitlines()
    others = [f"{line},p{n // 10},{n % 3}" for n, line in enumerate(lines)]
    (tmp_path / "more.csv").write_text("\n".join([f"{header},patient,weight", *others]) + "\n")
    asked = ["check", folder / "head.npz", tmp_path / "more.csv", "--json"]
    done = run_here(*asked, "--groups", "patient", "--weights", "weight", check=True)
    head = aftermax.load(folder / "head.npz")
    expected = aftermax.check(
        head, new, NAMES[classes], groups=np.arange(300) // 10, sample_weight=np.arange(300.0) % 3
    )
    assert json.loads(done.stdout)["against_softmax"] == expected.to_dict()["against_softmax"]


def test_integer_classes_are_found_in_text(tmp_path):
    logits, labels = rows(seed=1)
    aftermax.save(aftermax.SPHClassifier().fit(logits, labels), tmp_path / "head.npz")
    new, classes = rows()
    text = "\n".join(",".join(map(str, [*row, label])) for row, label in zip(new, classes, strict=True))
    (tmp_path / "new.csv").write_text(f"0,1,2,label\n{text}\n")
    done = run_here("check", "head.npz", "new.csv", "--json", cwd=tmp_path, check=True)
    assert json.loads(done.stdout)["against_softmax"]["n_samples"] == 300


def test_a_page_for_the_browser_is_written(folder, tmp_path):
    page = tmp_path / "page.html"
    done = run_here("check", "head.npz", "drifted.npz", "--html", page, cwd=folder, check=True)
    text = page.read_text()
    assert done.stderr == f"Written to {page}\n"
    assert "<h1>Is the head still good? drifted.npz</h1>" in text
    assert re.search(r"<strong>(Refit|Drop):</strong>", text)
    run_here("check", "head.npz", "new.csv", "--html", page, "--title", "Spring", cwd=folder, check=True)
    assert "<h1>Spring</h1>" in page.read_text()


# ---- the samples of the fit ------------------------------------------------------------------------------------------


def test_the_samples_of_the_fit_are_known_again(folder):
    done = run_here("check", "head.npz", "val.csv", cwd=folder, check=True)
    assert done.stdout.startswith("Nothing can be told: these are samples that the head was fitted on")


def test_predict_says_that_its_accuracy_on_them_is_too_optimistic(folder, tmp_path):
    words = "; these are samples that the head was fitted on, so its accuracy is too optimistic. Written to"
    done = run_here("predict", "head.npz", "val.csv", "-o", tmp_path / "out.csv", cwd=folder, check=True)
    assert words in done.stderr
    others = run_here("predict", "head.npz", "new.csv", "-o", tmp_path / "out.csv", cwd=folder, check=True)
    assert "fitted on" not in others.stderr
    asked = ["predict", "head.npz", "val.csv", "--json", "-o", tmp_path / "out.csv"]
    assert json.loads(run_here(*asked, cwd=folder, check=True).stdout)["fitted_on_share"] == 1.0


def test_predict_says_so_of_a_part_of_them(folder, tmp_path):
    new = (folder / "new.csv").read_text().splitlines()[1:]
    (tmp_path / "both.csv").write_text((folder / "val.csv").read_text() + "\n".join(new) + "\n")
    done = run_here("predict", folder / "head.npz", tmp_path / "both.csv", "-o", tmp_path / "out.csv", check=True)
    assert re.search("; (some|most) of these are samples that the head was fitted on", done.stderr)


# ---- bad input -------------------------------------------------------------------------------------------------------


def test_what_is_wrong_is_told_in_one_line(folder, tmp_path):
    new, classes = rows(20)
    write_csv(tmp_path / "dog.csv", new, ["dog", *NAMES[classes][1:]])
    message = refused("check", folder / "head.npz", tmp_path / "dog.csv")
    assert "dog.csv, line 2: the label dog is not a class of the head; there are ant, bee, cat." in message
    np.savez(tmp_path / "wide.npz", logits=np.ones((4, 5)), labels=NAMES[[0, 1, 2, 0]])
    assert "5 columns of logits, but the head was fitted on 3" in refused(
        "check", folder / "head.npz", tmp_path / "wide.npz"
    )
    (tmp_path / "bad.csv").write_text("ant,bee,cat,label\n1,,2,ant\n")
    assert "is empty or NaN" in refused("check", folder / "head.npz", tmp_path / "bad.csv")
    assert "--title needs --html" in refused("check", "head.npz", "new.csv", "--title", "a", cwd=folder)
    assert "name the head first, then the scores" in refused("check", "drifted.npz", "head.npz", cwd=folder)
    assert "should end in .html or .htm" in refused("check", "head.npz", "new.csv", "--html", "a.txt", cwd=folder)
