"""From the recorded answers of a language model, as chat completions, to a head, in Python and with the command."""

import json
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import aftermax
from helpers.command import run_here

RECORDED = Path(__file__).with_name("chat_completions.jsonl")
KEY = ("--scores-key", "choices.0.logprobs.content.0.top_logprobs")
CLASSES = ["sports", "finance", "travel", "science"]
N_FIT = 220


def top_logprobs(response):
    return response["choices"][0]["logprobs"]["content"][0]["top_logprobs"]


@pytest.fixture(scope="module")
def recorded():
    """The top tokens of each answer, and the labels."""
    responses = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    return [top_logprobs(one) for one in responses], np.array([one["label"] for one in responses])


@pytest.fixture(scope="module")
def fitted(recorded):
    """A head, the answers that it was fitted on as logits, and what was warned of."""
    answers, labels = recorded
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = aftermax.scores_from_top_k(answers[:N_FIT], classes=CLASSES)
        head = aftermax.fit(scores, labels[:N_FIT])
    return SimpleNamespace(scores=scores, head=head, warnings=[str(one.message) for one in caught])


def read_quietly(answers, **options):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The answers: ", UserWarning)  # of other tokens and other spellings
        return aftermax.scores_from_top_k(answers, **options)


def test_a_head_has_fewer_errors_than_the_most_probable_label(recorded, fitted):
    answers, labels = (some[N_FIT:] for some in recorded)
    new = read_quietly(answers, like=fitted.head)
    before = (np.array(CLASSES)[new.values.argmax(axis=1)] != labels).sum()
    after = (fitted.head.predict(new) != labels).sum()
    assert fitted.head.proven_
    assert after < 0.8 * before


def test_it_has_fewer_errors_than_the_first_token_itself(recorded, fitted):
    """The token that the model would write, which is not always a label."""
    answers, labels = (some[N_FIT:] for some in recorded)
    written = np.array([answer[0]["token"].strip().casefold() for answer in answers])
    assert not set(written) <= set(CLASSES)
    predicted = fitted.head.predict(read_quietly(answers, like=fitted.head))
    assert (predicted != labels).sum() < 0.8 * (written != labels).sum()


def test_tokens_that_are_no_class_are_named_in_one_warning(fitted):
    assert fitted.scores.format.kind == "log-probabilities"
    (unknown,) = (text for text in fitted.warnings if "no class" in text)
    assert "' The', ' personal'" in unknown
    (spelling,) = (text for text in fitted.warnings if "differ from a class" in text)
    assert "' Finance' as 'finance'" in spelling
    assert "' finance'" not in spelling


def test_spellings_of_a_label_are_added(recorded, fitted):
    answers, _ = recorded
    row = next(row for row, answer in enumerate(answers) if {" sports", " Sports"} <= {one["token"] for one in answer})
    both = [one["logprob"] for one in answers[row] if one["token"] in (" sports", " Sports")]
    np.testing.assert_allclose(fitted.scores.values[row, 0], np.logaddexp(*both))


def test_objects_of_a_client_are_read_as_the_recorded_dicts(recorded, fitted):
    objects = [[SimpleNamespace(**one) for one in answer] for answer in recorded[0][N_FIT:]]
    read = [read_quietly(some, like=fitted.head).values for some in (objects, recorded[0][N_FIT:])]
    np.testing.assert_array_equal(*read)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The recorded answers as two files."""
    folder = tmp_path_factory.mktemp("answers")
    lines = RECORDED.read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "answers.jsonl").write_text("".join(lines[:N_FIT]), encoding="utf-8")
    (folder / "new.jsonl").write_text("".join(lines[N_FIT:]), encoding="utf-8")
    return folder


def test_the_command_does_the_same(recorded, fitted, folder):
    classes = ("--classes", ",".join(CLASSES))
    done = run_here("fit", "answers.jsonl", *KEY, *classes, "-o", "head.npz", cwd=folder, check=True)
    assert f"{N_FIT} answers with log-probabilities of" in done.stderr
    assert done.stderr.count("no class and are left out: ' The', ' personal'") == 1
    saved = aftermax.load(folder / "head.npz")
    assert saved.answer_format_ == fitted.head.answer_format_
    asked = ("predict", "head.npz", "new.jsonl", *KEY, "--keep", "id", "--probabilities", "-o", "out.jsonl")
    done = run_here(*asked, cwd=folder, check=True)
    assert "140 rows, 140 with labels; accuracy: softmax" in done.stderr
    written = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    new = read_quietly(recorded[0][N_FIT:], like=fitted.head)
    assert [one["predicted"] for one in written] == fitted.head.predict(new).tolist()
    probabilities = [[one["probabilities"][name] for name in CLASSES] for one in written]
    np.testing.assert_allclose(probabilities, fitted.head.predict_proba(new), rtol=1e-6)


def test_without_classes_every_token_is_one_but_labels_are_still_found(folder):
    done = run_here("fit", "answers.jsonl", *KEY, "-o", "tokens.npz", cwd=folder, check=True)
    assert "No sample has the label '<|end|>', 'The'" in done.stderr
    assert set(CLASSES) < set(aftermax.load(folder / "tokens.npz").classes_.tolist())


def test_the_label_of_a_sentence_is_at_a_later_position(tmp_path):
    """In "The topic is sports", the label is the fourth token."""
    said = [
        {"token": word, "logprob": 0.0, "top_logprobs": [{"token": word, "logprob": 0.0}]}
        for word in ("The", " topic", " is")
    ]
    lines = []
    for number in range(40):
        best, other = ("sports", "travel") if number % 2 else ("travel", "sports")
        top = [{"token": f" {best}", "logprob": -0.2}, {"token": f" {other}", "logprob": -1.8 - number / 40}]
        content = [*said, {**top[0], "top_logprobs": top}]
        lines.append({"choices": [{"logprobs": {"content": content}}], "label": best if number % 10 else other})
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    key = ("--scores-key", "choices.0.logprobs.content.3.top_logprobs")
    done = run_here("audit", "answers.jsonl", *key, "--json", cwd=tmp_path, check=True)
    assert json.loads(done.stdout)["rows"] == 40


def test_a_first_token_that_several_labels_share_is_no_class():
    answers = [{" ne": -0.1, " positive": -2.5}, {" positive": -0.3, " ne": -1.5, " neutral": -4.0}]
    with pytest.warns(UserWarning, match="2 scores are of labels that are no class and are left out: ' ne'"):
        aftermax.scores_from_top_k(answers, classes=["negative", "neutral", "positive"])


def test_letters_and_numbers_as_labels():
    letters = aftermax.scores_from_top_k([{" B": -0.1, "A": -2.5}, {"C": -0.4, " A": -1.5}], classes=["A", "B", "C"])
    assert letters.values.argmax(axis=1).tolist() == [1, 2]
    numbers = aftermax.scores_from_top_k([{" 2": -0.1, "1": -2.5}, {"3": -0.4, " 1": -1.5}], classes=[1, 2, 3])
    np.testing.assert_array_equal(numbers.values, letters.values)
