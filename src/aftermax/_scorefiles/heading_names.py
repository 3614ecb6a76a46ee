"""Which headings name which classes: exactly, without case and white space, or with one prefix or suffix on all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from aftermax._scorefiles.labels import are_integers, numbered_names
from aftermax._scorefiles.messages import join_names
from aftermax.answers.names import Columns, classes_of, same_name


class Affix(NamedTuple):
    """What all headings have before or after the names of the classes, or all names before or after the headings."""

    text: str
    before: bool
    of_headings: bool

    def added_to(self, inner: str) -> str:
        """With this before or after it."""
        return self.text + inner if self.before else inner + self.text

    def _removed(self, outer: str) -> str | None:
        inner = outer[len(self.text) :] if self.before else outer[: -len(self.text)]
        return inner if inner and same_name(self.added_to(inner)) == same_name(outer) else None

    def heading_of(self, name: str) -> str | None:
        """The heading of the class of this name; None if it cannot have one."""
        return self.added_to(name) if self.of_headings else self._removed(name)

    def name_of(self, heading: str) -> str | None:
        """The name of the class that this heading is for; None if it is for none."""
        return self._removed(heading) if self.of_headings else self.added_to(heading)

    def words(self, names: str) -> str:
        """What was noticed, as the beginning of a sentence; ``names`` says what the names are."""
        first, second = ("the columns", names) if self.of_headings else (names, "the columns")
        return f"{first} are called like {second} with {self.text!r} {'before' if self.before else 'after'} each"


class Matched(NamedTuple):
    """The heading of each name, and how it differs from the name, in words; none if it does not."""

    headings: list[str]
    affix: Affix | None = None
    respelt: bool = False

    def says(self, names: Sequence[str], what: str) -> str | None:
        """One line on headings that are not the names themselves. ``what`` the names are: the labels, the classes."""
        if self.affix is None and not self.respelt:
            return None
        how = f"the columns are called like {what}, but for case or white space"
        used = f"{join_names(self.headings)} are used as {join_names(list(names))}"
        return f"{how if self.affix is None else self.affix.words(what)}: {used}."


def find_headings(names: Sequence[str], headings: Sequence[str], *, with_affix: bool = True) -> Matched | None:
    """The heading of each of these names, among others; None if some have none, or if it is not clear which.

    Examples
    --------
    >>> from aftermax._scorefiles.heading_names import find_headings
    >>> find_headings(["apple", "fig"], ["id", "Fig", "apple"])
    Matched(headings=['apple', 'Fig'], affix=None, respelt=True)
    >>> find_headings(["apple", "fig"], ["p_fig", "p_apple"]).headings
    ['p_apple', 'p_fig']
    """
    columns = Columns(headings)
    places = [columns.find(name, times=0) for name in names]
    found = [headings[place] for place in places if place is not None]
    if len(set(found)) == len(names):
        return Matched(found, respelt=found != list(names))
    if not with_affix or len(names) < 2:
        return None
    longest = max(names, key=len)  # which is part of few other words
    matches = [one for affix in _affixes(longest, headings) if (one := _with_affix(affix, names, columns, headings))]
    return matches[0] if len(matches) == 1 else None


def _with_affix(affix: Affix, names: Sequence[str], columns: Columns, headings: Sequence[str]) -> Matched | None:
    found: list[str] = []
    for name in names:
        heading = affix.heading_of(name)
        place = None if heading is None else columns.find(heading, times=0)
        if place is None:
            return None
        found.append(headings[place])
    inner = names if affix.of_headings else found
    usable = len(set(found)) == len(names) and (not are_integers(inner) or _is_before_a_number(affix))
    return Matched(found, affix) if usable else None


def _is_before_a_number(affix: Affix) -> bool:
    """Whether a number may follow or go before: x of x0, x1, but not 1 of 10, 11, and not 0. of 0.1, 0.2."""
    return any(map(str.isalpha, affix.text)) and not affix.text[-1 if affix.before else 0].isdigit()


def _affixes(name: str, headings: Sequence[str]) -> Iterator[Affix]:
    """What might be before or after: by one name and every heading, each once."""
    seen = set()
    for heading in headings:
        for inner, outer, of_headings in ((name, heading, True), (heading, name, False)):
            size = len(outer) - len(inner)
            if size <= 0 or not inner:
                continue
            for affix in (Affix(outer[:size], True, of_headings), Affix(outer[-size:], False, of_headings)):
                key = affix._replace(text=affix.text.casefold())
                if affix.text.strip() and key not in seen and same_name(affix.added_to(inner)) == same_name(outer):
                    seen.add(key)
                    yield affix


# ---- labels, of which some classes may have none ---------------------------------------------------------------------


class LabelledHeadings(NamedTuple):
    """The class of each column, spelt as the labels, and one line on what was matched otherwise than exactly."""

    classes: list[str]
    remark: str | None


def classes_of_headings(labels: Counter[str], headings: Sequence[str]) -> LabelledHeadings | None:
    """The class of each column by its heading; None if no label is called like one. ``labels`` has their counts.

    Labels without a heading are left out, if others have one. Of several spellings of a label, the most frequent one
    names the class, unless one is the heading itself.

    Examples
    --------
    >>> from collections import Counter
    >>> from aftermax._scorefiles.heading_names import classes_of_headings
    >>> classes_of_headings(Counter("apple fig fig".split()), ["logit_fig", "logit_kiwi", "logit_apple"]).classes
    ['fig', 'kiwi', 'apple']
    """
    columns = Columns(headings)
    spellings: dict[int, Counter[str]] = {}
    for label, times in labels.items():
        if (place := columns.find(label, times=0)) is not None:
            spellings.setdefault(place, Counter())[label] += times
    if spellings:
        classes = [_spelling(heading, spellings.get(place)) for place, heading in enumerate(headings)]
        other = {heading: name for heading, name in zip(headings, classes, strict=True) if name != heading}
        matched = Matched(list(other), respelt=bool(other))
        return LabelledHeadings(classes, matched.says(list(other.values()), "the labels"))
    return _classes_with_affix(labels, headings)


def _spelling(heading: str, labels: Counter[str] | None) -> str:
    return heading if labels is None or heading in labels else classes_of(labels)[0]


def _classes_with_affix(labels: Counter[str], headings: Sequence[str]) -> LabelledHeadings | None:
    """The same if all labels differ from the headings by one prefix or suffix, on all headings or on all labels."""
    names = classes_of(labels)
    matched = find_headings(names, headings)
    if matched is None or matched.affix is None:
        return None
    given = dict(zip(matched.headings, names, strict=True))
    classes = [given.get(heading, matched.affix.name_of(heading)) for heading in headings]
    if None in classes:
        return None
    found = [name for name in classes if name is not None]
    if found == numbered_names(len(found)):  # as they would be taken without headings
        return LabelledHeadings(found, None)
    return LabelledHeadings(found, matched._replace(headings=list(headings)).says(found, "the labels"))
