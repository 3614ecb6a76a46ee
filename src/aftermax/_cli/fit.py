"""``aftermax fit``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aftermax._cli import options
from aftermax._cli.audit import audited, print_json
from aftermax._cli.options import HeadName

if TYPE_CHECKING:
    from aftermax import Audit
    from aftermax._scorefiles import LabelledScores
    from aftermax.storage.head_files import FittedOn


def fit(
    scores: options.Scores,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="Where the head is saved, as .npz.", show_default=False)
    ],
    as_json: options.Json = False,
    head: options.Head = HeadName.auto,
    class_weight: options.Weight = None,
    classes: options.Classes = None,
    label_column: options.LabelColumn = None,
    labels: options.Labels = None,
    features: options.Features = None,
    logits_only: options.LogitsOnly = False,
    part: options.Part = None,
    ignore: options.Ignore = None,
    log: options.Log = False,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
) -> None:
    """Fit a head on labelled rows and save it.

    It says what to expect of the head, as audit does, and keeps softmax where no gain can be proven.
    """
    options.check_output(out, (scores, labels, features), (".npz",))
    with_features = not logits_only and head is HeadName.auto
    asked = options.wanted(
        part, label_column, labels, features, options.names(classes), ignore, with_features=with_features, log=log
    )
    found, rows = audited(scores, asked, head, class_weight, seed, jobs)

    from aftermax.storage.head_files import write_head

    write_head(found.head, out, noted(rows, log))
    if as_json:
        print_json(found.to_dict() | {"scores": "probabilities" if log else "logits", "saved": str(out)})
        return
    remembered = " It takes probabilities, and predict needs no --log." if log else ""
    options.tell(f"{found.verdict}\n{expectation(found)}\nSaved to {out}.{remembered}")


def noted(rows: LabelledScores, log: bool) -> FittedOn:
    """What the head file is to say of the scores."""
    from aftermax._scorefiles.label_checks import as_texts
    from aftermax.storage.head_files import FittedOn

    classes = tuple(as_texts(rows.classes).tolist())
    return FittedOn(probabilities=log, columns=() if rows.headings == classes else rows.headings)


def expectation(found: Audit) -> str:
    """What the head is, and what it is worth."""
    from aftermax._utils.text import signed

    if found.chosen == "softmax":
        return "Softmax stays: the head answers as softmax does."
    low, high = map(signed, found.gain_interval)
    return f"Chosen: {found.chosen}. Fewer errors to expect: {signed(found.gain)} (95 % interval: {low} to {high})."
