"""The data sets of the experiment on other models, and their draws."""

import numpy as np
import pytest

from experiments.other_models.data_sets import DataSet, Part, digits, image_segments, mnist_digits
from helpers.made_digits import dim_digits


def numbered(n_samples, first=0):
    """Samples that tell their own number, in three classes."""
    numbers = np.arange(first, first + n_samples)
    return Part(numbers[:, None].astype(np.float32), numbers % 3)


@pytest.mark.parametrize("held_out", [None, numbered(100, first=1_000)])
def test_no_sample_is_drawn_twice(held_out):
    data = DataSet("made", "made", numbered(200), few=12, many=60, n_validation=30, n_test=50, held_out=held_out)
    for size in data.sizes:
        parts = [part.features[:, 0] for part in data.draw(size, 0)]
        assert [len(part) for part in parts] == [size, 30, 50]
        assert len(np.unique(np.concatenate(parts))) == size + 80
        if held_out is not None:
            assert parts[0].max() < 200
            assert min(parts[1].min(), parts[2].min()) >= 1_000


def test_draws_differ_and_few_and_many_share_their_test_samples():
    data = DataSet("made", "made", numbered(200), few=12, many=60, n_validation=30, n_test=50)
    few, many, other = data.draw(12, 0), data.draw(60, 0), data.draw(12, 1)
    np.testing.assert_array_equal(few.test.features, many.test.features)
    np.testing.assert_array_equal(few.validation.features, many.validation.features)
    assert set(few.test.features.ravel()) != set(other.test.features.ravel())
    for part in (*few, *many):
        np.testing.assert_array_equal(part.features[:, 0] % 3, part.labels)


def test_standardising_knows_the_training_samples_only():
    data = DataSet("made", "made", numbered(200), few=12, many=60, n_validation=30, n_test=50, standardised=True)
    raw = DataSet("made", "made", numbered(200), few=12, many=60, n_validation=30, n_test=50).draw(60, 0)
    drawn = data.draw(60, 0)
    mean, deviation = raw.train.features.mean(), raw.train.features.std()
    for part, plain in zip(drawn, raw, strict=True):
        np.testing.assert_allclose(part.features, (plain.features - mean) / deviation, rtol=1e-5, atol=1e-6)


def test_the_data_sets_are_whole():
    pytest.importorskip("river")
    made = dim_digits()
    for data, n_features, n_classes in (
        (digits(), 64, 10),
        (image_segments(), 18, 7),
        (
            mnist_digits(
                made._replace(
                    train_images=np.tile(made.train_images, (6, 1)), train_labels=np.tile(made.train_labels, 6)
                )
            ),
            784,
            10,
        ),
    ):
        for size in data.sizes:
            draw = data.draw(size, 0)
            assert [part.features.shape for part in draw] == [
                (count, n_features) for count in (size, data.n_validation, data.n_test)
            ]
            for part in draw:
                assert set(part.labels) == set(range(n_classes))
                assert part.features.dtype == np.float32
                assert np.isfinite(part.features).all()
    assert len(image_segments().samples.labels) == 2_310
