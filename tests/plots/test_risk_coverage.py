"""RiskCoverageDisplay: the error of the most certain samples against their share."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from aftermax import Decider, SoftmaxClassifier, audit
from aftermax.data import load_vmnist
from aftermax.plots import RiskCoverageDisplay
from helpers.figures import legend_of


@pytest.fixture(scope="module")
def samples():
    scores = load_vmnist(trained_on=500)
    return scores.val_logits[:1_200], scores.val_labels[:1_200]


@pytest.fixture(scope="module")
def audited(samples):
    return audit(*samples, Decider(SoftmaxClassifier(), max_error=0.1))


def test_an_audit_is_drawn_with_its_promise(audited):
    display = RiskCoverageDisplay.from_audit(audited)
    before, after = display.axes_.lines[:2]
    np.testing.assert_allclose(before.get_ydata(), 100 * np.array(audited.risk_coverage.before))
    np.testing.assert_allclose(after.get_ydata(), 100 * np.array(audited.risk_coverage.after))
    assert "acceptable: 10 %" in legend_of(display.axes_)
    assert f"decided alone: {100 * audited.abstention.share:.1f} %" in legend_of(display.axes_)


def test_an_audit_without_a_promise_has_the_curves_alone(samples):
    display = RiskCoverageDisplay.from_audit(audit(*samples, SoftmaxClassifier()))
    assert legend_of(display.axes_) == ["softmax", "head"]


def test_a_fitted_head_is_drawn_on_new_samples(samples):
    head = Decider(SoftmaxClassifier(), max_error=0.1).fit(*samples)
    scores = load_vmnist(trained_on=500)
    logits, labels = scores.test_logits, scores.test_labels
    display = RiskCoverageDisplay.from_estimator(head, logits, labels)
    assert display.curve.after[-1] == pytest.approx(np.mean(head.predict(logits) != labels))
    assert display.share == head.is_certain(logits).mean()


def test_probabilities_are_drawn_as_they_are():
    before, after = [[0.9, 0.1], [0.8, 0.2]], [[0.9, 0.1], [0.3, 0.7]]
    display = RiskCoverageDisplay.from_predictions(["cat", "dog"], before, after, max_error=0.1)
    assert (display.curve.before[-1], display.curve.after[-1]) == (0.5, 0.0)
    assert display.share is None


def test_a_head_without_probabilities_out_of_fold_is_refused(samples):
    with pytest.raises(ValueError, match="no out-of-fold probabilities"):
        RiskCoverageDisplay.from_audit(audit(*samples, GaussianNB()))
    with pytest.raises(TypeError, match="pass the result"):
        RiskCoverageDisplay.from_audit("audit")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([0.5], [True], [0.5, 0.6], [True, False]), "samples"),
        (([1.5], [True], [0.5], [True]), "in \\[0, 1\\]"),
        (([0.5], [1], [0.5], [True]), "True or False"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arrays, message):
    with pytest.raises(ValueError, match=message):
        RiskCoverageDisplay(*arrays)
