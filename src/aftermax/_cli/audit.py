"""``aftermax audit``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from aftermax._cli import options
from aftermax._cli.options import ClassWeight, HeadName

if TYPE_CHECKING:
    from aftermax import Audit
    from aftermax._scorefiles import LabelledScores, Wanted


def audit(
    scores: options.Scores,
    html: Annotated[Path | None, options.file("--html", "Write a report to open in a browser.")] = None,
    title: Annotated[
        str | None, options.text("--title", "With --html: what stands above it, in place of the file's name.", "TEXT")
    ] = None,
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
    """Is there money on the table?

    What a head would change, counted on labelled rows that it has not seen; the model must not have been trained on
    them either.
    """
    if html is not None:
        options.check_output(html, (scores, labels, features), (".html", ".htm"))
    elif title is not None:
        raise ValueError("--title goes with --html: it is what stands above the report.")
    with_features = not logits_only and head is HeadName.auto
    asked = options.wanted(
        part, label_column, labels, features, options.names(classes), ignore, with_features=with_features, log=log
    )
    found, rows = audited(scores, asked, head, class_weight, seed, jobs)
    if html is not None:
        from aftermax.report import write_report

        named = title or (f"Is there accuracy left on the table? {scores.name}" if str(scores) != "-" else None)
        write_report(html, found, rows.logits, rows.labels, title=named)
        options.tell(f"Written to {html}")
    if as_json:
        print_json(found.to_dict())
        return
    print(found)


def audited(
    scores: Path, asked: Wanted, head: HeadName, class_weight: ClassWeight | None, seed: int, jobs: int | None
) -> tuple[Audit, LabelledScores]:
    """What an audit of a score file finds, and the file's content."""
    from aftermax._scorefiles import read_scores

    if head is HeadName.sph and class_weight is not None:
        raise ValueError("--class-weight goes with --head auto only: SPH cannot weigh its classes.")
    rows = read_scores(str(scores), asked)

    from aftermax import AutoHead, SPHClassifierCV, audit

    options.tell_if_first()
    weight: Literal["balanced"] | None = None if class_weight is None else "balanced"
    if head is HeadName.auto:
        fresh: AutoHead | SPHClassifierCV = AutoHead(class_weight=weight, random_state=seed, n_jobs=jobs or -1)
    else:
        fresh = SPHClassifierCV(random_state=seed, n_jobs=jobs or -1)
    found = audit(rows.logits, rows.labels, fresh, features=rows.features, classes=rows.classes, random_state=seed)
    return found, rows


def print_json(content: dict[str, object]) -> None:
    """Plain data on standard output."""
    print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))
