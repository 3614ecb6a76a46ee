"""Head files: a fitted head saved to one file, and loaded again. No pickle: loading a file executes nothing.

:mod:`aftermax.storage._archive` is about the file, :mod:`aftermax.storage._schema` about what a head consists of.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sklearn.utils.validation import check_is_fitted

from aftermax._heads.protocol import State
from aftermax._utils.files import checked_output_path, write_atomically
from aftermax._utils.text import shortened
from aftermax._utils.untrusted import fields, one_of, texts
from aftermax.storage import _format_1, _format_2
from aftermax.storage._archive import AGAIN, DAMAGE, VERSION, ForeignError, read_archive, write_archive
from aftermax.storage._schema import ESTIMATORS, Head, from_content, to_content

# Each brings a format to the next one.
UPGRADES: dict[int, Callable[[State], State]] = {1: _format_1.upgrade, 2: _format_2.upgrade}
MAX_REASON = 300  # characters
SCORES = "scores"  # an optional field that the command writes


# ---- what users call -------------------------------------------------------------------------------------------------


def save(head: Head, path: str | os.PathLike[str]) -> None:
    """Save a fitted head to a file, from which :func:`load` restores it.

    The file holds plain arrays and JSON; ``numpy.load(path)`` shows the arrays. It is written whole or not at all, and
    the same head always gives the same bytes.

    Parameters
    ----------
    head : AutoHead, SPHClassifier, SPHClassifierCV, SoftmaxClassifier or Decider
        Fitted.
    path : str or path-like
        The file to write, with any suffix or none; one that exists is replaced. Its folder must be there.

    Notes
    -----
    Everything that predicts and everything that reports on the head is saved. What is not: ``held_out_``, as it is
    about your samples; ``cv_results_`` and ``best_index_`` of SPHClassifierCV, as the table may be a thousand times
    larger than the head; a RandomState, and ``cv`` of AutoHead if it is a splitter or a list of splits, which are None
    in the loaded head; ``head_`` of a Decider, and its ``metric`` if that is a callable. Of the samples that the head
    was fitted on, the file holds means, spreads and up to 128 hashes, by which :func:`~aftermax.check` knows them
    again; no sample can be restored from these. Only the file of an SPHClassifier with ``updatable=True`` holds the
    samples themselves, their logits and labels.

    Examples
    --------
    >>> import tempfile
    >>> import aftermax
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> head = aftermax.SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     aftermax.save(head, f"{folder}/head.npz")
    ...     loaded = aftermax.load(f"{folder}/head.npz")
    >>> bool((loaded.predict(scores.test_logits) == head.predict(scores.test_logits)).all())
    True
    """
    write_head(head, path)


def load(path: str | os.PathLike[str]) -> Head:
    """Load a head that :func:`save` or ``aftermax fit`` wrote.

    It is of the same class, fitted, and gives the same predictions and probabilities. Everything in the file is checked
    before it is used, and nothing in it is ever executed: a file from someone else can do no harm. (Whether its
    predictions are good is another matter.)

    Parameters
    ----------
    path : str or path-like
        The file. If it is damaged, of another kind or made by a newer aftermax, a ValueError says so.
    """
    return read_head(path)[0]


# ---- for the command -------------------------------------------------------------------------------------------------


class FittedOn(NamedTuple):
    """What the command notes in a head file about the scores that the head was fitted on."""

    probabilities: bool = False  # whether their logarithms were taken for logits
    columns: tuple[str, ...] = ()  # their headings, where these are not the classes


def can_be_saved(head: object) -> bool:
    """Whether :func:`save` takes a head of this class."""
    return type(head) in ESTIMATORS.values()


def write_head(head: Head, path: str | os.PathLike[str], fitted_on: FittedOn | None = None) -> None:
    """Save a head, with a note about the scores that it takes."""
    if not can_be_saved(head):
        raise TypeError(_cannot_save(head))
    check_is_fitted(head, msg="This %(name)s is not fitted yet: call fit before you save it.")
    content = to_content(head)
    if fitted_on is not None and fitted_on != FittedOn():
        kind = "probabilities" if fitted_on.probabilities else "logits"
        content.values[SCORES] = {"kind": kind, "columns": list(fitted_on.columns) or None}
    with write_atomically(checked_output_path(Path(path))) as unfinished:
        write_archive(unfinished, content)
        try:
            load(unfinished)
        except ValueError as error:
            raise ValueError(f"This head cannot be saved, as {error.__cause__}. Fit it again, and save it.") from error


def read_head(path: str | os.PathLike[str]) -> tuple[Head, FittedOn]:
    """A head, and what the file says about the scores that it was fitted on."""
    with open(path, "rb") as file:
        try:
            described, arrays = read_archive(file)
            scores = described.pop(SCORES, {"kind": "logits", "columns": None})
            version = described.pop("format_version")
            content = State(described, arrays)
            for older in range(version, VERSION):
                content = UPGRADES[older](content)
            head = from_content(content)
            return head, _fitted_on(scores, head.n_features_in_)
        except ForeignError as error:
            raise ValueError(f"{os.fspath(path)} {error}") from error
        except DAMAGE as error:
            reason = shortened(str(error), MAX_REASON).rstrip(".") or "it ends too early"
            raise ValueError(f"{os.fspath(path)} is damaged: {reason}. {AGAIN}") from error


def _fitted_on(described: object, size: int) -> FittedOn:
    named = fields(described, {"kind", "columns"}, "the note about the scores")
    kind = one_of(named["kind"], {"logits", "probabilities"}, "the kind of scores")
    columns = () if named["columns"] is None else tuple(texts(named["columns"], size, "the list of columns"))
    if len(set(columns)) < len(columns):
        raise ValueError("the list of columns names one twice")
    return FittedOn(kind == "probabilities", columns)


def _cannot_save(head: object) -> str:
    name = type(head).__name__
    if name == "PostHocClassifier":
        return "A PostHocClassifier is not saved as a whole: save its head_, and save the model as you always do."
    return f"{name} cannot be saved: pass a fitted {', '.join(ESTIMATORS)}."
