"""A warning about classes without labels to which softmax gives more than classes that are missing by chance have."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.fitting import fit_softmax_temperature
from aftermax._residual.samples import Samples
from aftermax._residual.unlabelled import missing_share
from aftermax._utils.large import are_many
from aftermax._utils.softmax import softmax
from aftermax._utils.text import listed, percent

LOGITS_TO_JUDGE_BY = 2_000_000
TIMES_AS_MUCH, MUCH_MORE = 2.0, 0.005  # and so much more, from which it is warned of


def warn_of_unlabelled(samples: Samples, classes: NDArray[Any], stacklevel: int = 3) -> None:
    """Warn if softmax gives much more probability to classes that no sample has than they can be expected to have."""
    missing = np.setdiff1d(np.arange(len(classes)), samples.codes)
    if not len(missing):
        return
    some = samples
    if are_many(samples.logits.shape):  # those with the smallest keys are a random part
        some = samples.take(np.argsort(samples.keys, kind="stable")[: LOGITS_TO_JUDGE_BY // len(classes) + 1])
    probabilities = softmax(some.logits / fit_softmax_temperature(some))[:, missing]
    given, expected = float(np.average(probabilities.sum(axis=1), weights=some.weights)), missing_share(samples)
    if given < max(TIMES_AS_MUCH * expected, expected + MUCH_MORE):
        return
    warnings.warn(
        f"No sample has the label {listed(classes[missing].tolist())}. Softmax gives such classes {percent(given)} of "
        f"the probability, but if they were missing by chance, they would have about {percent(expected)}: the head "
        "takes them for rare or absent. If they are not, label some of them, or pass keep_unlabelled=True "
        "(--keep-unlabelled on the command line).",
        UserWarning,
        stacklevel=stacklevel,
    )
