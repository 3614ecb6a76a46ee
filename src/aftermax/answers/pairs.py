"""One answer, in any of the forms that services give it in, as pairs of a label and a score."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

# What services call the two, in the order in which they are looked for.
LABEL_KEYS = ("label", "token", "class", "name", "category", "Name", "tagName", "displayName", "description")
SCORE_KEYS = (
    *("score", "logprob", "probability", "prob", "confidence", "logit", "value", "percentage"),
    *("Score", "Confidence"),
)
MAX_SCORE = 1e100  # larger ones would overflow in a fit
FORMS = (
    'a dict {"cat": 0.9, "dog": 0.1}, pairs [["cat", 0.9], ...], or objects with a label and a score '
    '[{"label": "cat", "score": 0.9}, ...]'
)
LISTS = (list, tuple, np.ndarray)
MAX_SHOWN = 60  # characters of an answer in a message


class Pair(NamedTuple):
    """A label and its score."""

    label: Any  # text or an integer
    score: float


def pairs_of(answer: Any, place: str) -> list[Pair]:
    """The labels and scores of an answer; ``place`` is where it is, for errors.

    Examples
    --------
    >>> from aftermax.answers.pairs import pairs_of
    >>> pairs_of([{"label": "cat", "score": 0.9}, {"label": "dog", "score": 0.1}], "answer 0")
    [Pair(label='cat', score=0.9), Pair(label='dog', score=0.1)]
    >>> pairs_of({"cat": 0.9, "dog": 0.1}, "answer 0") == _
    True
    """
    found = [Pair(_label(label, place), _score(score, label, place)) for label, score in _items(answer, place)]
    if not found:
        raise ValueError(f"{place} has no scores: remove it, or ask the service again.")
    return found


def is_plain(answer: Any) -> bool:
    """Whether an answer is scores by label, whatever numbers these are."""
    return type(answer) is dict and answer.keys().isdisjoint(LABEL_KEYS)


def _items(answer: Any, place: str) -> Iterable[tuple[Any, Any]]:
    if isinstance(answer, Mapping):
        if _has_both(answer):
            return [_label_and_score(answer, place)]  # the one best label
        if all(isinstance(answer.get(key), LISTS) for key in ("labels", "scores")):
            return _zipped(answer["labels"], answer["scores"], place)  # Hugging Face's zero-shot pipeline
        return answer.items()
    if hasattr(answer, "items") and hasattr(answer, "index"):  # a Series
        return list(answer.items())
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise _unknown_form(answer, place)
    return [_label_and_score(one, place) for one in answer]


def _has_both(one: Mapping[Any, Any]) -> bool:
    """Whether it is one label with its score. (Classes may be called so as well: their values are no text.)"""
    named = any(isinstance(one.get(key), str | Integral) for key in LABEL_KEYS)
    return named and any(_is_number(one.get(key)) for key in SCORE_KEYS)


def _is_number(value: Any) -> bool:
    """Whether it can be converted to a number: also decimals, and arrays and tensors that hold a single one."""
    return hasattr(value, "__float__") and not isinstance(value, bool | np.bool_) and getattr(value, "ndim", 0) == 0


def _zipped(labels: Any, scores: Any, place: str) -> Iterable[tuple[Any, Any]]:
    if len(labels) != len(scores):
        raise ValueError(f"{place} has {len(labels)} labels but {len(scores)} scores: one score for each is needed.")
    return zip(labels, scores, strict=True)


def _label_and_score(one: Any, place: str) -> tuple[Any, Any]:
    """The two of a pair, a dict, or an object with attributes, such as those of the OpenAI client."""
    if isinstance(one, list | tuple):
        if len(one) != 2:
            raise _unknown_form(one, place)
        return one[0], one[1]
    values = one if isinstance(one, Mapping) else _attributes(one)
    label, score = (next((values[key] for key in keys if key in values), None) for keys in (LABEL_KEYS, SCORE_KEYS))
    if label is None or score is None:
        raise _unknown_form(one, place)
    return label, score


def _attributes(one: Any) -> dict[str, Any]:
    if isinstance(one, str | bytes | Real):
        return {}
    return {key: getattr(one, key) for key in (*LABEL_KEYS, *SCORE_KEYS) if hasattr(one, key)}


def _label(label: Any, place: str) -> Any:
    if isinstance(label, str):
        return label
    if isinstance(label, Integral) and not isinstance(label, bool):
        return int(label)
    raise ValueError(f"{place}: the label {_shown(label)} is neither text nor an integer: correct it.")


def _score(score: Any, label: Any, place: str) -> float:
    if _is_number(score):
        try:
            value = float(score)
        except OverflowError:
            value = math.inf
        if value <= MAX_SCORE:  # not if it is NaN
            return value
    raise ValueError(
        f"{place}: the score of {_shown(label)} is {_shown(score)}: a finite number is needed. Correct it, or leave "
        "the label out."
    )


def _unknown_form(answer: Any, place: str) -> ValueError:
    return ValueError(f"{place} is {_shown(answer)}: an answer is {FORMS}.")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
