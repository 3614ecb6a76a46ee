"""Audits with what is counted over all samples."""

from functools import reduce
from operator import add

import numpy as np

from aftermax import SPHClassifierCV, audit
from aftermax._audit.from_counts import Outcomes, audit_with_counts
from helpers.samples import weak_samples


def test_the_counts_are_those_of_an_audit_in_memory():
    logits, codes = weak_samples(400)
    result = audit(logits, codes, SPHClassifierCV({"certainty": [0.9]}, cv=2))
    assert result.wins > result.losses > 0
    columns = codes, logits.argmax(axis=1), result.head.held_out_
    parts = [Outcomes.of(*(column[some] for column in columns), 5) for some in np.split(np.arange(400), [1, 150])]
    assert audit_with_counts(result, reduce(add, parts)) == result
    twice = audit_with_counts(result, reduce(add, [*parts, *parts]))
    assert (twice.rows, twice.wins, twice.losses) == (800, 2 * result.wins, 2 * result.losses)
    assert twice.pairs[0].before == 2 * result.pairs[0].before
    assert audit_with_counts(result, reduce(add, [*parts, *parts]) - parts[1] - parts[0] - parts[2]) == result
