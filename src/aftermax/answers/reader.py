"""Reads answers into logits, all at once or some at a time."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.text import listed
from aftermax.answers.kinds import KINDS, LOGITS, SCORES_AT_ONCE, blocks_of, check_kind, logarithms, tell_kind
from aftermax.answers.names import Columns, classes_of, same_name
from aftermax.answers.pairs import MAX_SCORE, is_plain, pairs_of
from aftermax.answers.scores import AnswerFormat, TopKScores

FEW = 50  # scores, for which Python is faster than numpy
STEP = 0.01  # by which a class that is not named is below those that are
MARGIN = 1.0  # by which the floor is below the least score that was seen, as a logarithm


class AnswerReader:
    """Reads answers, all at once or some at a time, and remembers what it has to warn of.

    Parameters
    ----------
    classes : sequence, default=None
        All classes. If None, those that the first answers name.
    answer_format : AnswerFormat, default=None
        How the answers become logits, if that is known.
    kind : str, default=None
        The kind of scores, if that is known.
    ignored : iterable, default=()
        Labels that are left out without a word.
    """

    def __init__(
        self,
        classes: Sequence[Any] | None = None,
        answer_format: AnswerFormat | None = None,
        kind: str | None = None,
        ignored: Iterable[Any] = (),
    ) -> None:
        if kind is not None and kind not in KINDS:
            raise ValueError(f"kind={kind!r} is not known: use one of {listed(list(KINDS))}, or None.")
        if kind is not None and answer_format is not None and kind != answer_format.kind:
            raise ValueError(f"kind={kind!r}, but the head was fitted on {answer_format.kind}: leave kind out.")
        self._classes, self._format, self._kind = classes, answer_format, kind
        self._ignored = {same_name(label) for label in ignored}
        self._columns: Columns | None = None
        self._names_a_class = False
        self._numbers: dict[Any, int] = {}  # of labels, in the order in which they came
        self._keys_before: list[Any] = []  # of the answer before, if it is a plain dict, and the numbers of its labels
        self._labels_before = array("i")
        self._clear()

    @property
    def answer_format(self) -> AnswerFormat | None:
        """How answers become logits; None before it is known."""
        return self._format

    def _clear(self) -> None:
        self._sizes, self._labels, self._scores = array("i"), array("i"), array("d")

    def add(self, answer: Any, place: str) -> None:
        """Take one more answer; ``place`` says where it is, for errors."""
        scores = self._scores_like_before(answer)
        if scores is not None:
            self._sizes.append(len(scores))
            self._labels.extend(self._labels_before)
            self._scores.extend(scores)
            return
        pairs = pairs_of(answer, place)
        numbers = array("i", [self._numbers.setdefault(label, len(self._numbers)) for label, _ in pairs])
        self._sizes.append(len(pairs))
        self._labels.extend(numbers)
        self._scores.extend(score for _, score in pairs)
        self._keys_before = list(answer) if is_plain(answer) else []
        self._labels_before = numbers

    def _scores_like_before(self, answer: Any) -> array[float] | None:
        """The scores of an answer with the same labels, in the same order, as the one before; None if it has others.

        So most answers that name thousands of classes are read without a look at each label.
        """
        if type(answer) is not dict or not self._keys_before or list(answer) != self._keys_before:
            return None
        if not set(map(type, answer.values())) <= {float, int}:
            return None
        try:
            scores = array("d", answer.values())
        except OverflowError:
            return None
        if len(scores) <= FEW:
            return scores if all(map(MAX_SCORE.__ge__, scores)) else None  # not if one is NaN
        return scores if np.max(np.frombuffer(scores)) <= MAX_SCORE else None

    def finish(self, place: Callable[[int], str]) -> TopKScores:
        """The answers since the last call as logits; ``place`` says where the one of a number is."""
        if not self._sizes:
            raise ValueError("There are no answers: pass one for each sample.")
        sizes, labels, scores = (
            np.array(self._sizes),
            np.frombuffer(self._labels, np.int32),
            np.frombuffer(self._scores),
        )
        self._clear()
        if self._format is not None:
            kind = self._format.kind
            check_kind(kind, sizes, scores, place)
        else:
            kind = self._kind or tell_kind(sizes, scores, place)
        times = np.zeros(len(self._numbers), dtype=np.int64)
        for _, some in blocks_of(sizes):
            times += np.bincount(labels[some], minlength=len(times))
        columns = self._columns_of(times)
        self._names_a_class |= bool((times[columns >= 0] > 0).any())  # later answers may well name none
        if not self._names_a_class:
            raise self._nothing_named()
        shape = len(sizes), len(self._classes or ())
        values, told, untold = np.full(shape, -np.inf), np.zeros(shape, dtype=bool), np.full((len(sizes), 1), -np.inf)
        for answers, some in blocks_of(sizes):
            rows = np.repeat(np.arange(answers.stop - answers.start), sizes[answers])
            logits = logarithms(scores[some], kind, partial(_place_of, place, rows + answers.start))
            found = columns[labels[some]]
            known = found >= 0
            told[answers][rows[known], found[known]] = True
            _add(values[answers], rows[known], found[known], logits[known], kind)
            if kind != LOGITS:
                untold[answers] = _most_untold(rows, logits, values[answers])
        return self._filled(values, told, untold, kind)

    def _columns_of(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The column of each label, which was seen so many times, -1 if it has none."""
        times = dict(zip(self._numbers, counts.tolist(), strict=True))
        wanted = {label: number for label, number in times.items() if same_name(label) not in self._ignored}
        if self._classes is None:
            self._classes = classes_of(wanted)
            if len(self._classes) < 2:
                raise ValueError(f"The answers name one class only, {listed(self._classes)}: at least two are needed.")
        self._columns = self._columns or Columns(self._classes)
        found = [self._columns.find(label, count) if label in wanted else None for label, count in times.items()]
        return np.array([-1 if column is None else column for column in found], dtype=np.int64)

    def _filled(
        self, values: NDArray[np.float64], told: NDArray[np.bool_], untold: NDArray[np.float64], kind: str
    ) -> TopKScores:
        """The scores with ``untold``, or the floor, for the classes that the answers do not name, or name with 0.

        A class that is named with 0 has no more than the least score of all: it was rounded. One that is not named is
        below all that are.
        """
        if self._format is None:
            self._format = self._format_of(values, kind)
        floor = self._format.floor
        for first in range(0, len(values), step := max(1, SCORES_AT_ONCE // values.shape[1])):
            some = slice(first, first + step)
            rounded = np.minimum(untold[some], floor + MARGIN) if kind != LOGITS else untold[some]
            others = np.maximum(np.where(told[some], rounded, untold[some]), floor)
            values[some] = np.where(np.isfinite(values[some]), np.maximum(values[some], floor + STEP), others)
        return TopKScores(values, np.array(self._classes), told, self._format)

    def _format_of(self, values: NDArray[np.float64], kind: str) -> AnswerFormat:
        """How answers become logits, told from the first ones."""
        positive = np.isfinite(values)
        if not positive.any():
            raise self._nothing_named()
        seen = values.ravel() if positive.all() else values[positive]
        # Logits have a scale of their own; probabilities' logarithms have not.
        margin = MARGIN if kind != LOGITS else max(float(seen.std()), 1e-3)
        return AnswerFormat(kind, float(seen.min()) - margin)

    def _nothing_named(self) -> ValueError:
        return ValueError(
            f"No answer names a class ({listed(list(self._classes or ()))}) with a score above 0, but "
            f"{listed(list(self._numbers))}: pass the classes as the service spells them."
        )

    def end(self, where: str, stacklevel: int = 3) -> None:
        """After the last answer: warn of labels that were spelt otherwise, and of unknown ones."""
        if self._columns is not None:
            self._columns.warn(where, stacklevel + 1)


def _place_of(place: Callable[[int], str], rows: NDArray[np.int64], number: int) -> str:
    """Where the score of a number is."""
    return place(int(rows[number]))


def _add(
    values: NDArray[np.float64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    logits: NDArray[np.float64],
    kind: str,
) -> None:
    """Put logits where they belong. Of a class that an answer names twice, the sum or the larger."""
    values[rows, columns] = logits
    if np.count_nonzero(np.isfinite(values)) == np.count_nonzero(np.isfinite(logits)):
        return  # none is named twice
    values[rows, columns] = -np.inf
    if kind == LOGITS:
        np.maximum.at(values, (rows, columns), logits)
    else:
        np.logaddexp.at(values, (rows, columns), logits)


def _most_untold(
    rows: NDArray[np.int64], logits: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The log-probability of each class that an answer does not name: an equal share of the rest, if it may be so much.

    An answer names its best labels, so no other has more than the least of them. Labels that are no class, such as the
    other tokens of a language model, take their part as well.
    """
    untold = np.count_nonzero(~np.isfinite(values), axis=1)
    rest = 1.0 - np.bincount(rows, np.exp(logits), minlength=len(values))
    least = np.full(len(values), np.inf)
    possible = np.isfinite(logits)  # a probability of 0 may be one that was rounded
    np.minimum.at(least, rows[possible], logits[possible])
    with np.errstate(divide="ignore"):
        shares = np.log(np.maximum(rest, 0.0) / np.maximum(1, untold))
    return np.asarray(np.minimum(shares, least - STEP)[:, None])
