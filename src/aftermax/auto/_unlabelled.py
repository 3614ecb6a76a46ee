"""A warning about classes without labels to which softmax gives more than classes that are missing by chance have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.fitting import fit_softmax_temperature
from aftermax._residual.samples import Samples
from aftermax._residual.unlabelled import missing_share
from aftermax._utils.large import MANY_LOGITS, in_float64
from aftermax._utils.rare_classes import NO_SAMPLE
from aftermax._utils.softmax import softmax
from aftermax._utils.text import listed, percent
from aftermax._utils.warned import warn

LOGITS_TO_LOOK_AT = 5_000_000  # where there are very many
TIMES_AS_MUCH, MUCH_MORE = 2.0, 0.005  # and so much more, from which it is warned of


def warn_of_unlabelled(samples: Samples, classes: NDArray[Any], stacklevel: int = 3) -> bool:
    """Warn if softmax gives much more probability to classes that no sample has than they can be expected to have.

    Return whether it does.
    """
    missing = np.setdiff1d(np.arange(len(classes)), samples.codes)
    if not len(missing):
        return False
    given, expected = _share_by_softmax(_some(samples), missing), missing_share(samples)
    if given < max(TIMES_AS_MUCH * expected, expected + MUCH_MORE):
        return False
    warn(
        f"{NO_SAMPLE} {listed(classes[missing].tolist())}. Softmax gives such classes {percent(given)} of "
        f"the probability, but if they were missing by chance, they would have about {percent(expected)}: the head "
        "takes them for rare or absent. If they are not, label some of them, or pass keep_unlabelled=True "
        "(--keep-unlabelled on the command line). If they are no classes, leave out their columns (--ignore).",
        stacklevel=stacklevel,
    )
    return True


def _some(samples: Samples) -> Samples:
    """The samples or, of very many, a random part that does not depend on their order."""
    if samples.logits.size <= MANY_LOGITS:
        return samples
    most = LOGITS_TO_LOOK_AT // samples.logits.shape[1] + 1
    by_key = np.argsort(samples.keys, kind="stable")
    return samples.take(by_key[samples.weights[by_key] > 0][:most])


def _share_by_softmax(samples: Samples, classes: NDArray[np.intp]) -> float:
    """The mean probability that softmax gives to these classes together."""
    logits = in_float64(samples.logits)
    probabilities = softmax(logits / fit_softmax_temperature(samples._replace(logits=logits)))[:, classes]
    return float(np.average(probabilities.sum(axis=1), weights=samples.weights))
