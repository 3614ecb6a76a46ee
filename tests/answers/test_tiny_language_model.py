"""A language model at hand, with all its log-probabilities: labels of several tokens, and the order of labels."""

import json

import numpy as np
import pytest

import aftermax
from answers.record_chat_completions import RECORDED, record
from helpers.language_model import (
    END,
    NAMES,
    SECTIONS,
    label_log_probabilities,
    make_language_model,
    make_questions,
    next_token_log_probabilities,
    prompt_of,
)

pytestmark = pytest.mark.slow
N_FIT = 250


@pytest.fixture(scope="module")
def language_model():
    return make_language_model()


@pytest.fixture(scope="module")
def questions():
    """Texts, and the numbers of their topics."""
    texts, topics = make_questions(1250, seed=100)
    return texts, np.array([NAMES.index(topic) for topic in topics])


def errors(predicted, codes):
    return np.mean(predicted != codes[N_FIT:])


def forms_of(value):
    """The keys and types of a response, without its values."""
    if isinstance(value, dict):
        return {key: forms_of(one) for key, one in value.items()}
    return [forms_of(one) for one in value] if isinstance(value, list) else type(value)


def test_answers_recorded_again_have_the_form_of_the_recorded_ones():
    lines = RECORDED.read_text(encoding="utf-8").splitlines()[:3]
    again = record(n_answers=3)
    for line, response in zip(lines, again, strict=True):
        recorded = json.loads(line)
        assert forms_of(recorded) == forms_of(response)
        assert all(len(one["logprobs"]["content"][0]["top_logprobs"]) == 5 for one in response["choices"])


# ---- several tokens a label ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["", END])
def test_a_label_has_the_product_of_the_probabilities_of_its_tokens(language_model, questions, end):
    prompt = prompt_of(questions[0][0], asked="Section")
    sums, lengths = label_log_probabilities(language_model, prompt, SECTIONS, end)
    assert (lengths - len([end] * bool(end))).tolist() == [1, 2, 3, 1]
    for label, total in zip(SECTIONS, sums, strict=True):
        tokens = language_model.tokenizer(f" {label}{end}").input_ids
        said = [language_model.tokenizer.decode(tokens[:number]) for number in range(len(tokens))]
        each = [
            next_token_log_probabilities(language_model, prompt + before)[token]
            for before, token in zip(said, tokens, strict=True)
        ]
        np.testing.assert_allclose(total, np.sum(each), rtol=1e-4)
    assert np.exp(sums).sum() <= 1


def test_with_a_head_it_hardly_matters_whether_sums_are_divided_by_the_length(language_model, questions):
    texts, codes = questions
    asked = [label_log_probabilities(language_model, prompt_of(text, asked="Section"), SECTIONS) for text in texts]
    sums = np.array([sums for sums, _ in asked], dtype=np.float64)
    means = sums / asked[0][1]
    alone = [errors(scores[N_FIT:].argmax(axis=1), codes) for scores in (sums, means)]
    assert abs(alone[0] - alone[1]) > 0.04
    heads = [aftermax.fit(scores[:N_FIT], codes[:N_FIT]) for scores in (sums, means)]
    after = [errors(head.predict(scores[N_FIT:]), codes) for head, scores in zip(heads, (sums, means), strict=True)]
    assert abs(after[0] - after[1]) < 0.03
    assert max(after) < min(alone)


# ---- the order of labels ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def by_order(questions):
    """The log-probabilities of the labels by the order in which the prompt lists them: four rotations."""
    language_model = make_language_model(n_texts=600, n_epochs=40, listed=True)
    tokens = [language_model.tokenizer(f" {name}").input_ids[0] for name in NAMES]

    def ask(order):
        prompts = [prompt_of(text, order) for text in questions[0]]
        return [next_token_log_probabilities(language_model, prompt)[tokens].numpy() for prompt in prompts]

    return np.array([ask(NAMES[first:] + NAMES[:first]) for first in range(4)], dtype=np.float64)


def test_answers_depend_on_the_order_and_a_head_corrects_the_one_that_is_kept(by_order, questions):
    codes = questions[1]
    alone = [errors(scores[N_FIT:].argmax(axis=1), codes) for scores in by_order]
    assert max(alone) - min(alone) > 0.02
    heads = [aftermax.fit(scores[:N_FIT], codes[:N_FIT]) for scores in by_order]
    fitted_and_new = np.array([[errors(head.predict(scores[N_FIT:]), codes) for scores in by_order] for head in heads])
    kept, changed = fitted_and_new.diagonal(), fitted_and_new[~np.eye(4, dtype=bool)]
    assert kept.mean() < np.mean(alone) - 0.02
    assert changed.mean() > kept.mean() + 0.005  # the head of one order with the answers of another


def test_the_mean_over_orders_is_about_as_good_as_an_order_that_is_kept(by_order, questions):
    codes, mean = questions[1], by_order.mean(axis=0)
    head = aftermax.fit(mean[:N_FIT], codes[:N_FIT])
    one = aftermax.fit(by_order[0, :N_FIT], codes[:N_FIT])
    assert errors(head.predict(mean[N_FIT:]), codes) <= errors(one.predict(by_order[0, N_FIT:]), codes) + 0.02
