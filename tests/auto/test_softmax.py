"""SoftmaxClassifier: the model's own predictions, and probabilities with a temperature that labels were fitted for."""

import numpy as np
import pytest

import aftermax
from aftermax import SoftmaxClassifier
from helpers.auto_heads import honest, log_loss
from helpers.samples import make_samples, weak_samples


def test_predictions_are_the_models_own_and_probabilities_are_calibrated():
    logits, labels = honest()
    model = SoftmaxClassifier().fit(4 * logits, labels)
    assert model.temperature_ == pytest.approx(4.0, rel=0.3)
    np.testing.assert_array_equal(model.predict(4 * logits), model.classes_[logits.argmax(axis=1)])
    np.testing.assert_array_equal(model.held_out_, model.classes_[logits.argmax(axis=1)])
    unscaled = SoftmaxClassifier(temperature=1.0).fit(4 * logits, labels)
    assert log_loss(model.predict_proba(4 * logits), labels) < log_loss(unscaled.predict_proba(4 * logits), labels)


def test_out_of_fold_probabilities_have_temperatures_that_were_fitted_without_the_sample():
    logits, labels = make_samples(n_samples=60)
    model = SoftmaxClassifier().fit(logits, labels)
    scores = np.log(model.held_out_proba_)
    slopes = (scores[:, 0] - scores[:, 1]) / (logits[:, 0] - logits[:, 1])
    temperatures = np.unique((1 / slopes).round(6))
    assert 2 <= len(temperatures) <= 10
    assert temperatures.min() < model.temperature_ < temperatures.max()


def test_samples_of_a_group_share_a_fold():
    logits, labels = make_samples(n_samples=60)
    groups = np.arange(60) % 12
    model = SoftmaxClassifier().fit(logits, labels, groups=groups)
    scores = np.log(model.held_out_proba_)
    slopes = (scores[:, 0] - scores[:, 1]) / (logits[:, 0] - logits[:, 1])
    for group in range(12):
        assert np.ptp(slopes[groups == group]) < 1e-6


def test_the_order_of_the_samples_does_not_matter():
    logits, labels = weak_samples()
    order = np.random.default_rng(0).permutation(len(labels))
    one, other = SoftmaxClassifier().fit(logits, labels), SoftmaxClassifier().fit(logits[order], labels[order])
    assert one.temperature_ == other.temperature_
    np.testing.assert_array_equal(one.held_out_proba_[order], other.held_out_proba_)


def test_weights_move_the_temperature_and_the_class_shares():
    logits, labels = weak_samples()
    right = logits.argmax(axis=1) == labels
    surer = SoftmaxClassifier().fit(logits, labels, sample_weight=np.where(right, 5.0, 1.0))
    assert surer.temperature_ < SoftmaxClassifier().fit(logits, labels).temperature_
    assert surer.class_shares_.sum() == pytest.approx(1.0)


def test_it_is_saved_and_loaded(tmp_path):
    logits, labels = weak_samples()
    model = SoftmaxClassifier().fit(logits, labels)
    aftermax.save(model, tmp_path / "head.npz")
    loaded = aftermax.load(tmp_path / "head.npz")
    assert isinstance(loaded, SoftmaxClassifier)
    assert loaded.temperature_ == model.temperature_
    np.testing.assert_array_equal(loaded.class_shares_, model.class_shares_)
    np.testing.assert_array_equal(loaded.predict_proba(logits), model.predict_proba(logits))


def test_an_audit_of_it_finds_nothing_to_change():
    assert aftermax.audit(*weak_samples(), SoftmaxClassifier()).verdict.startswith("No:")


@pytest.mark.parametrize("temperature", [0, -1.0, np.nan, np.inf, "hot"])
def test_an_impossible_temperature_is_refused(temperature):
    with pytest.raises(ValueError, match="temperature="):
        SoftmaxClassifier(temperature=temperature).fit(*make_samples(n_samples=60))
