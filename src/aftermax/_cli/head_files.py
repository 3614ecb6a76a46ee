"""Head files, as the commands read them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from aftermax._utils.files import existing_file

if TYPE_CHECKING:
    from aftermax._scorefiles import ReadOptions
    from aftermax.auto.head import AutoHead
    from aftermax.sph.classifier import SPHClassifier
    from aftermax.sph.classifier_cv import SPHClassifierCV
    from aftermax.storage.head_files import FittedOn


def read_head(path: Path, scores: Path | None = None) -> tuple[AutoHead | SPHClassifier | SPHClassifierCV, FittedOn]:
    """A head and what its file says about the scores that it was fitted on.

    ``scores`` is the other file of the command: the error says so if the two are swapped.
    """
    from aftermax.storage import head_files

    try:
        return head_files.read_head(existing_file(path))
    except ValueError as error:
        if scores is not None and _is_head(scores):
            raise ValueError(
                f"{path} is not a head file, but {scores} is: name the head first, then the scores."
            ) from error
        raise


def _is_head(path: Path) -> bool:
    from aftermax.storage import head_files

    try:
        head_files.read_head(path)
    except (OSError, ValueError):
        return False
    return True


def options_for_head(
    options: ReadOptions, head: AutoHead | SPHClassifier | SPHClassifierCV, fitted_on: FittedOn
) -> ReadOptions:
    """Read a score file as the one that the head was fitted on: the same kind of scores, and the same columns."""
    answers = head.answer_format_
    if options.log and answers is not None and answers.kind != "probabilities":
        raise ValueError(f"--log is for probabilities, but the head was fitted on {answers.kind}: leave --log out.")
    log = options.log or fitted_on.probabilities or (answers is not None and answers.kind == "probabilities")
    return replace(options, log=log, columns=(fitted_on.columns,), answers=answers)
