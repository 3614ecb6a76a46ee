"""In a browser: the gate counts the samples below it."""

import numpy as np
import pytest

from aftermax import SPHClassifier, SPHClassifierCV, audit
from aftermax._utils.text import percent
from helpers.report_pages import certainties
from helpers.samples import make_samples

pytestmark = pytest.mark.browser


def test_the_gate_counts_exactly_the_samples_below_it(gated, opened):
    found, logits, labels = gated
    page = opened(found, logits, labels)
    certainty = certainties(logits)
    wrong = np.asarray(found.classes)[logits.argmax(axis=1)] != labels
    for gate in (0.0, 0.3, 0.505, 0.7, 0.9, 0.995, 1.0):
        page.locator("#gate").fill(str(gate))
        below = certainty < gate
        pooled, errors = below.sum(), (below & wrong).sum()
        assert page.locator("#gate-value").text_content() == f"{gate:.3f}"
        among = f" ({percent(errors / pooled)})" if pooled else ""
        assert page.locator("#pooled-samples").text_content() == f"{pooled} of {len(labels)} ({percent(below.mean())})"
        assert page.locator("#pooled-errors").text_content() == f"{errors} of {pooled}{among}"
        assert page.locator("#pooled-share").text_content() == (
            f"{errors} of {wrong.sum()} ({percent(errors / wrong.sum())})"
        )


@pytest.mark.filterwarnings("ignore:100% of the samples are identical")
def test_a_sample_exactly_at_the_gate_is_not_pooled(opened):
    logits = np.array([[3.0, 3.0], [0.0, 0.1], [1.0, 0.0], [-400.0, 400.0]]).repeat(5, axis=0)
    labels = np.array([0, 1, 0, 1]).repeat(5)  # certainties 0.5, 0.525, 0.731 and 1
    page = opened(audit(logits, labels, SPHClassifier(), cv=2), logits, labels)
    for gate, pooled in ((0.5, 0), (0.505, 5), (0.53, 10), (0.735, 15), (1.0, 15)):
        page.locator("#gate").fill(str(gate))
        assert page.locator("#pooled-samples").text_content().startswith(f"{pooled} of 20"), gate


@pytest.mark.parametrize("case", ["digits", "animals"])
def test_a_head_that_is_not_sph_has_no_gate_and_its_page_no_slider(case, opened, request):
    page = opened(*request.getfixturevalue(case))
    assert page.locator("#gate, #pooled-samples").count() == 0
    assert "gate" not in page.locator("section:has(#certainty-chart)").inner_text()
    assert page.locator("#certainty-chart g").count() == 20
    assert page.locator("#certainty-chart .gate").count() == 0


@pytest.mark.filterwarnings("ignore:softmax is right on")
@pytest.mark.parametrize("head", [SPHClassifier(certainty=0.6), SPHClassifierCV({"certainty": [0.6]}, cv=2, alpha=1)])
def test_the_gate_starts_at_the_heads_own_if_it_has_one(head, opened):
    logits, labels = make_samples(seed=1, n_samples=200)
    logits += np.array([2, -1, 0, 1, -2])
    page = opened(audit(logits, labels, head), logits, labels)
    assert page.locator("#gate").input_value() == "0.6"
    assert "The gate of the head audited here is 0.6." in page.locator("main").text_content()
