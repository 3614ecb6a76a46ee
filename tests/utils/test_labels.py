"""Labels that are refused or warned of, each with a message that says what was wrong, where, and what to do."""

import warnings

import numpy as np
import pandas as pd
import pytest

from aftermax import ResponseArray, SPHClassifier
from helpers.samples import make_samples

LOGITS, LABELS = make_samples(n_samples=100, n_classes=4)


def test_labels_that_are_not_classes_are_named():
    labels = np.array([*"abcd"] * 25)
    labels[7] = "B"
    for columns, classes in ((LOGITS, list("abcd")), (pd.DataFrame(LOGITS, columns=list("abcd")), None)):
        with pytest.raises(ValueError, match=r"of the labels but not 'B': |^labels hold 'B', not among the classes"):
            SPHClassifier(classes=classes).fit(columns, labels)


def test_one_class_only_is_refused():
    with pytest.raises(ValueError, match="labels hold one class only, 2: at least two classes need samples"):
        SPHClassifier().fit(LOGITS, np.full(100, 2))
    for classes in (None, list("abcd")):
        with pytest.raises(ValueError, match="labels hold one class only, 'a'"):
            SPHClassifier(classes=classes).fit(LOGITS, np.full(100, "a"))


@pytest.mark.parametrize("labels", [LABELS + 1, LABELS - 1, np.where(LABELS == 2, 7, LABELS)])
def test_labels_outside_named_columns_are_refused(labels):
    with pytest.raises(ValueError, match=r"labels hold (4|-1|7), not among the classes of the columns \(0, 1, 2, 3\)"):
        SPHClassifier(classes=range(4)).fit(LOGITS, labels)


def test_more_classes_than_columns_are_refused():
    labels = LABELS.copy()
    labels[0] = -1
    with pytest.raises(ValueError, match=r"5 classes but logits have 4 columns.*drop.*The rarest labels are -1, "):
        SPHClassifier().fit(LOGITS, labels)


def test_fewer_names_than_columns_ask_for_classes():
    with pytest.raises(ValueError, match=r"4 columns but labels hold 3 classes.*classes=\[\.\.\.\] in Python"):
        SPHClassifier().fit(LOGITS, np.array(["a", "b", "c", "a"])[LABELS])


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (range(3), r"classes has shape \(3,\) but logits have 4 columns"),
        ([[0, 1, 2, 3]], r"classes has shape \(1, 4\)"),
        ("abcd", r"classes has shape \(\) .* pass a list that names the class of each column"),
        ([0, 1, 2, 2], "classes names 2 more than once"),
    ],
)
def test_classes_must_name_each_column_once(classes, message):
    with pytest.raises(ValueError, match=message):
        SPHClassifier(classes=classes).fit(LOGITS, LABELS)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        (LABELS[:-1], "logits have 100 samples but there are 99 labels"),
        (np.where(np.arange(100) == 9, np.nan, LABELS), "contains NaN or None at row 9: drop the samples"),
        ([None, *LABELS[1:].tolist()], "contains NaN or None at row 0"),
        (LABELS + 0.37, "Unknown label type: .* at row 0 is not a class"),
        (np.where(np.arange(100) == 9, np.inf, LABELS), "Unknown label type: inf at row 9 is not a class"),
        (pd.Series(["a", "b", pd.NA, "d"] * 25, dtype="string"), "contains NaN or None at row 2"),
        (np.array([1, "a"] * 50, dtype=object), "labels mix int, str. Make them all strings"),
        (np.eye(4)[LABELS], r"1d array.*one-hot labels pass labels.argmax\(axis=1\)"),
    ],
)
def test_invalid_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        SPHClassifier().fit(LOGITS, labels)


def test_columns_in_another_order_than_the_labels_are_warned_of():
    logits, labels = make_samples(n_samples=200, n_classes=4, home=4.0)
    names = np.array(["3", "10", "2", "1"])[labels]
    hint = (
        r"agrees with the label on only \d+% of the samples; .* right on 9\d% if .* another order.*classes=\[\.\.\.\]"
    )
    with pytest.warns(UserWarning, match=hint):
        SPHClassifier().fit(logits, names)
    with pytest.warns(UserWarning, match=hint):
        ResponseArray.fit(logits, names)
    SPHClassifier(classes=["3", "10", "2", "1"]).fit(logits, names)


@pytest.mark.parametrize(
    ("labels", "columns"),
    [
        ([-1, 0, 1], [1, 2, 0]),  # the columns of 0, 1, -1, as by an index from the end
        ([0, 1, 2], [2, 0, 1]),
        ([1, 2, 3], [2, 1, 0]),
    ],
)
@pytest.mark.parametrize("n_samples", [30, 200])
def test_shifted_columns_are_warned_of_also_with_few_samples(labels, columns, n_samples):
    logits, codes = make_samples(n_samples=n_samples, n_classes=3, home=5.0)
    names = np.array(labels)
    np.testing.assert_array_equal(SPHClassifier().fit(logits, names[codes]).classes_, names)
    with pytest.warns(UserWarning, match="if the columns were in another order"):
        SPHClassifier().fit(logits[:, columns], names[codes])


def test_labels_that_start_at_another_number_than_the_columns_are_warned_of():
    """Of the classes -1, 0 and 1, the samples lack -1, so the columns are taken for 0, 1 and 2."""
    logits, codes = make_samples(n_samples=200, n_classes=3, home=5.0)
    with pytest.warns(UserWarning, match="agrees with the label on only 0% of the samples"):
        SPHClassifier().fit(logits[codes > 0], codes[codes > 0] - 1)


@pytest.mark.parametrize(("moved", "names"), [([3, 7], "3, 7"), ([1, 4, 8], "1, 4, 8")])
def test_a_few_swapped_columns_among_many_are_warned_of(moved, names):
    logits, codes = make_samples(n_samples=300, n_classes=10, home=5.0)
    logits[:, moved] = logits[:, np.roll(moved, 1)]
    hint = rf"on only \d% of the samples of {names}; it would be right on (9\d|100)% if their columns were swapped"
    with pytest.warns(UserWarning, match=hint):
        SPHClassifier().fit(logits, codes)


def test_classes_that_are_taken_for_another_one_are_not_warned_of():
    """Class 3 is always taken for 7, and 1 for 4: their own columns are never largest, but nobody has swapped them."""
    logits, codes = make_samples(n_samples=300, n_classes=10, home=5.0)
    for one, other in ((3, 7), (1, 4)):
        logits[codes == one, other] += 10.0
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*never predicts")
        SPHClassifier().fit(logits, codes)


def test_a_column_that_is_no_response_is_warned_of():
    logits, labels = make_samples(n_samples=200, n_classes=4)
    with_number = np.column_stack([logits, 1000 + np.arange(200)])
    with pytest.warns(UserWarning, match="agrees with the label on only .*; chance alone would be right on 20%"):
        SPHClassifier().fit(with_number, labels)


def test_a_weak_model_and_noise_are_not_warned_of():
    for seed in range(20):
        logits, labels = make_samples(seed, n_samples=100, n_classes=5, home=1.5, noise=2.0)
        SPHClassifier().fit(logits, labels)
        SPHClassifier().fit(np.random.default_rng(seed).normal(size=logits.shape), labels)


def test_headings_that_name_some_labels_only_are_refused():
    frame = pd.DataFrame(LOGITS, columns=["d", "a", "b", "sea"])
    with pytest.raises(
        ValueError, match=r"headings .* name some of the labels but not 'c'.*rename.*classes=\[\.\.\.\]"
    ):
        SPHClassifier().fit(frame, np.array(list("abcd"))[LABELS])


def test_headings_that_contradict_classes_are_refused():
    frame = pd.DataFrame(LOGITS, columns=list("dabc"))
    with pytest.raises(ValueError, match=r"classes=\('a', 'b', 'c', 'd'\) .* headings .*'d', 'a', 'b', 'c'"):
        SPHClassifier(classes=list("abcd")).fit(frame, np.array(list("abcd"))[LABELS])


def test_more_classes_than_half_the_samples_are_not_warned_of():
    logits, labels = make_samples(n_samples=30, n_classes=25)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SPHClassifier(classes=range(25)).fit(logits, labels)
