"""Cost matrices: reordered by name, gains allowed, and what cannot be decided by refused with a reason."""

import numpy as np
import pandas as pd
import pytest

from aftermax.decide.costs import as_costs

CLASSES = np.array(["ham", "spam", "other"])
COSTS = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 0.0]])


def test_a_plain_matrix_is_in_the_order_of_the_classes_and_copied():
    found = as_costs(COSTS.astype(int).tolist(), CLASSES)
    np.testing.assert_array_equal(found, COSTS)
    assert as_costs(COSTS, CLASSES) is not COSTS


def test_a_data_frame_is_reordered_by_its_names():
    frame = pd.DataFrame(COSTS, index=CLASSES, columns=CLASSES).loc[["other", "ham", "spam"], ["spam", "other", "ham"]]
    np.testing.assert_array_equal(as_costs(frame, CLASSES), COSTS)
    numbered = pd.DataFrame(COSTS, index=["0", "1", "2"], columns=[0, 1, 2]).iloc[::-1]
    np.testing.assert_array_equal(as_costs(numbered, np.arange(3)), COSTS)


def test_gains_are_negative_costs():
    assert as_costs(-COSTS, CLASSES).min() == -6.0


@pytest.mark.parametrize("shape", [(2, 2), (3,), (3, 2), (1, 3, 3)])
def test_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match=r"costs has shape .* but there are 3 classes \('ham', 'spam', 'other'\)"):
        as_costs(np.arange(np.prod(shape), dtype=float).reshape(shape), CLASSES)


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        (["ham", "spam", "eggs"], CLASSES, r"rows of costs do not fit .*: missing: 'other'; no class: 'eggs'"),
        (CLASSES, ["ham", "spam", "spam"], r"columns of costs do not fit .*: named twice: 'spam'; missing: 'other'"),
    ],
)
def test_names_that_are_not_the_classes_are_refused(rows, columns, message):
    with pytest.raises(ValueError, match=message):
        as_costs(pd.DataFrame(COSTS, index=rows, columns=columns), CLASSES)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_costs_that_are_no_numbers_are_refused_with_their_place(bad):
    broken = COSTS.copy()
    broken[1, 2] = bad
    with pytest.raises(ValueError, match=f"costs holds {bad} for the true class spam and the decision other"):
        as_costs(broken, CLASSES)
    with pytest.raises(ValueError, match="costs does not hold numbers"):
        as_costs([["a", "b"], ["c", "d"]], CLASSES[:2])


@pytest.mark.parametrize("costs", [np.zeros((3, 3)), np.ones((3, 3)), np.array([[1.0], [2.0], [3.0]]) * np.ones(3)])
def test_costs_that_are_the_same_for_every_decision_are_refused(costs):
    with pytest.raises(ValueError, match="there is nothing to decide"):
        as_costs(costs, CLASSES)
