"""Answers of services, in every form, as logits."""

from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest

import aftermax
from aftermax.answers.scores import AnswerFormat
from helpers.samples import make_samples

CLASSES = ["cat", "dog", "eel"]
FORMS = {
    "dict": {"cat": 0.7, "dog": 0.2},
    "pairs": [("cat", 0.7), ("dog", 0.2)],
    "hugging face": [{"label": "cat", "score": 0.7}, {"label": "dog", "score": 0.2}],
    "zero-shot pipeline": {"sequence": "a text", "labels": ["cat", "dog"], "scores": [0.7, 0.2]},
    "cloud": [{"Name": "cat", "Confidence": 0.7}, {"Name": "dog", "Confidence": 0.2}],
    "client": [SimpleNamespace(token="cat", logprob=0.7), SimpleNamespace(token="dog", logprob=0.2)],
}


def softmax(logits):
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def top_answers(probabilities, classes, k):
    best = np.argsort(-probabilities, axis=1, kind="stable")[:, :k]
    return [{classes[j]: float(row[j]) for j in few} for row, few in zip(probabilities, best, strict=True)]


@pytest.mark.parametrize("answer", FORMS.values(), ids=FORMS)
def test_every_form_of_an_answer(answer):
    scores = aftermax.scores_from_top_k([answer, {"eel": 0.6, "cat": 0.3}], CLASSES)
    np.testing.assert_allclose(np.exp(scores.values), [[0.7, 0.2, 0.1], [0.3, 0.1, 0.6]])
    np.testing.assert_array_equal(scores.told, [[True, True, False], [True, False, True]])
    assert scores.columns == CLASSES
    assert scores.format == AnswerFormat("probabilities", np.log(0.2) - 1)


def test_one_best_label_keeps_its_certainty():
    scores = aftermax.scores_from_top_k([{"label": "cat", "score": 0.9}, {"label": "dog", "score": 0.5}], CLASSES)
    np.testing.assert_allclose(softmax(scores.values)[0, 0], 0.9 / (0.9 + 2 * np.exp(scores.format.floor)))
    np.testing.assert_allclose(np.exp(scores.values[1]), [0.25, 0.5, 0.25])


@pytest.mark.parametrize(
    ("kind", "to_scores"),
    [
        ("probabilities", lambda p: p),
        ("percentages", lambda p: 100 * p),
        ("log-probabilities", np.log),
    ],
)
def test_kinds_are_told_apart_and_give_the_same_logits(kind, to_scores):
    probabilities = softmax(make_samples(n_samples=50, n_classes=3)[0])
    given = [dict(zip(CLASSES, map(float, row), strict=True)) for row in to_scores(probabilities)]
    scores = aftermax.scores_from_top_k(given)
    assert scores.format.kind == kind
    np.testing.assert_allclose(scores.values, np.log(probabilities))


def test_any_other_scores_are_taken_as_they_are():
    scores = aftermax.scores_from_top_k([{"cat": 3.0, "dog": -1.0}, {"cat": 2.0, "eel": 7.5}])
    assert scores.format.kind == "logits"
    assert scores.values[0, 0] == 3.0
    assert scores.values[0, 2] == scores.format.floor == -1.0 - np.std([3.0, -1.0, 2.0, 7.5])


def test_similarities_are_no_probabilities():
    with pytest.warns(UserWarning, match="taken as they are, as similarities"):
        scores = aftermax.scores_from_top_k([{"cat": 0.8, "dog": 0.7}, {"cat": 0.6, "dog": 0.75}])
    assert scores.format.kind == "logits"
    told = aftermax.scores_from_top_k([{"cat": 0.8, "dog": 0.7}, {"cat": 0.6, "dog": 0.75}], kind="probabilities")
    np.testing.assert_allclose(np.exp(told.values), [[0.8, 0.7], [0.6, 0.75]])


def test_rounded_probabilities_may_sum_to_more_than_one():
    rounded = {f"class {j}": 0.01 for j in range(80)} | {"best": 0.4}
    assert aftermax.scores_from_top_k([rounded, {"best": 0.99, "class 3": 0.0}]).format.kind == "probabilities"


def test_a_probability_of_zero_was_rounded():
    scores = aftermax.scores_from_top_k([{"cat": 1.0, "dog": 0.0}, {"cat": 0.5, "dog": 0.5}])
    assert scores.told.all()
    assert scores.values[0, 1] == scores.format.floor == np.log(0.5) - 1
    scores = aftermax.scores_from_top_k([{"cat": 0.4, "dog": 0.0, "eel": 0.0}, {"cat": 0.29, "dog": 0.7, "eel": 0.01}])
    assert np.exp(scores.values[0]).tolist() == pytest.approx([0.4, 0.01, 0.01])  # no more than the least of all


def test_the_named_class_is_above_all_that_are_not_named():
    few = aftermax.scores_from_top_k([{name: 0.05} for name in "abcdefgh"] + [{"a": 0.3}])
    assert [few.columns[j] for j in few.values.argmax(axis=1)] == [*"abcdefgh", "a"]
    sure = aftermax.scores_from_top_k([{name: 0.9} for name in "abcdef"])
    new = aftermax.scores_from_top_k([{name: 0.1} for name in "abcdef"], like=sure)  # below the floor
    assert [new.columns[j] for j in new.values.argmax(axis=1)] == [*"abcdef"]


def test_keys_that_are_numbers_as_text_are_the_labels_that_are_numbers():
    answers = [{"1": 0.6, "2": 0.3, "10": 0.1}, {"2": 0.7, "1": 0.2, "10": 0.1}, {"10": 0.9, "1": 0.05, "2": 0.05}]
    scores = aftermax.scores_from_top_k(answers * 20)
    head = aftermax.SPHClassifier().fit(scores, [1, 2, 10] * 20)
    assert head.classes_.tolist() == [1, 10, 2]
    assert head.predict(aftermax.scores_from_top_k(answers, like=head)).tolist() == [1, 2, 10]


@pytest.mark.parametrize(
    ("fitted", "new", "message"),
    [
        ([{"a": 90.0, "b": 9.0}, {"b": 60.0}], [{"a": 0.9}, {"b": 0.5, "a": 0.4}], "look like probabilities"),
        ([{"a": -0.1, "b": -3.0}, {"b": -0.2}], [{"a": 0.9}, {"b": 0.5}], "look like probabilities"),
        ([{"a": -0.1, "b": -3.0}, {"b": -0.2}], [{"a": -0.9}, {"b": 50.0}], "answer 1: 50 is not possible among log-"),
        ([{"a": 0.9, "b": 0.1}], [{"a": 90.0, "b": 9.0}], "look like percentages"),
    ],
)
def test_new_answers_of_another_kind_are_refused(fitted, new, message):
    scores = aftermax.scores_from_top_k(fitted)
    with pytest.raises(ValueError, match=message):
        aftermax.scores_from_top_k(new, like=scores)


def test_logits_that_look_like_probabilities_are_warned_of():
    scores = aftermax.scores_from_top_k([{"a": 3.0, "b": -2.0}, {"a": -1.0, "b": 4.0}])
    with pytest.warns(UserWarning, match="look like probabilities, but the head was fitted on logits"):
        aftermax.scores_from_top_k([{"a": 0.9, "b": 0.1}] * 10, like=scores)


def test_numbers_of_any_library_are_taken():
    pandas, torch = pytest.importorskip("pandas"), pytest.importorskip("torch")
    scores = aftermax.scores_from_top_k(
        [
            pandas.Series({"cat": 0.7, "dog": 0.3}),
            {"cat": Decimal("0.6"), "dog": np.float32(0.4)},
            {"cat": torch.tensor(0.5), "dog": np.array(0.5)},
            {"labels": ("dog", "cat"), "scores": np.array([0.8, 0.2])},
            [{"tagName": "cat", "probability": 1}],
            {"cat": 1, "dog": 0},
        ]
    )
    np.testing.assert_allclose(np.exp(scores.values[:4, 0]), [0.7, 0.6, 0.5, 0.2], rtol=1e-6)


def test_classes_may_be_called_as_keys_are():
    scores = aftermax.scores_from_top_k([{"name": 0.9, "value": 0.1}, {"name": 0.2, "value": 0.8}])
    assert scores.columns == ["name", "value"]


def test_labels_are_matched_without_case_and_white_space_and_the_warning_says_so():
    with pytest.warns(UserWarning, match="case or white space only are taken for it: ' Cat' as 'cat'"):
        scores = aftermax.scores_from_top_k([{" Cat": -1.0, "cat": -2.0, "dog": -0.8}], CLASSES)
    np.testing.assert_allclose(np.exp(scores.values[0, 0]), np.exp(-1.0) + np.exp(-2.0))  # said twice: added


def test_a_blank_before_a_label_is_not_worth_a_warning():
    scores = aftermax.scores_from_top_k([{" cat": -1.0, "dog ": -0.8}], CLASSES)  # warnings are errors
    np.testing.assert_array_equal(scores.told, [[True, True, False]])


def test_classes_are_those_that_are_named_as_they_are_spelt_most_often():
    with pytest.warns(UserWarning, match="'DOG' as 'dog'"):
        scores = aftermax.scores_from_top_k([{"dog": 0.5, "cat": 0.5}, {"dog": 0.9}, {"DOG": 0.8}])
    assert scores.columns == ["cat", "dog"]
    assert aftermax.scores_from_top_k([{10: 0.5, 9: 0.5}]).columns == [9, 10]


def test_classes_are_named_without_the_blank_of_tokens():
    scores = aftermax.scores_from_top_k([{" dog": -0.5, " cat": -1.5}, {" dog": -0.1, "\n": -3.0}])
    assert scores.columns == ["\n", "cat", "dog"]


def test_unknown_labels_are_named_and_left_out():
    with pytest.warns(UserWarning, match=r"2 scores are of labels that are no class and are left out: '\\n', 'The'"):
        scores = aftermax.scores_from_top_k([{"cat": -1.0, "\n": -3.0}, {"dog": -2.0, "The": -0.4}], ["cat", "dog"])
    assert scores.shape == (2, 2)


def test_an_untold_class_has_no_more_than_any_token_that_is_told():
    answers = [{"cat": np.log(0.6), "The": np.log(0.3), "\n": np.log(0.002)}, {"The": np.log(0.9), "A": np.log(0.01)}]
    with pytest.warns(UserWarning, match="4 scores are of labels that are no class"):
        scores = aftermax.scores_from_top_k([*answers, {"cat": np.log(0.001), "dog": np.log(0.9)}], CLASSES)
    np.testing.assert_allclose(np.exp(scores.values[:2]), [[0.6, 0.002, 0.002], [0.01, 0.01, 0.01]], rtol=0.02)


def test_the_rest_is_what_no_label_takes():
    with pytest.warns(UserWarning, match="no class"):
        scores = aftermax.scores_from_top_k([{"cat": 0.5, "The": 0.4}, {"eel": 0.01}], CLASSES)
    np.testing.assert_allclose(np.exp(scores.values[0]), [0.5, 0.05, 0.05])


@pytest.mark.parametrize("never", [-9999.0, -3.4e38, -np.inf])
def test_a_log_probability_that_stands_for_never_has_no_influence_on_the_floor(never):
    scores = aftermax.scores_from_top_k([{"cat": -0.1, "dog": -2.4, "eel": never}, {"cat": -3.0, "dog": -0.1}], CLASSES)
    assert scores.values[0, 2] == scores.format.floor == -4.0


def test_new_answers_are_read_as_those_that_the_head_was_fitted_on(tmp_path):
    logits, labels = make_samples(n_samples=300, n_classes=4, seed=3)
    classes = np.array(["ant", "bee", "cat", "dog"])
    answers = top_answers(softmax(logits + np.array([2.0, 0.0, 0.0, 0.0])), classes, 2)
    scores = aftermax.scores_from_top_k(answers[:200], classes)
    with pytest.warns(UserWarning, match=r"true class is not among the answers of \d+% of the samples"):
        head = aftermax.fit(scores, classes[labels[:200]])
    aftermax.save(head, tmp_path / "head.npz")
    loaded = aftermax.load(tmp_path / "head.npz")
    assert loaded.answer_format_ == scores.format
    new = aftermax.scores_from_top_k(answers[200:], like=loaded)
    assert new.format == scores.format
    np.testing.assert_array_equal(loaded.predict(new), head.predict(new.values))
    assert (new.values >= scores.format.floor).all()
    with pytest.raises(ValueError, match="read them with scores_from_top_k"):
        head.predict(aftermax.scores_from_top_k(answers[200:205], classes))


def test_raw_answers_in_place_of_logits_name_the_function():
    answers = [{"label": "cat", "score": 0.9}, {"label": "dog", "score": 0.9}]
    for given in (answers, [answers, answers]):
        with pytest.raises(TypeError, match=r"pass aftermax\.scores_from_top_k"):
            aftermax.fit(given, ["cat", "dog"])


def test_audit_check_and_other_heads_take_them():
    logits, labels = make_samples(n_samples=200, n_classes=3, seed=5)
    scores = aftermax.scores_from_top_k(top_answers(softmax(logits), CLASSES, 3), CLASSES)
    names = np.array(CLASSES)[labels]
    plain = aftermax.audit(np.asarray(scores), names)
    assert aftermax.audit(scores, names).verdict == plain.verdict
    head = aftermax.SPHClassifierCV().fit(scores[:150], names[:150])
    assert head.answer_format_ == scores.format
    assert aftermax.check(head, scores[150:], names[150:]).n_samples == 50


def test_an_untold_class_is_warned_of_only_where_it_is_often():
    logits, labels = make_samples(n_samples=200, n_classes=3, seed=5)
    scores = aftermax.scores_from_top_k(top_answers(softmax(5 * logits), CLASSES, 3), CLASSES)
    aftermax.fit(scores, np.array(CLASSES)[labels])  # warnings are errors


BAD = {
    "no scores": ([{}], "answer 0 has no scores"),
    "second has none": ([{"cat": 0.5, "dog": 0.5}, []], "answer 1 has no scores"),
    "no answers": ([], "There are no answers"),
    "text": (["cat"], "answer 0 is 'cat': an answer is a dict"),
    "number": ([0.3], "answer 0 is 0.3"),
    "NaN as text": ([{"cat": "NaN", "dog": 0.1}], "answer 0: the score of 'cat' is 'NaN': a finite number is needed"),
    "NaN": ([{"cat": float("nan"), "dog": 0.1}], "the score of 'cat' is nan"),
    "infinity": ([{"cat": float("inf"), "dog": 0.1}], "the score of 'cat' is inf"),
    "label of another type": ([[(0.5, 0.5), ("dog", 0.1)]], "the label 0.5 is neither text nor an integer"),
    "object without score": ([[{"label": "cat"}]], r"answer 0 is \{'label': 'cat'\}"),
    "triples": ([[("cat", 0.5, 1)]], "answer 0 is"),
    "lengths": ([{"labels": ["cat"], "scores": [0.5, 0.5]}], "1 labels but 2 scores"),
    "one class": ([{"cat": 0.5}, {"cat": 0.7}], "name one class only, 'cat'"),
    "kinds": ([{"cat": 0.9}, {"cat": 0.8}, {"cat": -0.1, "dog": -3.0}], "but answer 2 like log-probabilities"),
    "percent": ([{"cat": 90, "dog": 10}, {"cat": 0.9, "dog": 0.1}, {"cat": 60}], "but answer 1 like probabilities"),
    "zeros": ([{"cat": 0, "dog": 0}], "No answer names a class .* with a score above 0"),
    "positive logits": ([{"cat": 5.2, "dog": 3.1}, {"cat": 1.2, "dog": 4.0}], "may be percentages or logits"),
    "too large": ([{"cat": 10**400, "dog": 1}], "the score of 'cat' is 1000"),
    "one zero": ([{"cat": 0}, {"dog": 0}], "All scores are 0"),
}


@pytest.mark.parametrize(("answers", "message"), BAD.values(), ids=BAD)
def test_bad_answers(answers, message):
    with pytest.raises(ValueError, match=message):
        aftermax.scores_from_top_k(answers)


def test_bad_arguments():
    answers = [{"cat": 0.5, "dog": 0.5}]
    with pytest.raises(ValueError, match="kind='logprobs' is not known"):
        aftermax.scores_from_top_k(answers, kind="logprobs")
    with pytest.raises(ValueError, match="classes are 'cat', 'cat': pass at least two, each of them once"):
        aftermax.scores_from_top_k(answers, classes=["cat", "cat"])
    with pytest.raises(ValueError, match=r"No answer names a class \('x', 'y'\) .* but 'cat', 'dog'"):
        aftermax.scores_from_top_k(answers, classes=["x", "y"])
    with pytest.raises(ValueError, match="fit the head on what scores_from_top_k returns"):
        aftermax.scores_from_top_k(answers, like=aftermax.AutoHead())
    scores = aftermax.scores_from_top_k(answers)
    with pytest.raises(ValueError, match="leave classes out"):
        aftermax.scores_from_top_k(answers, classes=["dog", "cat"], like=scores)
    with pytest.raises(ValueError, match="leave kind out"):
        aftermax.scores_from_top_k(answers, kind="logits", like=scores)
    with pytest.raises(ValueError, match=r"answer 0: the scores look like percentages, but the head"):
        aftermax.scores_from_top_k([{"cat": 50, "dog": 50}], like=scores)
