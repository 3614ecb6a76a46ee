"""``aftermax check``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from aftermax._cli.head_files import options_for_head, read_head
from aftermax._cli.option_groups import with_option_groups
from aftermax._cli.options import (
    FileOptions,
    Groups,
    HeadFile,
    Json,
    Labels,
    Scores,
    Weights,
    file_option,
    text_option,
)
from aftermax._cli.output import (
    announce_compilation,
    check_output,
    print_json,
    print_message,
    print_result,
    print_warnings,
)
from aftermax._utils.warned import kept_warnings


@with_option_groups
def check(
    head: HeadFile,
    scores: Scores,
    *,
    html: Annotated[Path | None, file_option("--html", "Write a page for the browser.")] = None,
    title: Annotated[
        str | None,
        text_option("--title", "With --html: the page's title. If not given: the file's name.", "TEXT"),
    ] = None,
    as_json: Json = False,
    labels: Labels = None,
    groups: Groups = None,
    weights: Weights = None,
    file: FileOptions,
) -> None:
    """Is a head still good: keep it, refit it or drop it?

    The samples must be new ones, which the head was not fitted on. With labels, the head is compared with softmax and
    with a head that is fitted on these samples. Without, it is only said whether they look like those of the fit.
    """
    from aftermax._scorefiles.check import read_for_check
    from aftermax._scorefiles.predict import without_column_names

    if html is not None:
        check_output(html, (head, scores, labels, *file.feature_files), (".html", ".htm"))
    elif title is not None:
        raise ValueError("--title needs --html: it is the title of the page.")
    fitted, fitted_on = read_head(head, scores)
    options = replace(options_for_head(file.read_options(labels), fitted, fitted_on), groups=groups, weights=weights)
    with kept_warnings() as while_reading:
        samples = read_for_check(fitted, str(scores), options)

    from aftermax._check.run import check

    announce_compilation()
    with kept_warnings():  # the result has them
        result = check(
            without_column_names(fitted),
            samples.logits,
            samples.labels,
            features=samples.features,
            sample_weight=samples.weights,
            groups=samples.groups,
        )
    result = replace(result, warnings=tuple(dict.fromkeys([*while_reading, *result.warnings])))
    if html is not None:
        from aftermax.report.check_page import write_check

        heading = title or (f"Is the head still good? {scores.name}" if str(scores) != "-" else None)
        write_check(html, result, title=heading)
        print_message(f"Written to {html}")
    if as_json:
        print_warnings(result.warnings)
        print_json(result.to_dict())
    else:
        print_result(result)
