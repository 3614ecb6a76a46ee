"""Weights of samples and classes in SPH: what they are equal to, and what they change."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from aftermax import ResponseArray, SPHClassifier, SPHClassifierCV
from aftermax._utils.comparison import Comparison
from aftermax.sph._fit import trusted_classes
from aftermax.sph._sweep_counts import COUNTS, SweepSamples, count_combinations
from aftermax.sph._weights import positive_weights
from aftermax.sph.choice import choose, net_wins
from aftermax.sph.grid import grid_blocks, grid_columns
from aftermax.sph.hyperparameters import HYPERPARAMETERS
from aftermax.sph.pooled_temperature import fit_temperature
from helpers.samples import make_samples, weak_samples

SMALL = {"certainty": [0.5, 0.7, 0.9, 1.0], "distance_power": [1.0, 2.0], "min_gain": [0.0, 0.1]}
KINDS = [{}, {"center": "median"}, {"veto_distance": 2.5, "window_high": 0.8, "min_gain": 0.05}]


def odd_weights(n_samples, seed=3):
    return np.random.default_rng(seed).gamma(0.5, size=n_samples) + 1e-3


def learnt(head):
    """All that a head has learnt, as arrays."""
    array = head.response_array_
    return [array.center, array.left, array.right, head.weights_, head.trusted_, head.temperature_]


# ---- SPHClassifier ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hyperparameters", KINDS)
@pytest.mark.parametrize("weight", [1.0, 0.1])
def test_equal_weights_are_as_good_as_none_to_the_last_bit(hyperparameters, weight):
    logits, labels = weak_samples(300)
    plain = SPHClassifier(**hyperparameters).fit(logits, labels)
    weighted = SPHClassifier(**hyperparameters).fit(logits, labels, sample_weight=np.full(300, weight))
    for one, other in zip(learnt(plain), learnt(weighted), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("hyperparameters", KINDS)
def test_samples_of_weight_0_are_left_out(hyperparameters):
    logits, labels = weak_samples(300)
    weights = odd_weights(300)
    weights[::3] = 0.0
    kept = weights > 0
    with_them = SPHClassifier(**hyperparameters).fit(logits, labels, sample_weight=weights)
    without = SPHClassifier(**hyperparameters).fit(logits[kept], labels[kept], sample_weight=weights[kept])
    for one, other in zip(learnt(with_them), learnt(without), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("center", ["mean", "median"])
def test_a_weight_of_3_counts_like_three_copies(center):
    logits, labels = weak_samples(300)
    times = 1 + np.arange(300) % 3
    weighted = ResponseArray.fit(logits, labels, center=center, sample_weight=times)
    repeated = ResponseArray.fit(logits.repeat(times, axis=0), labels.repeat(times), center=center)
    for name in ("center", "left", "right"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-12)
    heads = [
        SPHClassifier(center=center).fit(logits, labels, sample_weight=times),
        SPHClassifier(center=center).fit(logits.repeat(times, axis=0), labels.repeat(times)),
    ]
    np.testing.assert_array_equal(*(head.trusted_ for head in heads))
    np.testing.assert_array_equal(*(head.predict(logits) for head in heads))


def test_weights_change_predictions():
    logits, labels = weak_samples(300)
    plain = SPHClassifier().fit(logits, labels)
    weighted = SPHClassifier().fit(logits, labels, sample_weight=odd_weights(300))
    assert (plain.predict(logits) != weighted.predict(logits)).any()


def test_center_and_spreads_of_a_case_worked_by_hand():
    logits = [[1.0, 0.0], [2.0, 0.0], [6.0, 3.0], [0.0, 5.0], [0.0, 7.0]]
    array = ResponseArray.fit(logits, [0, 0, 0, 1, 1], sample_weight=[1.0, 2.0, 1.0, 5.0, 15.0])
    np.testing.assert_allclose(array.center, [[2.75, 0.75], [0.0, 6.5]])
    np.testing.assert_allclose(array.left[0], [np.sqrt((1.75**2 + 2 * 0.75**2) / 3), 0.75])
    np.testing.assert_allclose(array.right[0], [3.25, 2.25])
    np.testing.assert_allclose((array.left[1, 1], array.right[1, 1]), (1.5, 0.5))
    np.testing.assert_array_equal(array.counts, [3, 2])


@pytest.mark.parametrize(
    ("values", "weights", "expected"),
    [
        ([3.0, 1.0, 2.0], [1, 1, 3], 2.0),
        ([3.0, 1.0, 2.0], [1, 3, 1], 1.0),
        ([3.0, 1.0, 2.0], [1, 2, 1], 1.5),  # half of the weight on either side
        ([3.0, 1.0, 2.0, 9.0], [0.1, 0.3, 0.1, 0.4], 3.0),
    ],
)
def test_half_of_the_weight_lies_on_either_side_of_the_median(values, weights, expected):
    logits = np.column_stack([[*values, 0.0, 1.0], np.zeros(len(values) + 2)])
    labels = [0] * len(values) + [1, 1]
    array = ResponseArray.fit(logits, labels, center="median", sample_weight=[*weights, 1.0, 1.0])
    assert array.center[0, 0] == expected


def test_a_unit_that_always_responds_the_same_has_the_least_spread_also_with_weights():
    logits, labels = make_samples(n_samples=60, n_classes=3)
    logits[:, 1] = 0.1
    array = ResponseArray.fit(logits, labels, sample_weight=odd_weights(60))
    np.testing.assert_allclose(array.center[:, 1], 0.1)
    np.testing.assert_array_equal(array.left[:, 1], 1e-6)


def test_trust_compares_weighted_shares():
    codes, by_softmax, pooled = np.zeros(3, dtype=int), np.array([0, 1, 1]), np.array([1, 0, 0])
    assert trusted_classes(by_softmax, pooled, codes, 2, 0.0)[0]
    assert not trusted_classes(by_softmax, pooled, codes, 2, 0.0, np.array([1.0, 0.25, 0.5]))[0]
    assert not trusted_classes(by_softmax, pooled, codes, 2, 0.0, np.array([1.0, 0.5, 0.5]))[0]
    assert trusted_classes(by_softmax, pooled, codes, 2, 0.0, np.array([0.25, 0.5, 0.5]))[0]


def test_the_temperature_has_the_least_weighted_log_loss():
    rng = np.random.default_rng(0)
    scores = rng.gamma(2.0, size=(200, 3))
    codes, predictions = rng.integers(3, size=200), scores.argmin(axis=1)
    times = 1 + np.arange(200) % 4
    weighted = fit_temperature(scores, predictions, codes, times / 4)
    repeated = fit_temperature(*(values.repeat(times, axis=0) for values in (scores, predictions, codes)))
    assert weighted == pytest.approx(repeated, rel=0.01)
    assert weighted != pytest.approx(fit_temperature(scores, predictions, codes), rel=0.01)


def test_weights_of_classes_change_probabilities_and_no_prediction():
    logits, labels = weak_samples(300)
    plain = SPHClassifier().fit(logits, labels)
    by_class = SPHClassifier(class_weight={0: 7.0, 3: 0.3}).fit(logits, labels)
    np.testing.assert_array_equal(plain.predict(logits), by_class.predict(logits))
    np.testing.assert_array_equal(plain.response_array_.center, by_class.response_array_.center)
    assert plain.temperature_ != by_class.temperature_
    weights = np.array([7.0, 1.0, 1.0, 0.3, 1.0])[labels]
    by_sample = SPHClassifier().fit(logits, labels, sample_weight=weights)
    np.testing.assert_array_equal(by_class.predict_proba(logits), by_sample.predict_proba(logits))


@pytest.mark.parametrize("estimator", [SPHClassifier(), SPHClassifierCV(SMALL)])
@pytest.mark.parametrize(
    ("class_weight", "sample_weight", "message"),
    [
        (None, np.ones(3), r"sample_weight has shape \(3,\) but there are 60 samples"),
        (None, np.full(60, -1.0), "sample_weight holds -1.0 at row 0"),
        (None, np.zeros(60), "sample_weight is zero everywhere"),
        (None, np.arange(60) < 1, "All samples with non-zero sample_weight belong to one class"),
        ("even", None, "class_weight='even' is not known: use \"balanced\", a dict or None"),
        ({"owl": 2.0}, None, "class_weight names 'owl', not among the classes"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(estimator, class_weight, sample_weight, message):
    with pytest.raises(ValueError, match=message):
        estimator.set_params(class_weight=class_weight).fit(*weak_samples(60), sample_weight=sample_weight)


# ---- the sweep -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_weighted_counts_are_those_of_fitting_one_by_one(seed):
    logits, labels = weak_samples(200, seed)
    weights = positive_weights(odd_weights(200, seed))[1]
    first, last = slice(0, 120), slice(120, 200)
    fitted, evaluated = (SweepSamples.of(logits[part], labels[part], weights[part]) for part in (first, last))
    [block] = grid_blocks(SMALL | {"veto_distance": [np.inf, 2.5], "min_separation": [0.0, 0.5]})
    counts = count_combinations(fitted, evaluated, block).reshape(5, -1)
    columns, before = grid_columns([block]), evaluated.softmax == evaluated.codes
    for index in range(counts.shape[1]):
        hyperparameters = {name: columns[name][index].item() for name in HYPERPARAMETERS}
        head = SPHClassifier(**hyperparameters, classes=range(5))
        head.fit(logits[first], labels[first], sample_weight=weights[first])
        after = head.predict(logits[last]) == labels[last]
        pooled = head.route(logits[last]) == "pooled"
        sums = [weights[last][which].sum() for which in (after & ~before, before & ~after, pooled)]
        expected = [*sums, head.trusted_.sum(), np.square(weights[last][after != before]).sum()]
        np.testing.assert_allclose(counts[:, index], expected, rtol=1e-12)


def test_counts_with_weights_of_1_are_those_without():
    logits, labels = weak_samples(200)
    [block] = grid_blocks(SMALL)
    plain, weighted = (SweepSamples.of(logits, labels, weights) for weights in (None, np.ones(200)))
    expected, counts = count_combinations(plain, plain, block), count_combinations(weighted, weighted, block)
    np.testing.assert_array_equal(counts[: len(COUNTS)], expected)
    np.testing.assert_array_equal(counts[-1], expected[0] + expected[1])


# ---- SPHClassifierCV -------------------------------------------------------------------------------------------------


def test_the_choice_with_equal_weights_is_the_choice_without_to_the_last_bit():
    logits, labels = weak_samples(300)
    plain = SPHClassifierCV(SMALL).fit(logits, labels)
    weighted = SPHClassifierCV(SMALL).fit(logits, labels, sample_weight=np.full(300, 0.3))
    for name in ("gain_", "gain_interval_", "p_value_", "best_params_"):
        assert getattr(plain, name) == getattr(weighted, name)
    for name, column in plain.cv_results_.items():
        np.testing.assert_array_equal(column, weighted.cv_results_[name])
    np.testing.assert_array_equal(plain.predict_proba(logits), weighted.predict_proba(logits))


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_the_choice_leaves_samples_of_weight_0_out(class_weight):
    logits, labels = weak_samples(400)
    weights = odd_weights(400)
    weights[300:] = 0.0
    search = SPHClassifierCV(SMALL, class_weight=class_weight)
    with_them = search.fit(logits, labels, sample_weight=weights)
    results = with_them.cv_results_, with_them.held_out_, with_them.p_value_, with_them.predict_proba(logits)
    without = search.fit(logits[:300], labels[:300], sample_weight=weights[:300])
    np.testing.assert_array_equal(results[0]["wins"], without.cv_results_["wins"])
    np.testing.assert_array_equal(results[1][:300], without.held_out_)
    np.testing.assert_array_equal(results[1][300:], without.predict(logits[300:]))
    assert results[2] == without.p_value_
    np.testing.assert_array_equal(results[3], without.predict_proba(logits))


def test_the_gain_and_its_test_are_weighted():
    logits, labels = weak_samples(400)
    weights = odd_weights(400)
    head = SPHClassifierCV(SMALL).fit(logits, labels, sample_weight=weights)
    found = Comparison.of(logits.argmax(axis=1) == labels, head.held_out_ == labels, weights / weights.mean())
    assert not head.fell_back_
    assert head.gain_ == pytest.approx(found.selected_gain, rel=1e-6)
    assert head.p_value_ == pytest.approx(found.p_value, rel=1e-4)
    best = head.cv_results_["gain"][head.best_index_]
    net = head.cv_results_["wins"] - head.cv_results_["losses"]
    errors = (weights * (logits.argmax(axis=1) != labels)).sum() / weights.mean()
    assert best == pytest.approx(net[head.best_index_] / errors, rel=1e-6)


def test_neither_order_nor_jobs_change_a_weighted_choice():
    logits, labels = weak_samples(300)
    weights, order = odd_weights(300), np.random.default_rng(0).permutation(300)
    one = SPHClassifierCV(SMALL).fit(logits, labels, sample_weight=weights)
    other = SPHClassifierCV(SMALL, n_jobs=1).fit(logits[order], labels[order], sample_weight=weights[order])
    for name, column in one.cv_results_.items():
        np.testing.assert_array_equal(column, other.cv_results_[name])
    np.testing.assert_array_equal(one.held_out_[order], other.held_out_)
    np.testing.assert_array_equal(one.predict(logits), other.predict(logits))


def imbalanced(n_samples, seed):
    """The logits are the true log-odds: no head makes fewer errors, but one can lose fewer of the rare classes."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, p=[0.8, 0.1, 0.1], size=n_samples)
    points = 1.5 * np.eye(3)[labels] + rng.normal(size=(n_samples, 3))
    return 1.5 * points + np.log([0.8, 0.1, 0.1]), labels


def test_balanced_weights_choose_for_balanced_accuracy():
    plain = SPHClassifierCV(SMALL).fit(*imbalanced(1000, 1))
    balanced = SPHClassifierCV(SMALL, class_weight="balanced").fit(*imbalanced(1000, 1))
    logits, labels = imbalanced(5000, 2)
    of_plain, of_balanced = (balanced_accuracy_score(labels, head.predict(logits)) for head in (plain, balanced))
    assert (plain.fell_back_, balanced.fell_back_) == (True, False)
    assert of_balanced > of_plain + 0.1


def test_the_standard_error_of_the_choice_is_that_of_weighted_samples():
    changes = np.array([2.0, 2.0, 0.5, -0.5, 0.0, 0.0])
    table = {"wins": np.array([4.5]), "losses": np.array([0.5]), "squares": np.array([8.5])}
    net, error = net_wins(table, len(changes))
    assert (net[0], error[0]) == (changes.sum(), pytest.approx(np.sqrt(len(changes) * changes.var())))
    # The same sums by a few heavy samples are worth less: the best is not so certain to be better than the simplest.
    sums = {"wins": np.array([20.0, 0.0]), "losses": np.array([5.0, 0.0]), "departures": np.array([3, -1])}
    assert choose(sums | {"squares": np.array([25.0, 0.0])}, 1000) == 0
    assert choose(sums | {"squares": np.array([250.0, 0.0])}, 1000) == 1
