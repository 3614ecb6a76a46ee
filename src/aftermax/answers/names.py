"""The labels of answers matched with the names of the classes: also where case or white space differ."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from aftermax._utils.text import listed
from aftermax._utils.warned import warn


def same_name(label: Any) -> str:
    """What labels that mean the same class have in common: the text without case and outer or repeated white space."""
    return " ".join(unicodedata.normalize("NFC", str(label)).casefold().split())


def classes_of(labels: Mapping[Any, int]) -> list[Any]:
    """The classes that labels name, sorted; of several spellings, the most frequent one. ``labels`` has their counts.

    A class is named without the blank that tokens of language models begin with: the true labels have none.

    Examples
    --------
    >>> from aftermax.answers.names import classes_of
    >>> classes_of({" dog": 5, "Cat": 7, " cat": 2})
    ['Cat', 'dog']
    """
    spellings: dict[str, Counter[Any]] = {}
    for label, times in labels.items():
        name = (label.strip() or label) if isinstance(label, str) else label
        spellings.setdefault(same_name(label), Counter())[name] += times
    chosen = [_most_frequent(counts) for counts in spellings.values()]
    integers = all(isinstance(label, int) for label in chosen)
    return sorted(chosen) if integers else sorted(map(str, chosen))


def _most_frequent(counts: Counter[Any]) -> Any:
    """Of equally frequent ones, the one that is first in the alphabet."""
    return min(counts, key=lambda label: (-counts[label], str(label)))


class Columns:
    """Finds the column of a label, and remembers which labels were spelt otherwise and which are unknown."""

    def __init__(self, classes: Sequence[Any]) -> None:
        self._exact = {label: column for column, label in enumerate(classes)}
        self._same: dict[str, int | None] = {}
        for column, label in enumerate(classes):
            self._same[same_name(label)] = None if same_name(label) in self._same else column  # None: ambiguous
        self._classes = classes
        self._respelt: dict[Any, Any] = {}
        self._unknown: Counter[Any] = Counter()

    def find(self, label: Any, times: int = 1) -> int | None:
        """The column of a label, which was seen so many times; None if it is unknown."""
        column = self._exact.get(label)
        if column is not None:
            return column
        column = self._same.get(same_name(label))
        if column is None and times:
            self._unknown[label] += times
        # Most tokens of language models begin with a blank: that is not worth a word.
        elif column is not None and str(label).strip() != str(self._classes[column]).strip():
            self._respelt[label] = self._classes[column]
        return column

    def warn(self, where: str, stacklevel: int = 3) -> None:
        """Warn of labels that were spelt otherwise, and of unknown ones."""
        self.warn_of_spelling(where, stacklevel + 1)
        if self._unknown:
            names = [label for label, _ in self._unknown.most_common()]
            warn(
                f"{where}: {sum(self._unknown.values()):,} scores are of labels that are no class and are left out: "
                f"{listed(names)}. The classes are {listed(list(self._classes))}.",
                stacklevel,
            )

    def warn_of_spelling(self, where: str, stacklevel: int = 3) -> None:
        """Warn of labels that were spelt otherwise."""
        if self._respelt:
            examples = [f"{label!r} as {name!r}" for label, name in self._respelt.items()]
            more = f", ... {len(examples)} in all" if len(examples) > 3 else ""
            warn(
                f"{where}: labels that differ from a class in case or white space only are taken for it: "
                f"{', '.join(examples[:3])}{more}.",
                stacklevel,
            )
