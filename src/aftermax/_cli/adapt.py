"""``aftermax adapt``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from aftermax._cli.head_files import options_for_head, read_head
from aftermax._cli.option_groups import with_option_groups
from aftermax._cli.options import FileOptions, Groups, HeadFile, Json, Scores
from aftermax._cli.output import announce_compilation, check_output, print_json, print_message, print_result


@with_option_groups
def adapt(
    head: HeadFile,
    scores: Scores,
    *,
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="FILE", help="The head file to write, as head2.npz.", show_default=False),
    ],
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Adapt the head even if that is not likely to make fewer errors.")
    ] = False,
    seed: Annotated[
        int, typer.Option("--seed", min=0, metavar="N", help="Seed of the random numbers (random_state).")
    ] = 0,
    as_json: Json = False,
    groups: Groups = None,
    file: FileOptions,
) -> None:
    """Adapt a head to other class proportions, from unlabelled samples.

    The proportions of the classes are printed, with 95 % intervals. The head that is written assumes them if they have
    moved and fewer errors are likely; else it predicts as before. Labels in the file are not looked at.
    """
    from aftermax._scorefiles.predict import without_column_names
    from aftermax._scorefiles.unlabelled import read_unlabelled

    check_output(out, (head, scores, *file.feature_files))
    fitted, fitted_on = read_head(head, scores)
    options = replace(options_for_head(file.read_options(), fitted, fitted_on), groups=groups)
    samples = read_unlabelled(fitted, str(scores), options)

    from aftermax._wrapped.adapt import adapt_priors
    from aftermax.storage.head_files import write_head

    announce_compilation()
    unnamed = without_column_names(fitted)
    found = adapt_priors(
        unnamed,
        samples.logits,
        features=samples.features,
        groups=samples.groups,
        guard=not anyway,
        random_state=seed,
    )
    fitted.fitted_head_, fitted.adaptation_ = found.fitted_head_, found.adaptation_
    write_head(fitted, out, fitted_on)
    if as_json:
        print_json({**fitted.adaptation_.to_dict(), "written": str(out)})
    else:
        print_result(fitted.adaptation_)
        print_message(f"Written to {out}")
