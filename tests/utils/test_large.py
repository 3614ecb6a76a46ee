"""Many logits: kept as they came, and computed with chunk by chunk."""

import numpy as np
import pytest

from aftermax._heads.reference import Reference
from aftermax._utils import large
from aftermax._utils.folds import row_hashes
from aftermax._utils.labelled_samples import labelled_samples
from aftermax._utils.large import are_many, are_usable, as_floats, predicted_columns
from aftermax._utils.softmax import softmax_certainty

N_CLASSES = 300
LABELS = np.arange(900) % N_CLASSES
LOGITS = np.random.default_rng(0).normal(size=(900, N_CLASSES)) + 4 * np.eye(N_CLASSES)[LABELS]
PRECISIONS = [np.float16, np.float32, np.float64]


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(large, "VALUES_PER_CHUNK", 7 * N_CLASSES)


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 65504.0, -65504.0, 0.0, -0.0, 1e-7])
def test_infinite_values_and_nan_are_found_in_every_precision(dtype, value):
    values = np.zeros((4, 6), dtype)
    values[2, 3] = value
    for some in (values, values[:, ::3], values.T, np.asfortranarray(values)):
        assert are_usable(some) == np.isfinite(value)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_many_logits_are_not_copied(dtype):
    given = LOGITS.astype(dtype)
    checked = labelled_samples(given, LABELS, any_precision=True).logits
    assert checked.dtype == dtype
    assert np.shares_memory(checked, given)


def test_logits_in_a_file_stay_there(tmp_path):
    np.save(tmp_path / "logits.npy", LOGITS.astype(np.float16))
    given = np.load(tmp_path / "logits.npy", mmap_mode="r")
    checked = labelled_samples(given, LABELS, any_precision=True).logits
    assert np.shares_memory(checked, given)
    assert checked.dtype == np.float16


def test_few_logits_are_computed_with_in_float64():
    given = LOGITS[:, :10].astype(np.float32)
    assert labelled_samples(given, LABELS % 10, any_precision=True).logits.dtype == np.float64


def test_those_who_cannot_do_with_less_get_float64():
    assert labelled_samples(LOGITS.astype(np.float16), LABELS).logits.dtype == np.float64


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64, np.uint8, np.bool_, np.longdouble])
def test_other_numbers_become_floats_of_the_same_value(dtype):
    given = np.arange(6).reshape(2, 3).astype(dtype)
    assert as_floats(given).dtype in PRECISIONS
    np.testing.assert_array_equal(as_floats(given), given.astype(np.float64))


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_a_value_that_is_not_finite_is_found_in_a_later_chunk(dtype, small_chunks):
    bad = LOGITS.astype(dtype)
    bad[611, 5] = np.nan
    with pytest.raises(ValueError, match="logits contain NaN at row 611, column 5"):
        labelled_samples(bad, LABELS, any_precision=True)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_what_is_computed_in_chunks_is_the_same_to_the_last_bit(dtype, small_chunks):
    given = LOGITS.astype(dtype)
    whole = given.astype(np.float64)
    relative = whole - whole.mean(axis=1, keepdims=True)
    reference = Reference.of(given)
    assert reference.logit_means == tuple(relative.mean(axis=0).tolist())
    assert reference.logit_deviations == tuple(relative.std(axis=0).tolist())
    assert reference == Reference.of(whole)
    np.testing.assert_array_equal(predicted_columns(given), whole.argmax(axis=1))
    np.testing.assert_array_equal(softmax_certainty(given), softmax_certainty(whole))
    np.testing.assert_array_equal(row_hashes(given), row_hashes(whole))


def test_rows_that_are_hashed_in_chunks_have_the_same_hashes(monkeypatch):
    from aftermax._utils import folds

    expected = row_hashes(LOGITS)
    monkeypatch.setattr(folds, "VALUES_PER_HASHING", 7 * N_CLASSES)
    np.testing.assert_array_equal(row_hashes(LOGITS), expected)


def test_many_are_more_than_256_classes_or_20_million_logits():
    assert are_many((1, 257))
    assert not are_many((1000, 256))
    assert are_many((2_000_001, 10))
    assert not are_many((2_000_000, 10))
