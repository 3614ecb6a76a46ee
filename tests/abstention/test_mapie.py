"""Heads inside MAPIE: conformal sets."""

import numpy as np
import pytest

from aftermax import Decider, SoftmaxClassifier
from aftermax.data import load_vmnist

classification = pytest.importorskip("mapie.classification", reason="mapie is not installed")


@pytest.mark.parametrize("head", [SoftmaxClassifier(), Decider(SoftmaxClassifier(), max_error=0.05)], ids=repr)
def test_a_fitted_head_gives_conformal_sets_that_hold_the_true_class(head):
    scores = load_vmnist(trained_on=500)
    head.fit(scores.val_logits[:2_000], scores.val_labels[:2_000])
    conformal = classification.SplitConformalClassifier(
        head, confidence_level=0.95, conformity_score="lac", prefit=True
    )
    conformal.conformalize(scores.val_logits[2_000:], scores.val_labels[2_000:])
    predicted, sets = conformal.predict_set(scores.test_logits)
    covered = sets[np.arange(len(predicted)), scores.test_labels, 0].mean()
    assert (predicted == head.predict(scores.test_logits)).all()
    assert covered == pytest.approx(0.95, abs=0.015)
    assert 1 <= sets.sum(axis=1).mean() < 3
