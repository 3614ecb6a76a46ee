"""All rows of a score file for a head that is fitted, whether they have labels or not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.groups_weights import join_groups
from aftermax._scorefiles.predict import open_for_head
from aftermax._scorefiles.types import ReadOptions
from aftermax._scorefiles.unpacked import all_rows


class UnlabelledScores(NamedTuple):
    """What :func:`aftermax.adapt_priors` takes."""

    logits: NDArray[Any]
    features: NDArray[Any] | None
    groups: NDArray[Any] | None


def read_unlabelled(head: Any, source: str, options: ReadOptions) -> UnlabelledScores:
    """The scores of new samples. Labels are not looked at, if there are any."""
    with open_for_head(head, source, options) as file:
        batches = all_rows(file)
        groups = join_groups(batches, file, options)
    features = [rows.features for rows in batches if rows.features is not None]
    logits = np.concatenate([rows.logits for rows in batches])
    return UnlabelledScores(logits, np.concatenate(features) if features else None, groups)
