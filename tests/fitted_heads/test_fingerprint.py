"""A head knows the samples that it was fitted on again, in any order and in any chunks; and only these."""

import numpy as np
import pytest

from aftermax import AutoHead, SPHClassifier, SPHClassifierCV
from aftermax._heads.fingerprint import MOST, Fingerprint, Overlap
from aftermax._heads.reference import Reference
from helpers.samples import make_samples


def share_of(logits, *chunks):
    """The share of the samples in the chunks that are among these."""
    overlap = Overlap(Fingerprint.of(logits))
    for chunk in chunks:
        overlap.add(chunk)
    return overlap.share


def test_the_same_samples_are_known_again_shuffled_and_in_chunks():
    logits, _ = make_samples(n_samples=3000)
    shuffled = np.random.default_rng(0).permutation(logits)
    assert share_of(logits, shuffled[:1000], shuffled[1000:]) == 1.0
    assert share_of(logits.astype(np.float32).astype(float), logits.astype(np.float32)) == 1.0


def test_other_samples_are_not():
    logits, others = make_samples(n_samples=3000)[0], make_samples(n_samples=3000, seed=1)[0]
    assert share_of(logits, others) == 0.0
    assert share_of(logits, logits + 1e-12) == 0.0


@pytest.mark.parametrize(("again", "new"), [(3000, 1000), (3000, 9000), (1500, 0), (1000, 1000)])
def test_a_part_of_the_samples_is_estimated(again, new):
    logits, others = make_samples(n_samples=3000)[0], make_samples(n_samples=9000, seed=1)[0]
    found = share_of(logits, logits[:again], others[:new])
    assert found == pytest.approx(again / (again + new), abs=0.12)


@pytest.mark.parametrize("n_fitted", [100, 400, 1000])
def test_a_dozen_samples_of_the_fit_are_mostly_known_again_and_a_dozen_others_never(n_fitted):
    logits, others = (make_samples(n_samples=n_fitted, seed=seed)[0] for seed in (0, 1))
    dozens = [slice(first, first + 12) for first in range(0, n_fitted - 12, 12)]
    shares = np.array([share_of(logits, logits[some]) for some in dozens])
    assert np.mean(shares >= 0.5) > {100: 0.99, 400: 0.95, 1000: 0.7}[n_fitted]
    assert (shares == 1.0).all() == (n_fitted == 100)  # all hashes are kept: that is for sure
    assert all(share_of(logits, others[some]) == 0.0 for some in dozens)


def test_what_was_counted_elsewhere_adds_up():
    logits, others = make_samples(n_samples=1000)[0], make_samples(n_samples=1000, seed=1)[0]
    whole, first, second = (Overlap(Fingerprint.of(logits)) for _ in range(3))
    whole.add(np.vstack([logits, others]))
    first.add(logits)
    second.add(others)
    first.add_state(second.to_state())
    assert first.share == whole.share == pytest.approx(0.5, abs=0.1)


def test_one_sample_that_is_the_same_proves_nothing():
    logits, others = make_samples(n_samples=100)[0], make_samples(n_samples=100, seed=1)[0]
    assert share_of(logits, others, logits[:2]) == 0.0


def test_logits_that_repeat_by_nature_are_known_only_as_a_whole():
    votes = np.random.default_rng(0).integers(6, size=(1000, 1)) * np.array([[1.0, -1.0]])
    assert Fingerprint.of(votes).smallest == ()
    assert share_of(votes, votes[::-1]) == 1.0
    assert share_of(votes, votes[:900]) == 0.0


def test_few_hashes_are_kept_of_many_samples():
    print_of_many = Fingerprint.of(make_samples(n_samples=3000)[0])
    assert len(print_of_many.smallest) == MOST
    assert list(print_of_many.smallest) == sorted(set(print_of_many.smallest))


def test_a_reference_comes_back_from_its_state():
    reference = Reference.of(make_samples()[0])
    assert Reference.from_state(reference.to_state(), 5) == reference
    assert reference.n_samples == 400


@pytest.mark.parametrize("head", [AutoHead(cv=2), SPHClassifier(), SPHClassifierCV({"certainty": [0.5]}, cv=2)])
def test_every_head_remembers_what_it_was_fitted_on(head):
    logits, labels = make_samples()
    assert head.fit(logits, labels).reference_ == Reference.of(logits)
    if isinstance(head, SPHClassifierCV):
        assert head.best_estimator_.reference_ == head.reference_
