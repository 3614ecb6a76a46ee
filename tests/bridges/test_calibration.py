"""HeadCalibrator: a head where probmetrics and CalArena expect a calibrator."""

import h5py
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

from aftermax import AutoHead, Decider, SoftmaxClassifier, SPHClassifier
from aftermax._utils.softmax import softmax
from aftermax.bridges.calibration import HeadCalibrator
from helpers.samples import make_samples


def probabilities(n_samples, seed, n_classes=4):
    """Of a model with a bias and too much confidence."""
    logits, labels = make_samples(seed=seed, n_samples=n_samples, n_classes=n_classes)
    return softmax(3.0 * (logits + np.linspace(0, 4, n_classes))), labels


@pytest.fixture(scope="module")
def known():
    return probabilities(300, seed=1)


@pytest.fixture(scope="module")
def new():
    return probabilities(1000, seed=2)


def test_it_is_the_head_on_logarithms(known, new):
    (given, labels), (others, _) = known, new
    calibrator = HeadCalibrator(SPHClassifier()).fit(given, labels)
    head = SPHClassifier().fit(np.log(given), labels)
    assert np.array_equal(calibrator.predict_proba(others), head.predict_proba(np.log(others)))
    assert np.array_equal(calibrator.predict(others), head.predict(np.log(others)))
    assert calibrator.score(*new) == head.score(np.log(others), new[1])


def test_without_a_head_it_is_an_autohead_that_is_better_than_the_model(known, new):
    calibrator = HeadCalibrator().fit(*known)
    assert isinstance(calibrator.head_, AutoHead)
    assert calibrator.score(*new) > np.mean(new[0].argmax(axis=1) == new[1]) + 0.1


@pytest.mark.parametrize("form", [lambda p: p[:, 1], lambda p: p[:, 1:], lambda p: p])
def test_binary_probabilities_may_be_in_one_column_or_in_two(form):
    given, labels = probabilities(200, seed=1, n_classes=2)
    calibrator = HeadCalibrator(SoftmaxClassifier()).fit(form(given), labels)
    expected = HeadCalibrator(SoftmaxClassifier()).fit(given, labels).predict_proba(given)
    np.testing.assert_allclose(calibrator.predict_proba(form(given)), expected, rtol=1e-6)
    assert expected.shape == (200, 2)


def test_classes_without_samples_and_probabilities_of_zero_are_taken(known):
    given, labels = known
    kept = labels != 3
    sharp = np.eye(4)[given[kept].argmax(axis=1)]
    found = HeadCalibrator(SoftmaxClassifier()).fit(sharp, labels[kept]).predict_proba(sharp)
    assert found.shape == (kept.sum(), 4)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_what_is_no_probability_no_column_or_no_head_for_all_classes_is_refused(known):
    given, labels = known
    with pytest.raises(ValueError, match=r"from 0 to 1. If these are logits, fit the head itself"):
        HeadCalibrator().fit(given * 3, labels)
    with pytest.raises(ValueError, match=r"contain NaN at row 7, column 2: drop such samples, or repair the model's"):
        HeadCalibrator().fit(with_value(given, np.nan), labels)
    with pytest.raises(ValueError, match=r"shape \(\)"):
        HeadCalibrator().fit(0.5, labels)
    with pytest.raises(ValueError, match="7"):
        HeadCalibrator().fit(given, np.where(labels == 3, 7, labels))
    with pytest.raises(ValueError, match=r"GaussianNB has 3 of the 4 classes"):
        HeadCalibrator(GaussianNB()).fit(given[labels != 3], labels[labels != 3])


def with_value(given, value):
    """Probabilities with one value at row 7, column 2."""
    changed = given.copy()
    changed[7, 2] = value
    return changed


@pytest.mark.parametrize("value", [1.5, -0.1, np.inf, 1.00001])
def test_a_value_that_is_no_probability_is_named(known, value):
    with pytest.raises(ValueError, match=rf"contain {value} at row 7, column 2, but must be from 0 to 1\."):
        HeadCalibrator().fit(with_value(known[0], value), known[1])


def test_single_precision_may_round_beyond_0_and_1(known):
    given, labels = np.eye(4, dtype=np.float32)[known[1]], known[1]
    beyond = np.where(given == 1, np.float32(1.0000001), np.float32(-1e-8))
    assert beyond.max() > 1
    found = HeadCalibrator(SoftmaxClassifier()).fit(beyond, labels).predict_proba(beyond)
    expected = HeadCalibrator(SoftmaxClassifier()).fit(given, labels).predict_proba(given)
    np.testing.assert_array_equal(found, expected)


def test_probabilities_that_were_rounded_to_two_digits_are_taken(known):
    rounded = known[0].round(2)
    assert np.abs(rounded.sum(axis=1) - 1).max() > 0.005
    assert HeadCalibrator(SoftmaxClassifier()).fit(rounded, known[1]).predict_proba(rounded).shape == rounded.shape


@pytest.mark.parametrize(
    ("row", "total"),
    [([0.3, 0, 0, 0], "0.3"), ([0, 0, 0, 0], "0"), ([0.9, 0.6, 0.1, 0.2], "1.8")],
    ids=["less", "nothing", "one-vs-rest"],
)
def test_rows_that_do_not_sum_to_1_are_refused_with_the_row_and_the_sum(known, row, total):
    given = known[0].copy()
    given[[7, 20]] = row
    calibrator = HeadCalibrator(SoftmaxClassifier()).fit(*known)
    for call in (lambda: HeadCalibrator().fit(given, known[1]), lambda: calibrator.predict_proba(given)):
        with pytest.raises(ValueError, match=rf"sum to {total} at row 7, and not to 1: .* can be divided by their sum"):
            call()


def test_masked_values_are_refused_and_not_unmasked(known):
    masked = np.ma.masked_array(known[0], mask=known[0] < 0.001)
    with pytest.raises(ValueError, match=r"probabilities is a masked array, in which [\d,]+ values are masked"):
        HeadCalibrator().fit(masked, known[1])


def test_text_and_other_numbers_of_classes_are_refused(known):
    with pytest.raises(
        ValueError, match=r"probabilities does not hold numbers .*: pass one column of numbers for each"
    ):
        HeadCalibrator().fit(known[0].astype(str).astype(object) + "?", known[1])
    calibrator = HeadCalibrator(SoftmaxClassifier()).fit(*known)
    for others in (known[0][:, :3], known[0][:, 0]):
        with pytest.raises(
            ValueError, match=r"shape \(300.*, but the calibrator was fitted on 4 classes: pass one col"
        ):
            calibrator.predict_proba(others)


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_before_it_is_fitted_it_says_so_as_scikit_learn_does(known, method):
    with pytest.raises(NotFittedError, match="This HeadCalibrator instance is not fitted yet"):
        getattr(HeadCalibrator(), method)(known[0])


def test_a_decider_is_refused_as_its_decisions_would_be_lost(known):
    decider = Decider(SoftmaxClassifier(), costs=1 - np.eye(4))
    with pytest.raises(
        TypeError, match=r"head is a Decider, whose decisions .* would be lost: .* Pass the head that it"
    ):
        HeadCalibrator(decider).fit(*known)


def test_it_can_be_cloned_and_is_fitted_anew(known):
    fitted = HeadCalibrator(SoftmaxClassifier()).fit(*known)
    again = clone(fitted)
    assert not hasattr(again, "head_")
    assert not hasattr(fitted.head, "classes_")
    assert np.array_equal(again.fit(*known).predict_proba(known[0]), fitted.predict_proba(known[0]))


@pytest.mark.slow  # probmetrics takes seconds to import
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # as probmetrics is imported
def test_probmetrics_takes_it_where_it_takes_its_own(known, new):
    from probmetrics.calibrators import MulticlassOneVsRestCalibrator, TemperatureScalingCalibrator
    from probmetrics.metrics import Metrics

    metrics = Metrics.from_names(["brier", "logloss", "ece-15", "accuracy"])
    found = {}
    for name, calibrator in {
        "head": HeadCalibrator(),
        "temperature": TemperatureScalingCalibrator(),
        "rest": MulticlassOneVsRestCalibrator(HeadCalibrator(SoftmaxClassifier())),
    }.items():
        predicted = torch.tensor(calibrator.fit(*known).predict_proba(new[0]))
        found[name] = metrics.compute_all_from_labels_probs(torch.tensor(new[1]), predicted)
    assert found["head"]["logloss"] < found["temperature"]["logloss"]
    assert found["head"]["accuracy"] > found["temperature"]["accuracy"]
    assert torch.isfinite(found["rest"]["logloss"])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_runs_over_a_file_of_calarena(tmp_path, n_classes):
    """The layout that its README describes: a group for each data set and model, and an index."""
    parts = [probabilities(300, seed, n_classes) for seed in (1, 2)]
    with h5py.File(tmp_path / "made-up.h5", "w") as file:
        group = file.create_group("digits/network")
        for part, (given, labels) in zip(("cal", "test"), parts, strict=True):
            group[f"probas_{part}"] = (given[:, 1] if n_classes == 2 else given).astype(np.float32)
            group[f"labels_{part}"] = labels
    pd.DataFrame({"dataset": ["digits"], "model": ["network"]}).to_csv(tmp_path / "made-up-experiments.csv")

    index = pd.read_csv(tmp_path / "made-up-experiments.csv")
    with h5py.File(tmp_path / "made-up.h5") as file:
        for row in index.itertuples():
            group = file[f"{row.dataset}/{row.model}"]
            calibrator = HeadCalibrator().fit(group["probas_cal"][:], group["labels_cal"][:])
            found = calibrator.predict_proba(group["probas_test"][:])
            right = np.mean(found.argmax(axis=1) == group["labels_test"][:])
    assert found.shape == (300, n_classes)
    assert right > np.mean(parts[1][0].argmax(axis=1) == parts[1][1])
