"""The samples of dask arrays that heads are fitted on in memory: all, or a random part of very many."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.kept_samples import LEAST, KeptSamples
from aftermax._utils.large import MANY_CLASSES
from aftermax._utils.one_logit import one_column
from aftermax._utils.warned import kept_warnings, warn, warn_once_each
from aftermax.auto.head import MAX_LOGITS, MAX_SAMPLES, MIN_SAMPLES
from aftermax.bridges._dask_chunks import LabelledChunks

MAX_LOGITS_OF_MANY = 50_000_000  # with many classes, where heads are fitted on as many as there are

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class InMemory(NamedTuple):
    """Samples as estimators take them."""

    logits: NDArray[np.float64]
    labels: NDArray[Any]
    features: NDArray[Any] | None


def most_samples(n_classes: int) -> int:
    """How many samples heads are fitted on at most: as many as AutoHead is in memory."""
    if n_classes > MANY_CLASSES:
        return max(MIN_SAMPLES, MAX_LOGITS_OF_MANY // n_classes)
    return min(MAX_SAMPLES, max(MIN_SAMPLES, MAX_LOGITS // n_classes))


def drawn_samples(chunks: LabelledChunks, what: str) -> KeptSamples:
    """All samples or, if they are very many, a random part, with a warning."""
    of_chunk = partial(KeptSamples.of, most_samples(len(chunks.classes)))
    kept: KeptSamples = chunks.summed(of_chunk, features=True)
    if not kept.are_all:
        warn(part_message(kept, what), stacklevel=2)
    return kept


def part_message(kept: KeptSamples, what: str) -> str:
    """The warning that not all samples are fitted on."""
    return (
        f"{what} is fitted on {len(kept.codes):,} of the {kept.n_samples:,} samples, drawn at random, with at least "
        f"{LEAST} of each class: more would take long, and gain little."
    )


def in_memory(kept: KeptSamples, chunks: LabelledChunks) -> InMemory:
    """The drawn samples, with one logit where there was one."""
    logits = one_column(kept.logits) if chunks.one_logit else kept.logits
    return InMemory(logits, chunks.classes[kept.codes], kept.features)


def each_warning_once(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Warnings of a public function, each once, and at the user's own line: samples are checked more than once."""

    @wraps(function)
    def wrapped(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with kept_warnings() as messages:
            result = function(*args, **kwargs)
        warn_once_each(messages, stacklevel=2)
        return result

    return wrapped
