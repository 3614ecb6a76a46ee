"""Scores with a column for each class from answers that name the best few labels only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aftermax._utils.text import listed
from aftermax.answers.reader import AnswerReader
from aftermax.answers.scores import AnswerFormat, TopKScores


def scores_from_top_k(
    answers: Iterable[Any],
    classes: ArrayLike | None = None,
    *,
    like: Any = None,
    kind: str | None = None,
) -> TopKScores:
    """Logits with a column for each class from the answers of a service, which name its best few labels with scores.

    Whether the scores are probabilities, percentages or log-probabilities is told from all answers together, and said
    in the result; anything else is taken as it is. Probabilities and percentages become logarithms. The classes that an
    answer does not name share the rest of its probability, but have no more than the least that it gives to any label,
    and no less than a floor below the least score of all. If an answer names a class twice, as a language
    model does with "cat" and " cat", the probabilities are added.

    Parameters
    ----------
    answers : iterable
        One for each sample: a dict ``{"cat": 0.9, "dog": 0.1}``; pairs ``[("cat", 0.9), ("dog", 0.1)]``; or objects
        with a label and a score, as Hugging Face's pipelines (``{"label": ..., "score": ...}``), chat completions
        (``top_logprobs``: ``{"token": ..., "logprob": ...}``) and most cloud services return them.
    classes : array-like of shape (n_classes,), default=None
        All classes, in the order of the columns. If None, all labels that the answers name, sorted. Labels that differ
        from a class in case or white space only are taken for it, with a warning if it is more than a blank before or
        after; scores of other labels are left out, with a warning that names them.
    like : fitted head or TopKScores, default=None
        Read the answers as those that the head was fitted on were read: the same classes, kind and floor. Always pass
        it for new answers.
    kind : {"probabilities", "percentages", "log-probabilities", "logits"}, default=None
        What the scores are, if that is known or told wrongly; "logits" takes them as they are.

    Returns
    -------
    TopKScores
        To be passed to :func:`~aftermax.fit`, :func:`~aftermax.audit`, ``predict`` and so on in place of logits.

    Examples
    --------
    >>> import aftermax
    >>> answers = [
    ...     [{"label": "cat", "score": 0.9}, {"label": "dog", "score": 0.06}],
    ...     [{"label": " dog", "score": 0.5}, {"label": "eel", "score": 0.4}],
    ... ]
    >>> scores = aftermax.scores_from_top_k(answers, classes=["cat", "dog", "eel"])
    >>> scores
    <TopKScores: 2 answers with probabilities of 2 of 3 classes in the mean, taken as logarithms.>
    >>> import numpy as np
    >>> np.exp(scores.values).round(3)
    array([[0.9 , 0.06, 0.04],
           [0.1 , 0.5 , 0.4 ]])
    """
    reader = _reader(classes, like, kind)
    for row, answer in enumerate(answers):
        reader.add(answer, _answer_number(row))
    scores = reader.finish(_answer_number)
    reader.end("The answers", stacklevel=3)
    return scores


def _answer_number(row: int) -> str:
    return f"answer {row}"


def _reader(classes: ArrayLike | None, like: Any, kind: str | None) -> AnswerReader:
    names = None if classes is None else list(np.asarray(classes).tolist())
    if names is not None and (len(set(names)) < len(names) or len(names) < 2):
        raise ValueError(f"classes are {listed(names)}: pass at least two, each of them once.")
    if like is None:
        return AnswerReader(names, None, kind)
    answer_format, known = _format_of(like)
    if names is not None and names != known:
        raise ValueError(f"classes are {listed(names)}, but those of like are {listed(known)}: leave classes out.")
    return AnswerReader(known, answer_format, kind)


def _format_of(like: Any) -> tuple[AnswerFormat, list[Any]]:
    if isinstance(like, TopKScores):
        return like.format, like.columns
    answer_format = getattr(like, "answer_format_", None)
    if not isinstance(answer_format, AnswerFormat):
        raise ValueError(
            "like must be TopKScores, or a head that was fitted on TopKScores: fit the head on what scores_from_top_k "
            "returns."
        )
    return answer_format, list(like.classes_.tolist())
