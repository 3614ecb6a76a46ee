"""Which kind of scores answers hold: probabilities, percentages, log-probabilities, or any others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.large import LARGEST_VALUE
from aftermax._utils.warned import warn

PROBABILITIES, PERCENTAGES, LOG_PROBABILITIES, LOGITS = KINDS = (
    "probabilities",
    "percentages",
    "log-probabilities",
    "logits",
)
ROUNDING = 1e-6
TOLERANCE = 1e-3  # by which a probability may exceed 1 if the kind is known
# By how much the probabilities of an answer may exceed 1 in all, and what each of its labels may add by rounding.
EXCESS, EXCESS_OF_EACH = 0.01, 0.005
# Log-probabilities below it stand for a probability of 0: -9999 in chat completions, the least float of other servers.
NEVER = -700.0
WHOLE = 0.9  # percentages of some answer, at least, sum to so much of 100
SCORES_AT_ONCE = 2**22
ENOUGH_ANSWERS = 10  # to tell that logits are of another kind than those that a head was fitted on


def tell_kind(sizes: NDArray[np.int64], scores: NDArray[np.float64], place: Callable[[int], str]) -> str:
    """The kind of scores, told from all answers, one after the other. ``sizes`` says how many scores each has.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax.answers.kinds import tell_kind
    >>> sizes = np.array([2, 2])
    >>> tell_kind(sizes, np.array([0.9, 0.1, 0.6, 0.3]), str), tell_kind(sizes, np.array([90.0, 10, 60, 30]), str)
    ('probabilities', 'percentages')
    """
    kinds = _kinds_of_answers(sizes, scores)
    if kinds[PERCENTAGES].all() and np.add.reduceat(scores, _starts(sizes)).max() < 100 * WHOLE:
        raise ValueError(
            "The scores may be percentages or logits: they are above 0, and those of no answer sum to about 100. Say "
            'which: kind="percentages" or kind="logits" (--scores-kind on the command line).'
        )
    certain = {kind: is_kind for kind, is_kind in kinds.items() if is_kind.all()}
    if len(certain) > 1:
        raise ValueError("All scores are 0: pass the scores as the service gives them.")
    if certain:
        return next(iter(certain))
    if np.logical_or.reduce(list(kinds.values())).all():  # each is of one of these kinds, but not all of the same
        raise _mixed(kinds, place)
    if scores.min() >= 0 and scores.max() <= 1 + ROUNDING:
        warn(
            "The scores are all between 0 and 1, but sum to more than 1: they are taken as they are, as similarities "
            'are. If they are probabilities, pass kind="probabilities" (--scores-kind probabilities on the command '
            "line).",
            stacklevel=4,
        )
    return LOGITS


def check_kind(kind: str, sizes: NDArray[np.int64], scores: NDArray[np.float64], place: Callable[[int], str]) -> None:
    """Refuse answers that look like those of another kind than the one that a head was fitted on."""
    kinds = _kinds_of_answers(sizes, scores)
    others = [other for other in kinds if other != kind and kinds[other].all()]
    if kind == LOGITS:
        if others and len(kinds[PROBABILITIES]) >= ENOUGH_ANSWERS and PERCENTAGES not in others:
            warn(
                f"The answers look like {others[0]}, but the head was fitted on logits, as which they are taken.",
                stacklevel=4,
            )
    elif others and not kinds[kind].any():
        raise ValueError(
            f"{place(0)}: the scores look like {others[0]}, but the head was fitted on {kind}. It needs scores of the "
            "same kind: see what the service returns."
        )


def blocks_of(sizes: NDArray[np.int64]) -> Iterator[tuple[slice, slice]]:
    """Some answers at a time, and their scores, so that what is computed of them takes little memory."""
    ends = np.cumsum(sizes)
    first = begin = 0
    while first < len(sizes):
        last = max(first + 1, int(np.searchsorted(ends, begin + SCORES_AT_ONCE, "right")))
        end = int(ends[last - 1])
        yield slice(first, last), slice(begin, end)
        first, begin = last, end


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.cumsum(sizes) - sizes


def _kinds_of_answers(sizes: NDArray[np.int64], scores: NDArray[np.float64]) -> dict[str, NDArray[np.bool_]]:
    """For each kind, which answers can be of it. Each answer has at least one score."""
    starts = _starts(sizes)
    least, most = np.minimum.reduceat(scores, starts), np.maximum.reduceat(scores, starts)
    sums = np.add.reduceat(scores, starts)
    exp_sums = np.empty(len(sizes))
    for answers, some in blocks_of(sizes):
        exp_sums[answers] = np.add.reduceat(np.exp(np.minimum(scores[some], 1.0)), _starts(sizes[answers]))
    limit = 1 + EXCESS + EXCESS_OF_EACH * sizes
    probabilities = (least >= 0) & (most <= 1 + ROUNDING) & (sums <= limit)
    # In percent, answers that sum to 1 or less would hide 99 % of the probability.
    percentages = (least >= 0) & ~probabilities & (most > 1) & (most <= 100 * (1 + ROUNDING)) & (sums <= 100 * limit)
    return {
        PROBABILITIES: probabilities,
        PERCENTAGES: percentages,
        LOG_PROBABILITIES: (most <= ROUNDING) & (exp_sums <= limit),
    }


def _mixed(kinds: dict[str, NDArray[np.bool_]], place: Callable[[int], str]) -> ValueError:
    usual = max(kinds, key=lambda kind: int(kinds[kind].sum()))
    row = int(np.argmin(kinds[usual]))
    other = next(kind for kind in kinds if kinds[kind][row])
    return ValueError(
        f"The answers hold scores of different kinds: most look like {usual}, but {place(row)} like {other}. Make them "
        f'all the same, or say what they are: kind="logits" takes them as they are (--scores-kind on the command line).'
    )


def logarithms(scores: NDArray[np.float64], kind: str, place: Callable[[int], str]) -> NDArray[np.float64]:
    """Scores as logits: the logarithms of probabilities, minus infinity for 0; any others as they are."""
    if kind == LOGITS:
        if scores.size and scores.min() < -LARGEST_VALUE:
            where = int(np.argmin(scores))
            raise ValueError(
                f"{place(where)}: a logit of {scores[where]:g} is too low to compute with: leave out such labels, or "
                "write -1e4."
            )
        return scores
    shares = scores / (100.0 if kind == PERCENTAGES else 1.0)
    outside = scores > TOLERANCE if kind == LOG_PROBABILITIES else (shares < 0) | (shares > 1 + TOLERANCE)
    if outside.any():
        where = int(np.argmax(outside))
        raise ValueError(
            f"{place(where)}: {scores[where]:g} is not possible among {kind}. The head and its new samples need scores "
            "of the same kind: see what the service returns."
        )
    if kind == LOG_PROBABILITIES:
        return np.where(scores < NEVER, -np.inf, scores)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.minimum(shares, 1.0)))
