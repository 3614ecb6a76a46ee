"""The command with answers as JSON Lines: from a service's top answers to a head, without Python."""

import gzip
import json

import numpy as np
import pytest

import aftermax
from aftermax.data import load_vmnist
from helpers.command import refused, run_here

NAMES = [f"digit {number}" for number in range(10)]


def answers(logits, k=4):
    """The k best labels in percent, as a service returns them."""
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    best = np.argsort(-shares, axis=1)[:, :k]
    return [
        [{"Name": NAMES[j], "Confidence": round(100 * float(row[j]), 4)} for j in few]
        for row, few in zip(shares, best, strict=True)
    ]


def write(path, logits, labels, k=4):
    lines = [
        {"id": number, "response": {"Labels": answer}, "label": NAMES[label]}
        for number, (answer, label) in enumerate(zip(answers(logits, k), labels, strict=True))
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A head, fitted on the top four answers for 400 images, and answers for 300 more."""
    folder = tmp_path_factory.mktemp("answers")
    scores = load_vmnist(trained_on=100)
    write(folder / "val.jsonl", scores.val_logits[:400].astype(float), scores.val_labels[:400])
    write(folder / "new.jsonl", scores.test_logits[:300].astype(float), scores.test_labels[:300])
    done = run_here("fit", "val.jsonl", "--scores-key", "response.Labels", "-o", "head.npz", cwd=folder, check=True)
    assert "400 answers with percentages of 4 of 10 classes in the mean, taken as logarithms." in done.stderr
    return folder


def test_the_head_keeps_how_answers_are_read(folder):
    head = aftermax.load(folder / "head.npz")
    assert head.answer_format_.kind == "percentages"
    assert head.classes_.tolist() == NAMES


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.csv"])
def test_predictions_are_those_of_python(folder, name):
    asked = ["predict", "head.npz", "new.jsonl", "--scores-key", "response.Labels", "--keep", "id", "--probabilities"]
    done = run_here(*asked, "-o", name, cwd=folder, check=True)
    assert "300 rows, 300 with labels; accuracy: softmax" in done.stderr
    head = aftermax.load(folder / "head.npz")
    given = [json.loads(line)["response"]["Labels"] for line in (folder / "new.jsonl").read_text().splitlines()]
    scores = aftermax.scores_from_top_k(given, like=head)
    content = (folder / name).read_bytes()
    text = (gzip.decompress(content) if name.endswith(".gz") else content).decode()
    if name == "out.csv":
        assert [line.split(",")[1] for line in text.splitlines()[1:]] == head.predict(scores).tolist()
        return
    written = [json.loads(line) for line in text.splitlines()]
    assert [one["id"] for one in written] == list(range(300))
    assert [one["predicted"] for one in written] == head.predict(scores).tolist()
    probabilities = [list(one["probabilities"].values()) for one in written]
    np.testing.assert_allclose(probabilities, head.predict_proba(scores), rtol=1e-8)


def test_check_and_audit_take_such_files(folder):
    key = ("--scores-key", "response.Labels")
    checked = run_here("check", "head.npz", "new.jsonl", *key, "--json", cwd=folder, check=True)
    assert json.loads(checked.stdout)["verdict"]
    audited = run_here("audit", "val.jsonl", *key, "--json", cwd=folder, check=True)
    assert json.loads(audited.stdout)["rows"] == 400


def test_from_standard_input_to_standard_output(folder):
    text = "".join((folder / "new.jsonl").read_text().splitlines(keepends=True)[:3])
    done = run_here("predict", "head.npz", "-", "--scores-key", "response.Labels", cwd=folder, input=text, check=True)
    assert done.stdout.splitlines()[0] == "predicted"
    assert len(done.stdout.splitlines()) == 4


def test_a_head_of_a_table_needs_all_scores(folder):
    scores = load_vmnist(trained_on=100)
    aftermax.save(aftermax.SPHClassifier().fit(scores.val_logits, np.array(NAMES)[scores.val_labels]), folder / "t.npz")
    message = refused("predict", "t.npz", "new.jsonl", "--scores-key", "response.Labels", cwd=folder)
    assert "line 1 has no score of" in message


def test_bad_lines_are_one_line_on_standard_error(folder):
    (folder / "bad.jsonl").write_text('{"scores": {"digit 1": 0.5}}\n\n{"scores": {"digit 1": 0.5}}\n')
    assert "bad.jsonl, line 2 is empty: remove it" in refused("predict", "head.npz", "bad.jsonl", cwd=folder)
    (folder / "kinds.jsonl").write_text('{"scores": {"digit 1": -0.5}}\n')
    assert "line 1: the scores look like log-probabilities" in refused("predict", "head.npz", "kinds.jsonl", cwd=folder)
    (folder / "nobody.jsonl").write_text('{"scores": {"cow": 50}}\n')
    assert "No answer names a class" in refused("predict", "head.npz", "nobody.jsonl", cwd=folder)
    log = refused("predict", "head.npz", "new.jsonl", "--scores-key", "response.Labels", "--log", cwd=folder)
    assert "--log is for probabilities, but the head was fitted on percentages" in log
    keep = refused("predict", "head.npz", "new.jsonl", "--scores-key", "response.Labels", "--keep", "nope", cwd=folder)
    assert "line 1 has no key 'nope' for --keep" in keep
    csv = folder / "scores.csv"
    csv.write_text("a,b,label\n1,2,a\n2,1,b\n")
    assert "--scores-kind is for files with a JSON" in refused("audit", csv, "--scores-kind", "logits", cwd=folder)
