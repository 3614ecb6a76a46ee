"""Samples of arrays, data frames, sparse matrices and lists."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from aftermax._utils.indexing import count_samples, select_metadata, select_samples

VALUES = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("as_container", [np.asarray, pd.DataFrame, sparse.csr_matrix, np.ndarray.tolist])
def test_samples_are_counted_and_selected_in_any_container(as_container):
    container = as_container(VALUES)
    selected = select_samples(container, np.array([2, 0]))
    assert count_samples(container) == 4
    assert type(selected) is type(container)
    dense = selected.toarray() if sparse.issparse(selected) else np.asarray(selected)
    np.testing.assert_array_equal(dense, VALUES[[2, 0]])


def test_only_metadata_with_a_value_for_each_sample_is_selected():
    selected = select_metadata({"sample_weight": [1, 2, 3, 4], "other": [1, 2], "flag": True}, np.array([3]), 4)
    assert selected == {"sample_weight": [4], "other": [1, 2], "flag": True}
