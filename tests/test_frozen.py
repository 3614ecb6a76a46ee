"""Predictions that were frozen before the modules moved into folders are the same today."""

import warnings

import numpy as np
import pytest

from frozen.cases import CASES, FROZEN, predicted

CLOSE = 1e-5  # processors round differently: between one with AVX2 and one with AVX512, up to 1e-6 was seen


@pytest.mark.parametrize("name", CASES)
def test_predictions_are_those_that_were_frozen(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of rare classes
        found = predicted(name)
    with np.load(FROZEN, allow_pickle=False) as frozen:
        expected = {part: frozen[f"{name}.{part}"] for part in found}
    for part in ("predictions", "chosen", "out_of_fold"):
        np.testing.assert_array_equal(found[part], expected[part], err_msg=part)
    for part in ("probabilities", "report"):
        np.testing.assert_allclose(found[part], expected[part], rtol=0, atol=CLOSE, err_msg=part)
