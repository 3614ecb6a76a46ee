"""Heads that are updated when new labels come."""

import numpy as np
import pytest

import aftermax
from aftermax import AutoHead, SPHClassifier, SPHClassifierCV
from aftermax._heads.kept_samples import KeptSamples
from aftermax._heads.reference import Reference
from aftermax._utils.untrusted import Arrays
from helpers.samples import make_samples


def states(head):
    values, arrays = head.fitted_head_.to_state()
    return values, {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize("n_samples", [300, 2000])
def test_an_updated_head_is_the_head_that_is_fitted_on_everything(n_samples, tmp_path):
    logits, labels = make_samples(n_samples=n_samples)
    first, second, third = (slice(0, n_samples // 2), slice(n_samples // 2, n_samples - 1), slice(n_samples - 1, None))
    head = SPHClassifier(updatable=True, center="median").fit(logits[first], labels[first])
    head.update(logits[second], labels[second])
    aftermax.save(head, tmp_path / "head.npz")
    head = aftermax.load(tmp_path / "head.npz").update(logits[third], labels[third])
    refitted = SPHClassifier(center="median").fit(logits, labels)
    assert states(head) == states(refitted)
    assert head.reference_.fingerprint == refitted.reference_.fingerprint
    assert head.kept_samples_.are_all


def test_one_logit_and_text_labels():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=500)
    logits, names = rng.normal(size=500) + labels, np.array(["no", "yes"])[labels]
    head = SPHClassifier(updatable=True).fit(logits[:400], names[:400]).update(logits[400:], names[400:])
    assert states(head) == states(SPHClassifier().fit(logits, names))
    assert head.n_features_in_ == 1


def test_of_more_samples_than_are_kept_a_random_part_is_fitted_on(monkeypatch):
    monkeypatch.setattr("aftermax.sph.classifier.MOST_LOGITS", 5000)
    logits, labels = make_samples(n_samples=3000)
    head = SPHClassifier(updatable=True).fit(logits[:900], labels[:900])
    with pytest.warns(UserWarning, match=r"1,0\d\d of the 3,000 samples so far"):
        head.update(logits[900:], labels[900:])
    again = SPHClassifier(updatable=True).fit(logits[2000:], labels[2000:])
    with pytest.warns(UserWarning, match="drawn at random"):
        again.update(logits[:2000], labels[:2000])
    assert states(again) == states(head)
    expected = Reference.of(logits)
    assert head.reference_.fingerprint == expected.fingerprint
    np.testing.assert_allclose(head.reference_.logit_deviations, expected.logit_deviations)
    np.testing.assert_allclose(head.reference_.certainty_deviation, expected.certainty_deviation)


def test_what_cannot_be_updated_says_so(validation):
    logits, labels = validation
    head = SPHClassifier().fit(logits, labels)
    assert head.kept_samples_ is None
    with pytest.raises(ValueError, match="updatable=True"):
        head.update(logits, labels)
    with pytest.raises(ValueError, match="sample_weight"):
        SPHClassifier(updatable=True).fit(logits, labels, sample_weight=np.ones(len(labels)))
    with pytest.raises(ValueError, match="not among the classes"):
        SPHClassifier(updatable=True).fit(logits, labels).update(logits, labels + 100)
    assert not hasattr(AutoHead, "update")
    assert not hasattr(SPHClassifierCV, "update")


def test_a_file_whose_kept_samples_are_not_possible_is_refused(validation):
    kept = SPHClassifier(updatable=True).fit(*validation).kept_samples_
    values, arrays = kept.to_state()

    def reader(**changed):
        return KeptSamples.from_state(values, Arrays(arrays | changed), 5)

    assert reader().are_all
    with pytest.raises(ValueError, match="class that is not there"):
        reader(kept_codes=kept.codes + 1)
    with pytest.raises(ValueError, match="more kept samples"):
        reader(kept_codes=np.zeros_like(kept.codes))
