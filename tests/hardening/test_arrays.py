"""Hostile arrays, as ``python -m hardening arrays`` passes many more of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aftermax import AutoHead, PostHocClassifier, SoftmaxClassifier, SPHClassifierCV
from aftermax.decide.objectives import metric_objective
from aftermax.decide.rules import plug_in_rule
from hardening import array_kinds, arrays
from hardening.array_calls import CALLS, Network
from hardening.array_values import VALUES
from helpers.samples import weak_samples

QUICK = ["SoftmaxClassifier", "SPHClassifier", "predict", "batch_calibration", "ResponseArray", "sweep"]


@settings(max_examples=60)
@given(st.sampled_from(QUICK), st.integers(0, 2**32 - 1))
def test_odd_arrays_are_answered_or_refused_and_left_as_they_are(call, index):
    word, _ = arrays.call_one(call, index, None)
    assert word in ("answered", "refused")


@given(st.data())
def test_logits_of_any_size_are_answered_or_refused(data):
    n, k = data.draw(st.sampled_from([(30, 2), (40, 3), (12, 4)]))
    numbers = st.floats(-1e300, 1e300) | st.sampled_from([0.0, 5e-324, -1e-300, 1e-310, 1e99, -1e100])
    few = data.draw(st.lists(numbers, min_size=1, max_size=8))
    logits = np.resize(np.array(few), (n, k))
    logits[np.arange(n), np.arange(n) % k] += data.draw(numbers)
    with np.errstate(all="ignore"):
        answer = arrays._answer(data.draw(st.sampled_from(QUICK)), logits, np.arange(n) % k, "drawn")
    if answer is not None:
        arrays._check(answer, "drawn")


@pytest.mark.parametrize("kind", sorted(array_kinds.NUMPY))
def test_every_layout_and_type_of_numpy_is_tried(kind):
    logits, labels = weak_samples(60)
    held = array_kinds.NUMPY[kind](logits)
    before = array_kinds.values_of(held)
    answer = arrays._answer("SoftmaxClassifier", held, labels, kind)
    assert array_kinds.values_of(held) == before
    if kind in arrays.SAME_VALUES:
        arrays._compare(answer, arrays._answer("SoftmaxClassifier", logits, labels, kind), kind)
    if kind in ("complex", "text", "masked", "with an axis more", "no rows"):
        assert answer is None


def test_every_call_answers_plain_arrays():
    logits, labels = weak_samples(120)
    for call in CALLS:
        if call != "AutoHead, features":  # which takes the logits as features of three classes
            assert arrays._answer(call, logits, labels, call) is not None, call


def test_all_values_are_what_they_say():
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 4
    made = {name: make(rng, 40, 4, labels) for name, make in VALUES.items()}
    assert all(values.shape == (40, 4) for values in made.values())
    assert np.abs(made["denormal"]).max() < np.finfo(float).tiny
    assert not (np.abs(made["too large"]) <= 1e100).all()
    assert (np.ptp(made["constant"], axis=0) == 0).all()


# ---- what the run found ----------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:100% of the samples are identical:UserWarning")
def test_samples_that_are_all_identical_are_too_few_to_choose_by():
    head = SPHClassifierCV({"certainty": [0.5, 0.9]}, cv=2, n_repeats=1)
    with pytest.raises(ValueError, match=r"^4 samples are too few to choose by, as all of them are held out at once"):
        head.fit(np.ones((4, 2)) * [1.0, -1.0], [0, 1, 0, 1])


@pytest.mark.parametrize("metric", ["balanced_accuracy", "macro_f1"])
def test_a_metric_of_classes_that_the_probabilities_rule_out_is_decided_plainly(metric):
    present = np.array([False, True])
    assert plug_in_rule(metric_objective(metric), np.array([[1.0, 0.0], [1.0, 0.0]]), present) is None


@pytest.mark.filterwarnings("ignore:.*identical:UserWarning")
def test_softmax_takes_samples_that_are_all_identical():
    head = SoftmaxClassifier().fit(np.ones((4, 2)) * [1.0, -1.0], [0, 1, 0, 1])
    assert np.isfinite(head.predict_proba([[1.0, -1.0]])).all()


def test_an_outlier_beyond_single_precision_neither_warns_nor_spoils_the_fit():
    logits, labels = weak_samples(400)
    logits[7] *= 1e90
    head = AutoHead(cv=2).fit(logits, labels)
    assert np.isfinite(head.predict_proba(logits)).all()
    others = np.arange(400) != 7
    softmax = (logits[others].argmax(axis=1) == labels[others]).mean()
    assert head.score(logits[others], labels[others]) >= softmax


def test_a_model_may_return_tensors_of_any_kind():
    torch = pytest.importorskip("torch")
    logits, labels = weak_samples(100)

    class Tensors(Network):
        def decision_function(self, X):
            return torch.tensor(X, requires_grad=True).to(torch.bfloat16)

    found = PostHocClassifier(Tensors(), SoftmaxClassifier(), cv=2).fit(logits, labels)
    assert found.predict(logits).shape == (100,)


def test_a_model_that_returns_complex_numbers_is_refused():
    logits, labels = weak_samples(100)

    class Complex(Network):
        def decision_function(self, X):
            return X + 1j

    with pytest.raises(ValueError, match=r"decision_function gives values of type complex128: real numbers are needed"):
        PostHocClassifier(Complex(), SoftmaxClassifier(), cv=2).fit(logits, labels)
