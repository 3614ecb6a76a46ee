"""SPH fitted over chunks is the head that is fitted on all samples at once, to rounding."""

from functools import reduce
from operator import add

import numpy as np
import pytest

from aftermax import SPHClassifier
from aftermax.sph import chunked_fit
from aftermax.sph.chunked_fit import fit_sph_over_chunks
from aftermax.sph.hyperparameters import HYPERPARAMETERS
from helpers.samples import make_samples


def over_chunks(logits, codes, ends):
    """The sum over the chunks that end there of any statistic."""
    chunks = list(zip(np.split(logits, ends), np.split(codes, ends), strict=True))
    return lambda function: reduce(add, (function(*chunk) for chunk in chunks))


def fitted_both_ways(logits, codes, ends, **hyperparameters):
    head = SPHClassifier(classes=np.arange(logits.shape[1]), **hyperparameters)
    values = {name: getattr(head, name) for name in HYPERPARAMETERS}
    chunked = fit_sph_over_chunks(over_chunks(logits, codes, ends), np.arange(logits.shape[1]), values)
    return head.fit(logits, codes).fitted_head_, chunked


def assert_same(expected, found):
    for name in ("center", "left", "right", "counts"):
        np.testing.assert_allclose(
            getattr(found.response_array, name), getattr(expected.response_array, name), rtol=1e-15, atol=0
        )
    np.testing.assert_allclose(found.separation, expected.separation, rtol=1e-14)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-14)
    np.testing.assert_array_equal(found.trusted, expected.trusted)
    assert found.temperature == pytest.approx(expected.temperature, rel=1e-12)
    assert found.hyperparameters == expected.hyperparameters


@pytest.mark.parametrize(
    "hyperparameters",
    [
        {},
        {"center": "median"},
        {"window_low": 0.3, "window_high": 0.8, "min_gain": -0.2},
        {"center": "median", "window_high": 0.7, "veto_distance": 3.0, "certainty": 0.99},
    ],
)
def test_chunks_make_no_difference(hyperparameters):
    logits, codes = make_samples(n_samples=3001)
    expected, found = fitted_both_ways(logits, codes, [1, 700, 701, 2500], **hyperparameters)
    assert expected.trusted.any()
    assert_same(expected, found)


def test_few_samples_are_fitted_together():
    logits, codes = make_samples(n_samples=300)
    assert_same(*fitted_both_ways(logits, codes, [100]))


def test_logits_with_few_different_values_and_a_class_without_samples():
    """As of a tree: many samples are equal, also across chunks, and medians are between equal values."""
    logits, codes = make_samples(n_samples=4000, n_classes=4)
    few = np.round(logits)
    few[:50, 1] = -0.0
    kept = codes != 3
    for center in ("mean", "median"):
        assert_same(*fitted_both_ways(few[kept], codes[kept], [1000, 1500], center=center))


def test_large_offsets_do_not_cost_precision():
    logits, codes = make_samples(n_samples=2000)
    assert_same(*fitted_both_ways(logits + 1e8, codes, [333, 334, 1800]))


def test_the_temperature_is_that_of_the_same_samples_where_they_are_very_many(monkeypatch):
    monkeypatch.setattr("aftermax.sph._fit.MAX_SAMPLES_FOR_TEMPERATURE", 100)
    monkeypatch.setattr(chunked_fit, "MAX_SAMPLES_FOR_TEMPERATURE", 100)
    logits, codes = make_samples(n_samples=4000)
    for values in (logits, np.round(logits, 1), np.round(logits)):
        assert_same(*fitted_both_ways(values, codes, [1000, 2500]))


def test_of_more_pooled_samples_than_fit_into_memory_a_random_part_gives_the_temperature(monkeypatch):
    logits, codes = make_samples(n_samples=20_000)
    monkeypatch.setattr(chunked_fit, "MAX_KEYS", 2000)
    expected, found = fitted_both_ways(logits, codes, [5000])
    assert found.temperature != expected.temperature
    assert found.temperature == pytest.approx(expected.temperature, rel=0.2)
