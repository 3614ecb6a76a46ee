"""What a new user stumbled over."""

import numpy as np
import pytest
from sklearn.model_selection import TimeSeriesSplit

import aftermax
from aftermax._utils.comparison import Comparison
from aftermax.data import load_vmnist


@pytest.fixture(scope="module")
def samples():
    scores = load_vmnist(trained_on=500)
    return scores.val_logits[:200], scores.val_labels[:200]


pytestmark = pytest.mark.filterwarnings("ignore:Fewer than")


def test_splits_that_audit_is_given_are_those_of_the_proof(samples):
    assert aftermax.audit(*samples, cv=TimeSeriesSplit(4)).rows == 160


def test_a_sample_without_weight_is_no_evidence(samples):
    logits, labels = samples
    weighted = aftermax.audit(logits, labels, sample_weight=np.arange(200) % 2)
    assert weighted.rows == 100
    assert weighted.errors[0] == np.count_nonzero(logits[1::2].argmax(axis=1) != labels[1::2])


def test_names_of_groups_have_no_effect(samples):
    groups = np.arange(200) // 4
    first, second = (aftermax.fit(*samples, groups=names) for names in (groups, [f"patient {-one}" for one in groups]))
    assert (first.held_out_ == second.held_out_).all()


def test_two_groups_give_no_narrower_interval_than_two_hundred():
    rng = np.random.default_rng(0)
    before, after = rng.random(200) < 0.8, rng.random(200) < 0.82
    widths = []
    for groups in (None, np.arange(200) % 2):
        low, high = Comparison.of(before, after, groups=groups).intervals()[0]
        widths.append(high - low)
    assert widths[1] > widths[0]


def test_class_proportions_that_were_told_are_not_asked_for_again():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=300)
    score = 3 * (labels - 0.5) + rng.normal(size=300) + 1.5
    told = aftermax.audit(np.column_stack([-score, score]), labels, class_prior=[0.3, 0.7])
    assert "class_prior (--class-prior on the command line) says" in str(told)
    assert "pass their true shares" not in str(told)


def test_a_negative_share_is_named(samples):
    with pytest.raises(ValueError, match=r"class_prior holds -0.1"):
        aftermax.fit(*samples, class_prior=[1.1, -0.1] + [0.0] * 8)
