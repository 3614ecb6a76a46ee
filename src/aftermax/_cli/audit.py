"""``aftermax audit``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from aftermax._cli.class_numbers import class_weight, numbers_by_class, share
from aftermax._cli.option_groups import with_option_groups
from aftermax._cli.options import (
    HeadName,
    HeadOptions,
    Json,
    LabelledFileOptions,
    Scores,
    file_option,
    split_names,
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

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from aftermax._audit.result import Audit
    from aftermax._scorefiles import LabelledScores
    from aftermax.auto.head import AutoHead
    from aftermax.auto.softmax import SoftmaxClassifier
    from aftermax.decide.decider import Decider
    from aftermax.sph.classifier_cv import SPHClassifierCV


@with_option_groups
def audit(
    scores: Scores,
    *,
    html: Annotated[Path | None, file_option("--html", "Write a report for the browser.")] = None,
    card: Annotated[
        Path | None, file_option("--card", "Write a model card in Markdown, to go with the head wherever it goes.")
    ] = None,
    title: Annotated[
        str | None,
        text_option("--title", "With --html or --card: the title. If not given: the file's name.", "TEXT"),
    ] = None,
    as_json: Json = False,
    head: HeadOptions,
    file: LabelledFileOptions,
) -> None:
    """How many errors would a head remove?

    The estimate is out-of-fold: each labelled sample is predicted by a head that was fitted without it. The model must
    not have been trained on these samples either.
    """
    inputs = (scores, file.labels, *file.feature_files)
    for path, endings in ((html, (".html", ".htm")), (card, (".md",))):
        if path is not None:
            check_output(path, inputs, endings)
    if title is not None and html is None and card is None:
        raise ValueError("--title needs --html or --card: it is the title of what they write.")
    result, samples = run_audit(scores, head, file)
    name = "" if str(scores) == "-" else scores.name
    if html is not None:
        from aftermax.report import write_report

        heading = title or (f"Is there accuracy left on the table? {name}" if name else None)
        write_report(html, result, samples.logits, samples.labels, title=heading)
        print_message(f"Written to {html}")
    if card is not None:
        from aftermax.report import write_card

        write_card(card, result, title=title or (f"A head for the outputs in {name}" if name else None))
        print_message(f"Written to {card}")
    if as_json:
        print_warnings(result.warnings)
        print_json(result.to_dict())
    else:
        print_result(result)


def run_audit(scores: Path, head: HeadOptions, file: LabelledFileOptions) -> tuple[Audit, LabelledScores]:
    """The audit of a score file, and the file's content. What is warned of while reading is among its warnings."""
    from aftermax._scorefiles import read_scores

    if head.head is not HeadName.auto and head.class_prior is not None:
        instead = ": use --class-weight with --head sph" if head.head is HeadName.sph else ""
        raise ValueError(f"--class-prior needs --head auto{instead}.")
    if head.head is HeadName.softmax and head.class_weight is not None:
        raise ValueError("--class-weight changes no prediction of --head softmax: use --head auto.")
    with_features = head.head is HeadName.auto and not file.logits_only
    if file.feature_files and not with_features:
        reason = "--logits-only" if file.logits_only else f"--head {head.head.value}"
        raise ValueError(f"--features cannot be used with {reason}: leave one of the two out.")
    if head.costs is not None and head.metric is not None:
        raise ValueError("--costs and --metric cannot be used together: decide by one of the two.")
    if head.max_error is not None:
        share("--max-error", head.max_error)
    if file.positive is not None and file.classes is not None:
        raise ValueError("--positive and --classes cannot be used together: --positive is for one column of scores.")
    options = replace(
        file.read_options(file.labels),
        positive=file.positive,
        classes=split_names(file.classes),
        groups=file.groups,
        weights=file.weights,
        with_features=with_features,
    )
    with kept_warnings() as while_reading:
        samples = read_scores(str(scores), options)
    if samples.answers is not None:
        print_message(samples.answers.summary)

    from aftermax._audit.run import audit

    announce_compilation()
    with kept_warnings():  # the result has them
        result = audit(
            samples.logits if samples.answers is None else samples.answers,
            samples.labels,
            _estimator(head, samples.classes),
            features=samples.features,
            sample_weight=samples.weights,
            groups=samples.groups,
            classes=samples.classes,
            random_state=head.seed,
        )
    return replace(result, warnings=_each_once(while_reading, result.warnings, samples)), samples


def _each_once(while_reading: Sequence[str], found: Sequence[str], samples: LabelledScores) -> tuple[str, ...]:
    """All warnings. Classes that no row has are named by one of them: that which knows most."""
    import numpy as np

    from aftermax._scorefiles.label_checks import NO_ROW
    from aftermax._utils.rare_classes import NO_SAMPLE, rare_classes_message

    if any(text.startswith(NO_SAMPLE) for text in found):
        while_reading = [text for text in while_reading if NO_ROW not in text]
    elif any(NO_ROW in text for text in while_reading):
        labels = set(samples.labels.tolist())
        absent = np.array([name not in labels for name in samples.classes.tolist()])
        found = [text for text in found if text != rare_classes_message(samples.classes[absent])]
    return tuple(dict.fromkeys([*while_reading, *found]))


def _estimator(head: HeadOptions, classes: NDArray[Any]) -> AutoHead | SPHClassifierCV | SoftmaxClassifier | Decider:
    """The head that is asked for and, with costs, a metric or a largest error, what decides on it."""
    estimator = _head(head, classes)
    if head.costs is None and head.metric is None and head.max_error is None:
        return estimator

    from aftermax._scorefiles.costs import read_costs
    from aftermax.decide.decider import Decider

    return Decider(
        estimator,
        costs=None if head.costs is None else read_costs(head.costs, classes),
        metric=None if head.metric is None else head.metric.value,
        max_error=None if head.max_error is None else share("--max-error", head.max_error),
        random_state=head.seed,
    )


def _head(head: HeadOptions, classes: NDArray[Any]) -> AutoHead | SPHClassifierCV | SoftmaxClassifier:
    from aftermax.auto.head import AutoHead
    from aftermax.auto.softmax import SoftmaxClassifier
    from aftermax.sph.classifier_cv import SPHClassifierCV

    if head.head is HeadName.softmax:
        return SoftmaxClassifier(random_state=head.seed)
    weight, jobs = class_weight(head.class_weight, classes), head.jobs or -1
    if head.head is HeadName.sph:
        return SPHClassifierCV(class_weight=weight, random_state=head.seed, n_jobs=jobs)
    return AutoHead(
        only_proven=head.only_proven,
        keep_unlabelled=head.keep_unlabelled,
        budget=head.budget.value,
        class_weight=weight,
        class_prior=None if head.class_prior is None else numbers_by_class("--class-prior", head.class_prior, classes),
        random_state=head.seed,
        n_jobs=jobs,
    )
