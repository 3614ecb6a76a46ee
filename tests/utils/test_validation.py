"""Logits and hyperparameters that are refused or warned of, with a message that says what to do."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from aftermax import AutoHead, ResponseArray, SoftmaxClassifier, SPHClassifier
from helpers.samples import make_samples

LOGITS, LABELS = make_samples(n_samples=100, n_classes=4)


@pytest.mark.parametrize("method", ["fit", "predict", "predict_proba", "route"])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_values_that_are_not_finite_are_refused_with_their_place(method, value, word):
    bad = LOGITS.copy()
    bad[17, 2] = value
    head = SPHClassifier()
    with pytest.raises(ValueError, match=rf"logits contain {word}.* at row 17, column 2.*Drop such samples"):
        head.fit(bad, LABELS) if method == "fit" else getattr(head.fit(LOGITS, LABELS), method)(bad)


def test_the_place_of_a_bad_value_is_right_in_a_later_chunk():
    bad = np.zeros((200_000, 4), dtype=np.float32)
    bad[150_000, 1] = bad[199_999, 0] = np.nan
    with pytest.raises(ValueError, match="at row 150000, column 1"):
        SPHClassifier().fit(LOGITS, LABELS).predict(bad)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "route"])
def test_another_width_than_in_fit_is_refused(method):
    head = SPHClassifier().fit(LOGITS, LABELS)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 .*in the order of classes_"):
        getattr(head, method)(LOGITS[:, :3])


def test_no_samples_are_refused():
    with pytest.raises(ValueError, match=r"logits have no samples.*pass at least one"):
        SPHClassifier().fit(LOGITS[:0], LABELS[:0])
    with pytest.raises(ValueError, match="logits have no samples"):
        SPHClassifier().fit(LOGITS, LABELS).predict(LOGITS[:0])


def test_one_logit_for_more_than_two_classes_is_refused():
    for one_logit in (LOGITS[:, 0], LOGITS[:, :1], LOGITS[:, 0].tolist()):
        with pytest.raises(ValueError, match=r"labels hold 4 classes .* 1 column .*pass one column for each class"):
            SPHClassifier().fit(one_logit, LABELS)


def test_a_flat_array_is_refused_by_a_head_that_was_fitted_on_several_columns():
    with pytest.raises(ValueError, match=r"Expected 2D array, got 1D array.*so 4.*sample.reshape\(1, -1\)"):
        SPHClassifier().fit(LOGITS, LABELS).predict(LOGITS[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_probabilities_passed_as_logits_are_warned_of(dtype):
    probabilities = softmax(LOGITS, axis=1).astype(dtype)
    hint = r"look like probabilities.*before softmax.*numpy.log\(numpy.clip\(p, 1e-12, None\)\)"
    with pytest.warns(UserWarning, match=hint):
        head = SPHClassifier().fit(probabilities, LABELS)
    for method in (head.predict, head.predict_proba, head.route):
        with pytest.warns(UserWarning, match=hint) as caught:
            method(probabilities)
        assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=hint):
        ResponseArray.fit(probabilities, LABELS)


@pytest.mark.parametrize(("whole", "digits"), [(1, 3), (1, 2), (100, 1), (100, 0)])
def test_rounded_probabilities_and_percentages_are_warned_of(whole, digits):
    rounded = (whole * softmax(LOGITS, axis=1)).round(digits)
    assert np.abs(rounded.sum(axis=1) - whole).max() > 0
    with pytest.warns(UserWarning, match="look like probabilities"):
        SPHClassifier().fit(rounded, LABELS)


def test_single_samples_are_warned_of_only_if_they_sum_to_one_exactly():
    head = SPHClassifier().fit(LOGITS, LABELS)
    head.predict([[0.1, 0.2, 0.3, 0.41]])
    with pytest.warns(UserWarning, match="look like probabilities"):
        head.predict([[0.1, 0.2, 0.3, 0.4]])


def test_the_logarithm_of_probabilities_is_not_warned_of():
    SPHClassifier().fit(np.log(softmax(LOGITS, axis=1)), LABELS)


def test_a_few_logits_that_happen_to_sum_to_one_are_not_warned_of():
    head = SPHClassifier().fit(LOGITS, LABELS)
    samples = LOGITS.copy()
    samples[3] = [0.1, 0.2, 0.3, 0.4]
    head.predict(samples)


def test_samples_within_0_and_1_that_do_not_sum_to_one_are_not_warned_of():
    SPHClassifier().fit(softmax(LOGITS, axis=1) * 0.9, LABELS)


@pytest.mark.parametrize(
    ("hyperparameters", "message"),
    [
        ({"certainty": 1.5}, "certainty=1.5 is out of range: choose a number in [0, 1]"),
        ({"certainty": -0.1}, "certainty=-0.1 is out of range"),
        ({"certainty": np.nan}, "certainty=nan is not a number"),
        ({"certainty": "high"}, "certainty='high' is not a number: choose one in [0, 1]"),
        ({"certainty": True}, "certainty=True is not a number"),
        ({"window_low": 0.8, "window_high": 0.2}, "window_low=0.8 is above window_high=0.2"),
        ({"window_low": None}, "window_low=None is not a number"),
        ({"window_high": 95}, "window_high=95 is out of range"),
        ({"center": "mode"}, 'center=\'mode\' is not known: use "mean" or "median"'),
        ({"min_separation": -1.0}, "min_separation=-1.0 is out of range: choose a number in [0, inf]"),
        ({"weight_power": -1.0}, "weight_power=-1.0 is out of range"),
        ({"weight_power": np.inf}, "weight_power=inf is out of range: choose a number in [0, inf)"),
        ({"veto_distance": -1.0}, "veto_distance=-1.0 is out of range"),
        ({"veto_count": 0}, "veto_count=0 is not possible: choose a whole number (an int) of at least 1"),
        ({"veto_count": 1.5}, "veto_count=1.5 is not possible"),
        ({"min_gain": 1.1}, "min_gain=1.1 is out of range: choose a number in [-1, 1]"),
        ({"distance_power": -2.0}, "distance_power=-2.0 is out of range"),
    ],
)
def test_hyperparameters_out_of_range_are_refused(hyperparameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        SPHClassifier(**hyperparameters).fit(LOGITS, LABELS)


def test_a_window_may_reach_beyond_what_a_certainty_can_be():
    wide = SPHClassifier(window_low=-0.2, window_high=1.1).fit(LOGITS, LABELS)
    np.testing.assert_array_equal(wide.weights_, SPHClassifier().fit(LOGITS, LABELS).weights_)


def test_the_largest_logits_that_are_taken_can_be_averaged():
    head = SPHClassifier().fit(np.where(np.eye(4)[LABELS] > 0, 1e100, -1e100), LABELS)
    assert np.isfinite(head.response_array_.center).all()


def test_logits_masked_with_the_least_float32_are_fine():
    masked = LOGITS.astype(np.float32)
    masked[LABELS == 0, 3] = np.finfo(np.float32).min
    head = SPHClassifier().fit(masked, LABELS)
    assert np.isfinite(head.weights_).all()
    assert np.isfinite(head.predict_proba(masked)).all()


def test_response_array_refuses_the_same():
    with pytest.raises(ValueError, match="center='mode'"):
        ResponseArray.fit(LOGITS, LABELS, center="mode")
    with pytest.raises(ValueError, match="is above window_high"):
        ResponseArray.fit(LOGITS, LABELS, window_low=0.9, window_high=0.1)
    with pytest.raises(ValueError, match="NaN"):
        ResponseArray.fit(np.full((4, 4), np.nan), [0, 1, 2, 3])
    with pytest.raises(ValueError, match="logits have 3 columns but the response array has 4 units"):
        ResponseArray.fit(LOGITS, LABELS).distances(LOGITS[:, :3])


@pytest.mark.parametrize("shape", [(60, 4, 1), (15, 4, 2, 2)])
def test_logits_with_more_axes_are_refused_with_their_shape(shape):
    logits = np.zeros(shape)
    head = SPHClassifier().fit(*make_samples(n_samples=60, n_classes=4))
    for call in (lambda: SPHClassifier().fit(logits, np.zeros(len(logits))), lambda: head.predict(logits)):
        with pytest.raises(
            ValueError, match=re.escape(f"logits have shape {shape}: pass an array of shape (n_samples,")
        ):
            call()


def test_text_as_weights_is_refused():
    logits, labels = make_samples(n_samples=60, n_classes=4)
    with pytest.raises(
        ValueError, match=r"sample_weight does not hold numbers \(.*'heavy'\): pass one number for each"
    ):
        SPHClassifier().fit(logits, labels, sample_weight=["heavy"] * 60)


def test_a_column_of_text_among_the_logits_is_refused_with_what_to_do():
    frame = pd.DataFrame({"ant": [0.5, 1.0, 2.0], "bee": [1.0, 0.0, 0.5], "label": ["ant", "bee", "ant"]})
    for call in (SPHClassifier().fit, ResponseArray.fit):
        with pytest.raises(ValueError, match=r"logits hold text .*'ant'.*: pass numbers only"):
            call(frame, frame["label"])


@pytest.mark.parametrize("value", [1e155, -1.7e308])
def test_values_too_large_to_compute_with_are_refused_with_their_place(value):
    """An attack found IndexError, LinAlgError and NaN probabilities."""
    logits, labels = make_samples(n_samples=60)
    features = logits.copy()
    logits[17, 2] = features[17, 2] = value
    for head in (SPHClassifier(), SoftmaxClassifier(), AutoHead()):
        with pytest.raises(ValueError, match=r"logits contain -?1\.?7?e\+\d+ at row 17, column 2, which is too large"):
            head.fit(logits, labels)
    with pytest.raises(ValueError, match=r"features contain .* at row 17, column 2: drop such samples"):
        AutoHead().fit(make_samples(n_samples=60)[0], labels, features=features)


def test_weights_too_large_to_be_summed_are_refused():
    logits, labels = make_samples(n_samples=60)
    for head in (SPHClassifier(), SoftmaxClassifier(), AutoHead()):
        with pytest.raises(ValueError, match=r"sample_weight holds 1\.7e\+308, which is too large: divide all"):
            head.fit(logits, labels, sample_weight=np.full(60, 1.7e308))
    with pytest.raises(ValueError, match="class_weight=1e\\+300 is out of range"):
        AutoHead(class_weight={0: 1e300}).fit(logits, labels)
