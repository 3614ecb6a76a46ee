"""AuditDisplay: an audit as a plot. What it shows is tested with the audit."""

import numpy as np
import pytest

from aftermax import SPHClassifier, audit
from helpers.figures import check_texts
from helpers.samples import make_samples


@pytest.mark.filterwarnings("ignore:softmax is right on")
@pytest.mark.parametrize("size", [2, 10, 40])
def test_no_text_of_an_audit_overlaps_another_or_leaves_the_figure(size):
    names = np.array([f"class number {n}" for n in range(size)])
    logits, codes = make_samples(n_samples=30 * size, n_classes=size)
    found = audit(logits, names[codes], SPHClassifier(), cv=2)
    check_texts(found.plot().figure_)
