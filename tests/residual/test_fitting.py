"""All corrections together, and the compact head."""

import numpy as np
import pytest
from scipy.special import log_softmax

from aftermax._residual.fitting import fit_corrections, fit_softmax_temperature
from aftermax._residual.gaussian import GaussianCorrection
from aftermax._residual.head import compact
from aftermax._residual.kernel_ridge import KernelCorrection, rbf_kernel
from aftermax._residual.linear import LinearCorrection
from aftermax._residual.samples import Samples
from helpers.auto_heads import honest
from helpers.correction_samples import samples_of


def test_each_tier_has_the_corrections_of_the_one_before_and_more():
    heads = fit_corrections(samples_of(), 0)
    assert list(heads) == ["biases", "linear", "combination"]
    names = [one.name for one in heads["combination"].corrections]
    assert names == ["gaussian", "linear", "kernel", "kernel", "kernel"]
    assert not heads["biases"].stacking.weights[1:].any()
    assert not heads["linear"].stacking.weights[[1, 3, 4, 5]].any()
    for other in ("biases", "linear"):
        assert heads[other].corrections == heads["combination"].corrections
        assert heads[other].stacking.biases.any()


def test_with_features_there_is_a_combination_without_them():
    heads = fit_corrections(samples_of(features=np.random.default_rng(5).normal(size=(300, 12))), 0)
    assert list(heads) == ["biases", "linear", "combination", "combination without features"]
    names = [one.name for one in heads["combination"].corrections]
    assert names[5:] == ["gaussian of features", "linear of features"] + ["kernel of features"] * 3
    assert not heads["combination without features"].stacking.weights[6:].any()
    assert heads["combination without features"].stacking.weights[1:6].any()
    assert not heads["linear"].stacking.weights[[6, 8, 9, 10]].any()


def test_with_labels_that_say_nothing_softmax_is_what_remains():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2000, 4))
    codes = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)  # softmax is exactly right
    head = compact(fit_corrections(Samples(logits, codes, np.ones(2000)), 0)["combination"])
    new = rng.normal(size=(5000, 4))
    assert np.mean(head.scores([new]).argmax(axis=1) == new.argmax(axis=1)) > 0.93
    change = log_softmax(head.scores([new]), axis=1) - log_softmax(new, axis=1)
    assert np.abs(change).mean() < 0.1


def test_what_softmax_cannot_say_is_learned():
    """Two classes in rings around each other: no linear map of the logits tells them apart."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(1500, 3))
    codes = (np.square(logits).sum(axis=1) > 2.5).astype(np.int64)
    heads = fit_corrections(Samples(logits[:800], codes[:800], np.ones(800)), 0)
    right = {
        name: np.mean(compact(head).scores([logits[800:]]).argmax(axis=1) == codes[800:])
        for name, head in heads.items()
    }
    assert right["linear"] < 0.7
    assert right["combination"] > 0.93


def naive_scores(stacked, inputs):
    """The stacked scores, correction by correction, straight from their formulas."""
    base_scores = [inputs[0] / stacked.scale]
    for _, source, correction in stacked.corrections:
        projected = stacked.projections[source](inputs)
        match correction:
            case GaussianCorrection():
                base_scores.append(correction.scores(projected))
            case LinearCorrection():
                base_scores.append(projected @ correction.coefficients)
            case KernelCorrection(level, coefficients, intercepts):
                kernel = rbf_kernel(projected, stacked.centers[source][: len(coefficients)], level)
                base_scores.append(kernel @ coefficients + intercepts)
    return stacked.stacking.scores(base_scores)


@pytest.mark.parametrize("with_features", [False, True])
def test_the_compact_head_has_the_scores_of_the_stacked_corrections(with_features):
    features = np.random.default_rng(5).normal(size=(300, 12)) if with_features else None
    samples = samples_of(features=features)
    for stacked in fit_corrections(samples, 0).values():
        head = compact(stacked)
        np.testing.assert_allclose(head.scores(samples.inputs), naive_scores(stacked, samples.inputs), atol=1e-9)
        pairs = list(zip(stacked.corrections, stacked.stacking.weights[1:], strict=True))
        assert len(head.terms) == len({one.source for one, weight in pairs if weight})
        used = sum(one.name.startswith("kernel") and weight > 0 for one, weight in pairs)
        assert sum(terms.used.sum() for terms in head.terms) == used


def test_predictions_are_the_largest_scores_and_probabilities_their_softmax():
    samples = samples_of()
    head = compact(fit_corrections(samples, 0)["combination"])
    scores = head.scores(samples.inputs)
    np.testing.assert_array_equal(head.predict(samples.inputs), scores.argmax(axis=1))
    np.testing.assert_allclose(head.predict_proba(samples.inputs), np.exp(log_softmax(scores, axis=1)), rtol=1e-12)
    np.testing.assert_array_equal(head.predict_proba([samples.logits[:1]]), head.predict_proba(samples.inputs)[:1])


@pytest.mark.parametrize("trust", [0.25, 0.5, 0.75, 1.0])
def test_a_head_that_is_trusted_in_part_adds_that_share_of_its_correction_to_softmax(trust):
    samples = samples_of(features=np.random.default_rng(5).normal(size=(300, 12)))
    for stacked in fit_corrections(samples, 0).values():
        head = compact(stacked)
        softmax = samples.logits / 1.7
        expected = softmax + trust * (head.scores(samples.inputs) - softmax)
        mixed = head.mixed_with_softmax(1.7, trust)
        np.testing.assert_allclose(mixed.scores(samples.inputs), expected, rtol=1e-9, atol=1e-12)


def test_another_salt_draws_other_centers():
    samples = samples_of(n_samples=900)
    one, same, other = (fit_corrections(samples, salt)["combination"].centers[0] for salt in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


@pytest.mark.parametrize("columns", [1, 5])
def test_the_temperature_of_masked_logits_is_that_of_the_others(columns):
    logits, labels = honest(n_samples=2000)
    masked = np.column_stack([logits, np.full((2000, columns), -1e4)])
    plain, with_mask = (fit_softmax_temperature(Samples(values, labels, np.ones(2000))) for values in (logits, masked))
    assert with_mask == pytest.approx(plain, rel=0.02)
    assert plain == pytest.approx(1.0, rel=0.1)
