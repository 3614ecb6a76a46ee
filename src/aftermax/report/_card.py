"""A model card: what an audit found, as Markdown that goes with the head wherever it goes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from aftermax._audit.counts import ClassCounts, by_size_of_change, most_changed
from aftermax._audit.result import Audit
from aftermax._audit.verdict import abstention, better_and_worse, class_mix
from aftermax._utils.files import checked_output_path, write_text
from aftermax._utils.text import fewer, fewer_between, fewer_count, percent, shortened, table
from aftermax.report._card_use import how_to_load, what_it_is, what_it_is_not_for
from aftermax.report._markdown import escaped
from aftermax.report._methodology import methods, versions
from aftermax.report._summary import all_figures, p_value_alone

# What Hugging Face reads. The task, the licence and the data are the model's, and not known here.
FRONT_MATTER = "---\nlibrary_name: aftermax\ntags:\n- aftermax\n- classification\n---"
MAX_LISTED_CLASSES = 20  # of more, those that change most
MAX_LETTERS = 80  # of the name of a class in a table
METHODS = (
    "Samples",
    "Out-of-fold predictions",
    "Before and after",
    "Decisions",
    "What is decided alone",
    "Gain and interval",
    "Tests",
)


def model_card(audit: Audit, *, title: str | None = None) -> str:
    """An audit as a model card: Markdown with a YAML header as Hugging Face has it, to go with the head.

    It says what was measured and on how many samples, what the head changes by class, which class proportions it
    assumes, what it is not for, and how to load it. It holds counts and averages only: no single sample, no path, no
    date. The same audit gives the same card.

    Parameters
    ----------
    audit : Audit
        The result of :func:`~aftermax.audit`.
    title : str, default=None
        The heading, such as which model and which classes the head is for.

    Examples
    --------
    >>> from aftermax import SPHClassifier, audit
    >>> from aftermax.data import load_vmnist
    >>> from aftermax.report import model_card
    >>> scores = load_vmnist(trained_on=500)
    >>> result = audit(scores.val_logits[:400], scores.val_labels[:400], SPHClassifier())
    >>> print(model_card(result, title="A head for the digits of spring").splitlines()[7])
    # A head for the digits of spring
    """
    if not isinstance(audit, Audit):
        raise TypeError(
            f"A model card takes an Audit, not {type(audit).__name__}: pass the result of aftermax.audit(logits, "
            "labels)."
        )
    sections = {
        "The head": what_it_is(audit),
        "What was measured": _figures(audit),
        "By class": _classes(audit.by_class),
        "Candidates": _candidates(audit),
        "Class proportions": escaped(class_mix(audit)),
        "What it is not for": _bullets(what_it_is_not_for(audit)),
        "How to load it": how_to_load(audit),
        "How the figures were computed": _methods(audit),
        "Versions": f"{versions()}.",
    }
    headed = [f"## {heading}\n\n{text.strip()}" for heading, text in sections.items() if text]
    heading = f"# {escaped(title or 'A head for the outputs of a classifier')}"
    return "\n\n".join([FRONT_MATTER, heading, *_summary(audit), *headed]) + "\n"


def write_card(path: str | os.PathLike[str], audit: Audit, *, title: str | None = None) -> None:
    """Write an audit as a model card, atomically; see :func:`model_card`.

    Examples
    --------
    >>> from aftermax.report import write_card
    >>> write_card("card.md", result)  # doctest: +SKIP
    """
    write_text(checked_output_path(Path(path)), model_card(audit, title=title))


def _summary(audit: Audit) -> list[str]:
    """The verdict, its start in bold, what is decided alone, who gains and who loses, and the warnings."""
    start, _, reason = audit.verdict.partition(":")
    remarks = [escaped(text) for text in (abstention(audit), better_and_worse(audit)) if text]
    return [f"**{start}:**{escaped(reason)}", *remarks, *(f"**Warning:** {escaped(text)}" for text in audit.warnings)]


def _figures(audit: Audit) -> str:
    rows = [[escaped(name), escaped(value)] for lines in all_figures(audit).values() for name, value in lines]
    return table(["figure", "value"], rows, texts=2)


def _classes(by_class: Sequence[ClassCounts]) -> str:
    """Errors of each class before and after, the largest change first."""
    listed, others = most_changed(tuple(by_class), MAX_LISTED_CLASSES)
    rows = [
        [
            escaped(shortened(str(one.name), MAX_LETTERS)),
            f"{one.rows:,}",
            f"{one.errors:,}",
            f"{one.errors - one.net:,}",
            fewer_count(one.net),
            *("" if math.isnan(recall) else percent(recall) for recall in one.recall),
        ]
        for one in [*by_size_of_change(listed), *others]
    ]
    heads = ["class", "samples", "errors before", "after", "change", "recall before", "after"]
    note = f"The {len(listed)} of {len(by_class):,} classes that change most.\n\n" if others else ""
    return note + table(heads, rows, texts=1)


def _candidates(audit: Audit) -> str:
    """The candidates of an AutoHead, or nothing."""
    if audit.candidates is None:
        return ""
    rows = []
    for one in audit.candidates.values():
        gain = [fewer(one.gain), fewer_between(*one.gain_interval), f"{one.wins:,}", f"{one.losses:,}"]
        rows.append(
            [
                escaped(one.name) + (" (chosen)" if one.name == audit.candidates.chosen else ""),
                percent(one.error),
                *([""] * 5 if one.name == "softmax" else [*gain, escaped(p_value_alone(one.p_value))]),
                "" if math.isnan(one.log_loss) else f"{one.log_loss:.3f}",
            ]
        )
    heads = ["candidate", "error", "change in errors", "95 % interval", "wins", "losses", "p-value", "log loss"]
    return f"Out-of-fold. P-values are of each candidate alone.\n\n{table(heads, rows, texts=1)}"


def _methods(audit: Audit) -> str:
    known = methods(audit)
    return _bullets(f"*{name}*: {escaped(known[name])}" for name in METHODS if name in known)


def _bullets(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)
