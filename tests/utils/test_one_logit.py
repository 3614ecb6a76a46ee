"""Binary models with one logit: it is the log-odds of the second class, for every head."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from aftermax import (
    AutoHead,
    PostHocClassifier,
    ResponseArray,
    SPHClassifier,
    SPHClassifierCV,
    audit,
    fit,
    load,
    save,
    sweep,
)
from aftermax._utils.one_logit import log_odds, one_column, two_columns
from aftermax.report import html_report
from helpers.binary import WORDS, halves, one_logit, sigmoid

HEADS = [AutoHead(cv=2), SPHClassifier(), SPHClassifierCV({"certainty": [0.6, 0.9]}, cv=2, n_repeats=1)]
Z, LABELS = one_logit()
NEW, _ = one_logit(seed=1)
SHAPES = {"flat": lambda z: z, "column": lambda z: z[:, None], "list": lambda z: z.tolist(), "series": pd.Series}


# ---- fit and predict -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", HEADS, ids=lambda head: type(head).__name__)
@pytest.mark.parametrize("shape", SHAPES)
def test_one_logit_is_fitted_and_predicted_as_its_two_halves(head, shape):
    one, two = clone(head).fit(SHAPES[shape](Z), LABELS), clone(head).fit(halves(Z), LABELS)
    assert (one.n_features_in_, two.n_features_in_) == (1, 2)
    for as_passed in SHAPES.values():
        np.testing.assert_array_equal(one.predict(as_passed(NEW)), two.predict(halves(NEW)))
        np.testing.assert_array_equal(one.predict_proba(as_passed(NEW)), two.predict_proba(halves(NEW)))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64])
def test_any_numeric_type_will_do(dtype):
    z = (10 * Z).astype(dtype)
    head = SPHClassifier().fit(z, LABELS)
    np.testing.assert_array_equal(head.predict(z), SPHClassifier().fit(z.astype(float), LABELS).predict(z))


def test_one_sample_is_predicted_also_if_its_logit_is_between_0_and_1():
    head = SPHClassifier().fit(Z, LABELS)
    assert head.predict_proba([0.3]).shape == head.predict_proba([[0.3]]).shape == (1, 2)


def test_the_second_class_is_the_positive_one():
    head = SPHClassifier(certainty=0.0).fit(Z, WORDS[LABELS])
    assert head.classes_.tolist() == ["no", "yes"]
    assert head.predict([-3.0, 3.0]).tolist() == ["no", "yes"]
    np.testing.assert_allclose(head.predict_proba([2.0])[0, 1], sigmoid(2.0))


def test_classes_name_the_negative_and_the_positive_class():
    head = SPHClassifier(certainty=0.0, classes=["yes", "no"]).fit(-Z, WORDS[LABELS])
    assert head.predict([-3.0, 3.0]).tolist() == ["yes", "no"]
    with pytest.raises(ValueError, match=r"classes has shape \(1,\).*pass classes=\[negative, positive\]"):
        SPHClassifier(classes=["yes"]).fit(Z, WORDS[LABELS])


def test_a_data_frame_has_its_name_recorded():
    frame = pd.DataFrame({"score": Z})
    head = SPHClassifier().fit(frame, LABELS)
    assert head.feature_names_in_.tolist() == ["score"]
    np.testing.assert_array_equal(head.predict(frame), SPHClassifier().fit(Z, LABELS).predict(Z))
    with pytest.raises(ValueError, match="feature names"):
        head.predict(frame.rename(columns={"score": "other"}))


def test_a_heading_that_is_a_label_names_the_positive_class_and_a_number_does_not():
    swapped = SPHClassifier().fit(pd.DataFrame({"no": -Z}), WORDS[LABELS])
    assert swapped.classes_.tolist() == ["yes", "no"]
    assert SPHClassifier().fit(pd.DataFrame(Z), LABELS).classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="contradicts the heading of the column, 'no': one logit is the log-odds"):
        SPHClassifier(classes=["no", "yes"]).fit(pd.DataFrame({"no": -Z}), WORDS[LABELS])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "route"])
def test_two_columns_are_refused_by_a_head_that_was_fitted_on_one(method):
    head = SPHClassifier().fit(Z, LABELS)
    hint = r"X has 2 features, but SPHClassifier is expecting 1 .*pass X\[:, 1\] - X\[:, 0\]"
    with pytest.raises(ValueError, match=hint):
        getattr(head, method)(halves(Z))
    with pytest.raises(ValueError, match="X has 3 features, but SPHClassifier is expecting 1 "):
        getattr(head, method)(np.zeros((4, 3)))


def test_one_column_is_refused_by_a_head_that_was_fitted_on_two():
    head = SPHClassifier().fit(halves(Z), LABELS)
    with pytest.raises(ValueError, match="X has 1 features, but SPHClassifier is expecting 2"):
        head.predict(Z[:, None])
    with pytest.raises(ValueError, match=r"got 1D array of shape \(300,\).*sample.reshape\(1, -1\)"):
        head.predict(Z)


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, r"infinity \(inf\)")])
@pytest.mark.parametrize("method", ["fit", "predict"])
def test_a_logit_that_is_not_finite_is_refused_with_its_place(method, value, word):
    bad = np.where(np.arange(300) == 17, value, Z)
    head = SPHClassifier()
    with pytest.raises(ValueError, match=f"logits contain {word} at row 17, column 0"):
        head.fit(bad, LABELS) if method == "fit" else head.fit(Z, LABELS).predict(bad)


@pytest.mark.parametrize("empty", [[], np.empty(0), np.empty((0, 1))], ids=["list", "flat", "column"])
def test_no_samples_are_refused(empty):
    with pytest.raises(ValueError, match="logits have no samples"):
        SPHClassifier().fit(empty, [])
    with pytest.raises(ValueError, match="logits have no samples"):
        SPHClassifier().fit(Z, LABELS).predict(empty)


# ---- probabilities ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "as_passed",
    [lambda p: p, lambda p: p[:, None], halves, lambda p: p.astype(np.float32), lambda p: p.round(2)],
    ids=["flat", "column", "halves", "float32", "rounded"],
)
@pytest.mark.parametrize("call", [fit, audit, SPHClassifier().fit, ResponseArray.fit, sweep])
def test_outputs_of_a_sigmoid_are_refused_with_what_to_pass(call, as_passed):
    with pytest.raises(ValueError, match=r"all are in \[0, 1\].*before the sigmoid.*scipy.special.logit.*--log on the"):
        call(as_passed(sigmoid(Z)), LABELS)


def test_outputs_of_a_sigmoid_are_warned_of_where_samples_are_predicted():
    head = SPHClassifier().fit(Z, LABELS)
    with pytest.warns(UserWarning, match="probabilities of one class") as caught:
        head.predict(sigmoid(Z))
    assert caught[0].filename == __file__


def test_few_or_equal_logits_between_0_and_1_and_some_beyond_are_taken():
    few = np.linspace(0.1, 0.9, 10)
    SPHClassifier().fit(few, few > 0.5)
    SPHClassifier().fit(np.zeros((25, 2)), np.arange(25) % 2)
    SPHClassifier().fit(np.append(sigmoid(Z), -0.01), np.append(LABELS, 0))
    SPHClassifier().fit(np.append(sigmoid(Z), [1.01, -0.01]), np.append(LABELS, [1, 0]))


def test_both_probabilities_are_warned_of_as_ever():
    p = sigmoid(Z)
    with pytest.warns(UserWarning, match="every sample sums to 1"):
        SPHClassifier().fit(np.column_stack([1 - p, p]), LABELS)


def test_log_odds_are_those_of_scipy_and_finite():
    from scipy.special import logit

    p = np.array([0.0, 1e-9, 0.3, 0.5, 1.0], dtype=np.float32)
    np.testing.assert_allclose(log_odds(p), logit(np.clip(p.astype(float), 1e-12, 1 - 1e-12)), rtol=1e-4)
    assert np.isfinite(log_odds(p)).all()


def test_two_columns_become_one_again_to_the_last_bit():
    np.testing.assert_array_equal(one_column(two_columns(Z[:, None])), Z[:, None])


# ---- everything else that takes logits -------------------------------------------------------------------------------


@pytest.mark.parametrize("head", [None, SPHClassifier(), LogisticRegression()], ids=["auto", "sph", "other"])
@pytest.mark.parametrize("as_passed", [np.asarray, lambda z: pd.DataFrame({"score": z})], ids=["array", "frame"])
def test_an_audit_counts_as_for_two_columns_and_its_head_takes_one(head, as_passed):
    found, expected = audit(as_passed(Z), WORDS[LABELS], head), audit(halves(Z), WORDS[LABELS], head)
    assert found.error_before == expected.error_before == np.mean((Z > 0) != LABELS)
    assert abs(found.error_after - expected.error_after) < 0.01  # another head may have other folds and rounding
    assert found.head.n_features_in_ == 1
    assert found.classes == ("no", "yes")


def test_the_report_takes_what_was_audited():
    assert "<html" in html_report(audit(Z, LABELS), Z, LABELS)


def test_a_sweep_counts_as_for_two_columns():
    grid = {"certainty": [0.0, 0.9]}
    one = sweep(Z, LABELS, grid, eval_logits=NEW[:, None], eval_labels=LABELS)
    two = sweep(halves(Z), LABELS, grid, eval_logits=halves(NEW), eval_labels=LABELS)
    np.testing.assert_array_equal(one["accuracy"], two["accuracy"])


def test_a_response_array_has_a_unit_for_each_class():
    array = ResponseArray.fit(Z, LABELS)
    np.testing.assert_array_equal(array.center, ResponseArray.fit(halves(Z), LABELS).center)
    np.testing.assert_array_equal(array.distances(NEW), array.distances(halves(NEW)))


@pytest.mark.parametrize("head", HEADS, ids=lambda head: type(head).__name__)
@pytest.mark.parametrize("as_passed", [np.asarray, lambda z: pd.DataFrame({"score": z})], ids=["array", "frame"])
def test_a_saved_head_still_takes_one_logit(head, as_passed, tmp_path):
    fitted = clone(head).fit(as_passed(Z), WORDS[LABELS])
    save(fitted, tmp_path / "head.npz")
    loaded = load(tmp_path / "head.npz")
    assert loaded.n_features_in_ == 1
    np.testing.assert_array_equal(loaded.predict(as_passed(NEW)), fitted.predict(as_passed(NEW)))
    np.testing.assert_array_equal(loaded.predict_proba(as_passed(NEW)), fitted.predict_proba(as_passed(NEW)))
    with pytest.raises(ValueError, match="features"):
        loaded.predict(halves(NEW))


def test_a_model_goes_together_with_a_head_that_was_fitted_on_its_decision_function():
    samples = np.random.default_rng(0).normal(size=(300, 4))
    words = WORDS[(samples[:, 0] + samples[:, 1] ** 2 > 0.5).astype(int)]
    model = LogisticRegression().fit(samples[:60], words[:60])
    head = AutoHead(cv=2).fit(model.decision_function(samples[60:]), words[60:])
    both = PostHocClassifier.from_fitted(model, head)
    np.testing.assert_array_equal(both.predict(samples), head.predict(model.decision_function(samples)))
    np.testing.assert_array_equal(both.predict_proba(samples), head.predict_proba(model.decision_function(samples)))


def test_searches_and_cross_validation_take_one_column():
    search = GridSearchCV(SPHClassifier(), {"certainty": [0.0, 0.9]}, cv=3).fit(Z[:, None], LABELS)
    assert search.predict(NEW[:, None]).shape == (300,)
    assert np.isfinite(cross_val_score(SPHClassifier(), Z[:, None], LABELS, cv=3)).all()
