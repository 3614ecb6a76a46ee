"""Predict a folder of score files, part by part, in any order and by several workers."""

from __future__ import annotations

import errno
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from aftermax import __version__
from aftermax._scorefiles.folder_files import find_files
from aftermax._scorefiles.parts import (
    FileState,
    Part,
    begin,
    check_folder,
    finish,
    not_complete,
    plan_parts,
    read_note,
    write_note,
)
from aftermax._scorefiles.predict import NoRowsError, no_counts, open_for_head, predict_file
from aftermax._scorefiles.prediction_counts import PredictionCounts
from aftermax._scorefiles.types import ReadOptions
from aftermax._utils.progress import Progress
from aftermax._utils.threads import one_thread

HOPELESS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)  # errors that all other parts would have too
SHOWN_FAILURES = 3
LOOKED_AT = 100  # of many parts, before workers are started


@dataclass(frozen=True)
class Work:
    """What is the same for all parts. Workers get it once."""

    head: Any
    options: ReadOptions
    probabilities: bool


# Runs a function on each part, somewhere; parts with what it returned or raised, as they come.
Run = Callable[
    [Callable[[Work, Part], dict[str, Any]], Work, Sequence[Part]],
    Generator[tuple[Part, dict[str, Any] | Exception], None, None],
]


class FolderCounts(NamedTuple):
    """What was counted in all parts, how many there are, and how many of them an earlier run had done."""

    counts: PredictionCounts
    parts: int
    done_before: int


def predict_folder(
    head: Any,
    source: Path,
    out: Path,
    options: ReadOptions,
    run: Run,
    *,
    head_hash: str,
    probabilities: bool = False,
) -> FolderCounts:
    """Write a fitted head's predictions for all score files of a folder, as one parquet file for each.

    Parts that an earlier run with the same head, options and score files has done are left as they are. Each part is
    written whole or not at all, and ``_complete.json`` is there if and only if all parts are.

    Parameters
    ----------
    head : AutoHead, SPHClassifier, SPHClassifierCV, SoftmaxClassifier or Decider
        Fitted.
    source, out : Path
        Folders, on a file system that all workers see.
    options : ReadOptions
        Which columns or arrays to read, as for one file.
    run : callable
        Runs the parts, somewhere.
    head_hash : str
        By which the head is known again.
    probabilities : bool, default=False
        Whether to write probabilities, too.
    """
    source, out = source.resolve(), out.resolve()
    files = find_files(source, out)
    in_order, unreadable = _look_at_files(head, [source / inside for inside in files], options)
    options = replace(options, in_order=in_order)
    made_by = {
        "aftermax": __version__,
        "head": head_hash,
        "options": asdict(options) | {"labels": None, "features": []},
        "probabilities": probabilities,
    }
    parts = plan_parts(source, out, files, made_by)
    check_folder(out, parts)
    done = _done(head, parts)
    unfinished = [part for part in parts if part not in done]
    before = len(done)
    if unfinished:
        not_complete(out)
        if unreadable is not None:
            raise unreadable
        begin(out, unfinished)
        failures = _run_parts(Work(head, options, probabilities), unfinished, run, done)
        if failures:
            raise _failed(failures, len(done), len(parts))
    counts = no_counts(head)
    for part in parts:  # in this order, whichever was done first
        counts.add_state(done[part])
    finish(out, parts, counts.rows, made_by)
    return FolderCounts(counts, len(parts), before)


def _look_at_files(
    head: Any, paths: Sequence[Path], options: ReadOptions
) -> tuple[tuple[str, ...] | None, ValueError | None]:
    """The columns that all files have to have in one order, if their names say nothing (see ``ReadOptions.in_order``).

    The first file that can be read tells. If none can, what is wrong is wrong with all of them, such as a missing
    column: an error to raise before workers are started. Damaged files are no reason to leave out the others.
    """
    looked_at = paths[:: -(-len(paths) // LOOKED_AT)]
    errors: list[Exception] = []
    for path in looked_at:
        try:
            with open_for_head(head, str(path), options) as file:
                return (() if file.found_by_name else tuple(file.headings or ())), None
        except NoRowsError:
            continue
        except (OSError, ValueError) as error:
            errors.append(error)
    if len(errors) < len(looked_at):
        return None, None
    which = f"{len(paths)} parts" if len(looked_at) == len(paths) else f"{len(errors)} of {len(paths)} parts looked at"
    return None, ValueError(f"None of {which} can be predicted. {_reason(str(looked_at[0]), errors[0])}.")


def _done(head: Any, parts: Sequence[Part]) -> dict[Part, dict[str, Any]]:
    """The counts of parts that are done."""
    noted = {part: _noted(head, part) for part in parts}
    return {part: counts for part, counts in noted.items() if counts is not None}


def _noted(head: Any, part: Part) -> dict[str, Any] | None:
    """The counts of a part, if it is done."""
    counts = no_counts(head)
    try:
        counts.add_state(read_note(part))
    except ValueError:
        return None
    return counts.to_state()


def predict_part(work: Work, part: Part) -> dict[str, Any]:
    """Write the predictions of a part, and then a note on them, unless another run has done so since.

    Doing so twice, also at once, does no harm.
    """
    noted = _noted(work.head, part)
    if noted is not None:
        return noted
    Path(part.out).parent.mkdir(parents=True, exist_ok=True)
    try:
        with one_thread():  # there are other parts
            counts = predict_file(
                work.head, part.source, part.out, work.options, probabilities=work.probabilities, progress=False
            )
    except NoRowsError:
        counts = no_counts(work.head)
    if FileState.of(part.source) != part.state:
        raise ValueError(f"{part.source} has changed while it was read: run the command again when it is complete.")
    state = counts.to_state()
    write_note(part, state)
    return state


def _run_parts(work: Work, parts: Sequence[Part], run: Run, done: dict[Part, dict[str, Any]]) -> dict[Part, Exception]:
    """Run parts and add their counts to ``done``; the errors of those that failed."""
    failures: dict[Part, Exception] = {}
    with Progress("Predicting", len(parts)) as progress, closing(run(predict_part, work, parts)) as outcomes:
        for part, outcome in outcomes:
            progress.step()
            if not isinstance(outcome, Exception):
                done[part] = outcome
                continue
            failures[part] = outcome
            if isinstance(outcome, OSError) and outcome.errno in HOPELESS:
                break
    return failures


def _failed(failures: dict[Part, Exception], done: int, total: int) -> OSError:
    reasons = [_reason(part.source, error) for part, error in failures.items()]
    more = f"; and {len(reasons) - SHOWN_FAILURES} more" if len(reasons) > SHOWN_FAILURES else ""
    return OSError(
        f"{len(failures)} of {total} parts could not be predicted: {'; '.join(reasons[:SHOWN_FAILURES])}{more}. The "
        f"predictions are not complete: {done} of {total} parts are done, from which the same command goes on."
    )


def _reason(source: str, error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
    text = text.rstrip(".")
    return text if source in text else f"{source}: {text}"
