"""What holds for every kind of fitted head: the protocol that storage and bridges rely on."""

import json
import re

import numpy as np
import pytest

from aftermax._heads.protocol import InputShape
from aftermax._heads.softmax import SoftmaxHead
from aftermax._many.fitting import fit_many
from aftermax._many.samples import ManySamples
from aftermax._residual.fitting import fit_corrections
from aftermax._residual.head import compact
from aftermax._utils.untrusted import Arrays
from aftermax._wrapped.adapted import AdaptedHead
from aftermax._wrapped.decision import DecisionHead
from aftermax.auto.kinds import FITTED_HEADS
from aftermax.sph.classifier import SPHClassifier
from helpers.correction_samples import samples_of

COSTS = (1.0 - np.eye(4)) * np.array([[1.0], [9.0], [1.0], [3.0]])
N_SAMPLES, N_FEATURES = 2_500, 6  # more than one chunk


@pytest.fixture(scope="module")
def samples():
    return samples_of(n_samples=N_SAMPLES, features=np.random.default_rng(5).normal(size=(N_SAMPLES, N_FEATURES)))


@pytest.fixture(scope="module")
def heads(samples):
    few = samples.take(np.arange(300))
    return {
        "softmax": SoftmaxHead(1.7),
        "sph": SPHClassifier(certainty=0.95, veto_distance=3.0).fit(few.logits, few.codes).fitted_head_,
        "combination": compact(fit_corrections(few, 0)["combination"]),
        "adapted": AdaptedHead(SoftmaxHead(1.7), 0.8, np.linspace(-1.0, 1.0, few.logits.shape[1])),
        "decision": DecisionHead(compact(fit_corrections(few, 0)["biases"]), COSTS, threshold=0.9),
        "class means": fit_many(ManySamples.of(few, np.arange(300))).heads["class means and discriminants"],
    }


@pytest.fixture(params=sorted(FITTED_HEADS))
def head(request, heads):
    """A head of each kind: a new kind is added to ``heads``, or this fails."""
    return heads[request.param]


def test_every_kind_is_known_by_its_name(head):
    assert FITTED_HEADS[head.kind] is type(head)


def test_predictions_are_columns_and_the_largest_probability_is_at_them(head, samples):
    predictions, probabilities = head.predict(samples.inputs), head.predict_proba(samples.inputs)
    assert predictions.shape == (N_SAMPLES,)
    assert predictions.dtype == np.int64
    if head.kind == "decision":  # by costs: the most probable class is another one for some samples
        np.testing.assert_array_equal((probabilities @ COSTS).argmin(axis=1), predictions)
        assert (probabilities.argmax(axis=1) != predictions).any()
    else:
        np.testing.assert_array_equal(probabilities.argmax(axis=1), predictions)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_a_sample_is_predicted_alike_alone_and_among_others(head, samples):
    probabilities = head.predict_proba(samples.inputs)
    for index in (0, 1_023, 1_024, N_SAMPLES - 1):
        alone = head.predict_proba([values[index : index + 1] for values in samples.inputs])
        np.testing.assert_allclose(alone[0], probabilities[index], rtol=1e-12, atol=1e-15)


def test_values_that_are_not_finite_are_refused_with_their_place(head, samples):
    broken = [values.copy() for values in samples.inputs]
    broken[0][2_000, 3] = np.nan
    for method in (head.predict, head.predict_proba):
        with pytest.raises(ValueError, match=r"NaN at row 2000, column 3|NaN .*sample 2000, column 3"):
            method(broken)


def test_state_goes_out_and_in_and_is_what_a_file_can_hold(head, samples):
    values, arrays = head.to_state()
    json.dumps(values)
    for name, array in arrays.items():
        assert re.fullmatch("[a-z_]+", name)
        assert name != "classes"
        assert 1 <= array.ndim <= 3
    taken = Arrays(arrays)
    if head.kind == "decision":
        assert values["threshold"] == 0.9
    again = type(head).from_state(values, taken, InputShape(np.arange(samples.logits.shape[1]), N_FEATURES))
    taken.all_taken()
    np.testing.assert_array_equal(again.predict_proba(samples.inputs), head.predict_proba(samples.inputs))


class NumpyOperations:
    """numpy's array operations for the formula."""

    exp, log, abs, power = np.exp, np.log, np.abs, np.power
    maximum, where = np.maximum, np.where
    epsilon = np.finfo(np.float64).eps

    @staticmethod
    def as_float(condition):
        return np.asarray(condition, dtype=np.float64)

    @staticmethod
    def row_max(value):
        return np.max(value, axis=-1, keepdims=True)

    @staticmethod
    def row_kth_largest(value, k):
        return -np.sort(-value, axis=-1)[..., k - 1 : k]

    @staticmethod
    def row_sum(value):
        return np.sum(value, axis=-1, keepdims=True)

    @staticmethod
    def row_argmax(value):
        return np.argmax(value, axis=-1, keepdims=True)

    @staticmethod
    def insert_axis(value):
        return value[:, None, :]

    @staticmethod
    def rows(value, first, last):
        return value[first:last]

    @staticmethod
    def take_columns(value, columns):
        return value[:, columns]

    @staticmethod
    def side_by_side(parts):
        return np.concatenate(parts, axis=1)

    @staticmethod
    def drop_last_axis(value):
        return value[:, :, 0]


def test_the_formula_gives_the_predictions_and_the_logarithms_of_the_probabilities(head, samples):
    plan, constants = head.formula()
    assert json.loads(json.dumps(plan)) == plan
    assert plan["values_per_sample"] >= 1
    assert any(values.dtype.kind == "f" for values in constants.values())
    assert not {"columns", "plan"} & set(constants)
    constants["columns"] = np.arange(samples.logits.shape[1])
    with np.errstate(divide="ignore"):  # a class that pooling never predicts has probability 0
        predictions, logs = head.evaluate(plan, NumpyOperations, constants, samples.inputs)
    np.testing.assert_array_equal(predictions[:, 0], head.predict(samples.inputs))
    np.testing.assert_allclose(np.exp(logs), head.predict_proba(samples.inputs), rtol=1e-9, atol=1e-12)
