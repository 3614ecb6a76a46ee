"""``aftermax fit``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aftermax._cli.audit import run_audit
from aftermax._cli.option_groups import with_option_groups
from aftermax._cli.options import HeadOptions, Json, LabelledFileOptions, Scores
from aftermax._cli.output import check_output, print_json, print_message, print_warnings

if TYPE_CHECKING:
    from aftermax._audit.result import Audit
    from aftermax._scorefiles import LabelledScores
    from aftermax.storage.head_files import FittedOn


@with_option_groups
def fit(
    scores: Scores,
    *,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="The head file to write, as .npz.", show_default=False)
    ],
    as_json: Json = False,
    head: HeadOptions,
    file: LabelledFileOptions,
) -> None:
    """Fit a head on labelled samples and save it.

    It prints the gain to expect, as audit estimates it, and keeps softmax unless fewer errors are likely.
    """
    check_output(out, (scores, file.labels, *file.feature_files), (".npz",))
    result, samples = run_audit(scores, head, file)

    from aftermax._audit.verdict import abstention
    from aftermax.storage.head_files import write_head

    print_warnings(result.warnings)
    write_head(result.head, out, _fitted_on(samples, file.log))
    if as_json:
        print_json(result.to_dict() | {"scores": "probabilities" if file.log else "logits", "saved": str(out)})
        return
    note = " It takes probabilities: predict does not need --log." if file.log else ""
    lines = [result.verdict, abstention(result), _expected_gain(result), f"Saved to {out}.{note}"]
    print_message("\n".join(line for line in lines if line))


def _fitted_on(samples: LabelledScores, log: bool) -> FittedOn:
    """What the head file says about the scores."""
    from aftermax._scorefiles.labels import labels_to_text
    from aftermax.storage.head_files import FittedOn

    classes = tuple(labels_to_text(samples.classes).tolist())
    return FittedOn(probabilities=log, columns=() if samples.headings == classes else samples.headings)


def _expected_gain(result: Audit) -> str:
    from aftermax._utils.text import fewer, fewer_between

    if result.outcome is not None:
        return f"Decisions by: {result.outcome.rule}. Probabilities are those of the head, whatever is decided."
    if result.chosen == "softmax":
        return "Softmax is kept: the head predicts as softmax does."
    trusted = "" if result.trust in (None, 1.0) else f", {result.trust:.0%} of its correction"
    interval = fewer_between(*result.gain_interval)
    return (
        f"Chosen: {result.chosen}{trusted}. To expect on new samples: {fewer(result.gain)} errors (95 % interval: "
        f"{interval})."
    )
