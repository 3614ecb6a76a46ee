"""audit: out-of-fold counts, input that is refused, warnings."""

import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import aftermax
from aftermax import AutoHead, SPHClassifier, audit
from aftermax._utils.comparison import Comparison
from aftermax._utils.softmax import softmax
from helpers.audits import small_search
from helpers.samples import make_samples, weak_samples

NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])


def scaled_regression():
    return make_pipeline(StandardScaler(), LogisticRegression())


def assert_counted_from(result, predicted, logits, labels):
    """Every count again, the slow way."""
    softmax_predicted = logits.argmax(axis=1)
    wins, losses = (
        np.sum((softmax_predicted != labels) & (predicted == labels)),
        np.sum((softmax_predicted == labels) & (predicted != labels)),
    )
    errors = np.sum(softmax_predicted != labels)
    assert (result.rows, result.wins, result.losses) == (len(labels), wins, losses)
    assert result.errors == (errors, np.sum(predicted != labels))
    assert result.error_before == np.mean(softmax_predicted != labels)
    assert result.error_after == np.mean(predicted != labels)
    low, high = result.gain_interval
    assert low <= result.gain <= high
    for name, *counts in result.by_class:
        of_class = labels == name
        won = of_class & (softmax_predicted != labels) & (predicted == labels)
        lost = of_class & (softmax_predicted == labels) & (predicted != labels)
        assert counts == [of_class.sum(), (of_class & (softmax_predicted != labels)).sum(), won.sum(), lost.sum()]
    cells = {
        (i, j): (np.sum((labels == i) & (softmax_predicted == j)), np.sum((labels == i) & (predicted == j)))
        for i in result.classes
        for j in result.classes
        if i != j
    }
    for true, taken_for, before, after in result.pairs:
        assert cells[true, taken_for] == (before, after)
    np.testing.assert_allclose(result.class_shares, [np.mean(labels == name) for name in result.classes])
    assert (result.weighted, result.groups) == (False, None)
    drops = sorted((before - after for before, after in cells.values() if before > after), reverse=True)
    assert [one.before - one.after for one in result.pairs] == drops[:10]


def test_an_auto_head_is_fitted_once_and_its_out_of_fold_predictions_are_counted(by_auto_head):
    logits, labels = weak_samples(300)
    head = AutoHead().fit(logits, labels)
    result = by_auto_head
    assert_counted_from(result, head.held_out_, logits, labels)
    assert result.gain == head.gain_ > 0.1
    for name in ("chosen", "trust", "proven", "p_value", "gain_interval", "gain_prediction_interval"):
        assert getattr(result, name) == getattr(head, f"{name}_"), name
    assert str(result.candidates) == str(head.candidates_)
    assert result.classes == (0, 1, 2, 3, 4)
    np.testing.assert_array_equal(result.head.predict(logits), head.predict(logits))


def test_a_search_that_falls_back_is_softmax():
    logits, labels = weak_samples(300)
    for alpha, chosen in ((0.05, "sph"), (0.0, "softmax")):
        search = small_search(alpha=alpha)
        result = audit(logits, labels, search)
        fitted = search.fit(logits, labels)
        predicted = fitted.held_out_ if chosen == "sph" else logits.argmax(axis=1)
        assert_counted_from(result, predicted, logits, labels)
        assert (result.chosen, result.proven, result.candidates) == (chosen, chosen == "sph", None)
        assert (result.gain, result.p_value) == (fitted.gain_, fitted.p_value_)


@pytest.mark.filterwarnings("ignore:softmax is right on")
def test_where_softmax_is_kept_before_and_after_are_the_same():
    logits, labels = weak_samples(n_samples=150)
    for head in (AutoHead(cv=2, alpha=0.0, only_proven=True), small_search(alpha=0.0)):
        result = audit(logits, labels, head)
        assert (result.chosen, result.proven) == ("softmax", False)
        assert (result.wins, result.losses, result.pairs, result.tangled) == (0, 0, (), ())
        assert result.error_after == result.error_before == np.mean(logits.argmax(axis=1) != labels)
        assert (result.gain, result.gain_interval, result.gain_prediction_interval) == (0.0, (0.0, 0.0), (0.0, 0.0))
        assert result.p_value < 0.001  # of what was not allowed
        assert result.verdict.startswith("Not proven: ")


# ---- weights, groups, class proportions ------------------------------------------------------------------------------


class Constant(ClassifierMixin, BaseEstimator):
    """Predicts class 1, whatever it was fitted on; remembers its weights and groups."""

    def fit(self, X, y, sample_weight=None, groups=None):
        self.classes_, self.weights_, self.groups_ = np.unique(y), sample_weight, groups
        return self

    def predict(self, X):
        return np.ones(len(X), dtype=int)


def test_weights_are_counted_and_passed_on_to_heads_that_take_them():
    logits, labels = weak_samples(300)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 4.0], size=300)
    result = audit(logits, labels, Constant(), sample_weight=weights)
    before, after = logits.argmax(axis=1) == labels, labels == 1
    assert result.weighted
    assert result.error_before == pytest.approx(np.average(~before, weights=weights))
    assert result.error_after == pytest.approx(np.average(~after, weights=weights))
    assert result.p_value == Comparison.of(before, after, weights).p_value
    assert (result.wins, result.losses) == (np.sum(after & ~before), np.sum(before & ~after))  # plain counts
    np.testing.assert_array_equal(result.head.weights_, weights)


def test_groups_are_counted_and_passed_on_to_heads_that_take_them():
    logits, labels = weak_samples(300)
    groups = np.arange(300) // 3
    result = audit(logits, labels, Constant(), groups=[f"patient {one}" for one in groups])
    assert result.groups == 100
    expected = Comparison.of(logits.argmax(axis=1) == labels, labels == 1, groups=groups)
    assert (result.p_value, result.gain) == (expected.p_value, expected.gain)
    assert "in 100 groups" in result.verdict
    assert len(np.unique(result.head.groups_)) == 100


def test_groups_are_held_out_as_a_whole():
    logits, labels = weak_samples(300)
    logits[:, 0] = np.repeat(logits[::3, 0], 3)  # the same for all of a group: Counting knows it if it saw one of them
    groups = np.arange(300) // 3
    together, apart = (audit(logits, labels, Counting(), groups=some) for some in (groups, None))
    assert together.errors[1] == np.sum(labels != 1)
    assert apart.errors[1] != together.errors[1]


def test_the_audit_is_about_the_class_proportions_that_were_asked_for():
    logits, labels = weak_samples(300)
    prior = [0.5, 0.2, 0.1, 0.1, 0.1]
    result = audit(logits, labels, Constant(), class_prior=prior)
    np.testing.assert_allclose(result.class_shares, prior)
    recalls = np.array([one.recall[0] for one in result.by_class])
    assert result.error_before == pytest.approx(1 - recalls @ prior)
    assert result.error_after == pytest.approx(0.8)
    balanced = audit(logits, labels, Constant(), class_weight="balanced")
    np.testing.assert_allclose(balanced.class_shares, 0.2)
    assert balanced.error_before == pytest.approx(1 - recalls.mean())


@pytest.mark.filterwarnings("ignore:softmax is right on")
def test_samples_that_splits_never_hold_out_are_not_counted():
    logits, labels = weak_samples(300)
    splits = [(np.arange(100), np.arange(100, 200)), (np.arange(200), np.arange(200, 250))]
    for head in (Constant(), AutoHead(cv=splits)):
        result = audit(logits, labels, head, cv=splits)
        assert result.rows == sum(one.rows for one in result.by_class) == 150
        assert result.errors[0] == np.sum(logits[100:250].argmax(axis=1) != labels[100:250])


class Counting(ClassifierMixin, BaseEstimator):
    """Remembers the samples that it was fitted on, and predicts 0 for these and 1 for others."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = set(X[:, 0].tolist())
        return self

    def predict(self, X):
        return np.array([0 if value in self.seen_ else 1 for value in X[:, 0].tolist()])


def test_any_other_head_is_cross_validated_on_copies_and_fitted_on_all_samples():
    logits, labels = weak_samples(300)
    head = Counting()
    result = audit(logits, labels, head)
    assert_counted_from(result, np.ones(300), logits, labels)
    assert not hasattr(head, "seen_")
    assert result.head.seen_ == set(logits[:, 0].tolist())
    assert (result.chosen, result.proven, result.trust) == ("Counting", None, None)
    expected = Comparison.of(logits.argmax(axis=1) == labels, labels == 1)
    assert (result.gain, result.p_value) == (expected.gain, expected.p_value)
    assert (result.gain_interval, result.gain_prediction_interval) == expected.intervals()


def test_a_fitted_head_is_fitted_again():
    logits, labels = weak_samples(300)
    head = Counting().fit(logits, labels)
    assert_counted_from(audit(logits, labels, head), np.ones(300), logits, labels)
    ours = small_search().fit(logits, labels)
    with pytest.warns(UserWarning, match=r"is fitted already, and audit fits a copy .* use aftermax\.check"):
        audit(logits[:200], labels[:200], ours)
    assert len(ours.held_out_) == 300


def test_a_plain_scikit_learn_head_with_string_labels_and_a_data_frame():
    logits, labels = weak_samples(300)
    ours = audit(logits, labels, scaled_regression())
    assert ours.verdict.startswith("Yes: ")
    frame = pd.DataFrame(logits, columns=NAMES)
    result = audit(frame, NAMES[labels].tolist(), scaled_regression())
    assert result.classes == tuple(NAMES)
    assert [one[1:] for one in result.by_class] == [one[1:] for one in ours.by_class]
    assert result.head.feature_names_in_.tolist() == NAMES.tolist()
    assert set(result.head.predict(frame)) <= set(NAMES)
    assert {one.true for one in result.pairs} <= set(NAMES)


def test_two_classes():
    logits, labels = make_samples(n_classes=2, home=1.0, n_samples=200)
    result = audit(logits + np.array([2.0, 0.0]), np.array(["no", "yes"])[labels], small_search())
    assert result.wins > result.losses
    assert [(one.true, one.taken_for) for one in result.pairs] == [("yes", "no")]


@pytest.mark.parametrize(
    "head",
    [
        SPHClassifier(),
        scaled_regression(),
        GridSearchCV(SPHClassifier(), {"certainty": [0.5, 0.9]}, cv=2),
    ],
)
@pytest.mark.filterwarnings("ignore:.*least populated class")
def test_classes_that_a_fold_lacks_or_all_samples_lack_do_not_break_it(head):
    logits, labels = weak_samples(300)
    keep = (labels > 1) | (np.cumsum(labels == 1) * (labels == 1) == 1)  # one sample of class 1, none of class 0
    result = audit(logits[keep], NAMES[labels[keep]], head, classes=NAMES)
    assert [one.rows for one in result.by_class[:2]] == [0, 1]
    assert result.rows == keep.sum()
    assert np.isfinite(result.gain)


def test_softmax_predicts_where_only_one_class_is_left_to_fit_on():
    logits = np.array([[0.0, 1.0], [2.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    result = audit(logits, [0, 0, 0, 1], LogisticRegression())
    assert result.rows == 4
    assert result.by_class[1].losses == 0


@pytest.mark.filterwarnings("ignore:softmax is right on")
def test_features_go_to_heads_that_take_them():
    logits, labels = weak_samples(n_samples=200)
    features = np.eye(5)[labels] + 0.3 * np.random.default_rng(0).normal(size=(200, 5))
    result = audit(logits, labels, features=features)
    assert result.gain > 0.5
    assert result.head.predict(logits, features=features).shape == (200,)

    class Plain(LinearDiscriminantAnalysis):
        def fit(self, X, y, features):
            return super().fit(np.hstack([X, features]), y)

        def predict(self, X, features):
            return super().predict(np.hstack([X, features]))

    assert audit(logits, labels, Plain(), features=features).gain > 0.5
    assert audit(logits, labels, Plain(), features=[features[:, :2], features[:, 2:]]).gain > 0.5


@pytest.mark.filterwarnings("ignore:softmax is right on")
def test_the_same_each_time_and_for_any_order_of_samples():
    logits, labels = weak_samples(n_samples=200)
    order = np.random.default_rng(0).permutation(200)
    for head in (small_search(), scaled_regression()):
        result = audit(logits, labels, head)
        assert result == audit(logits, labels, head)
        assert result == audit(logits[order], labels[order], head)
    other = audit(logits, labels, scaled_regression(), random_state=1)
    assert other.gain_interval != result.gain_interval
    audit(logits, labels, scaled_regression(), random_state=np.random.RandomState(0))


def test_the_interval_is_the_heads_own(by_auto_head):
    assert by_auto_head.gain_interval == by_auto_head.head.gain_interval_


def test_a_perfect_network_and_one_that_cannot_be_mended():
    labels = np.arange(60) % 3
    logits = 10.0 * np.eye(3)[labels] + np.arange(60)[:, None] / 100
    result = audit(logits, labels, small_search())
    assert result.verdict.startswith("No: softmax makes no errors on these 60 samples, so there is nothing to gain; if")
    assert re.search("^fewer errors to expect +no errors to correct$", str(result), flags=re.MULTILINE)
    assert (result.rows_needed, result.pairs, result.p_value) == (None, (), 1.0)
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="no better than chance"):
        result = audit(rng.normal(size=(200, 3)), rng.integers(3, size=200), small_search(alpha=0.001))
    assert result.chosen == "softmax"
    assert result.verdict.split(":")[0] in ("No", "Not proven")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"labels": np.zeros(49)}, ValueError, "logits have 50 samples but there are 49 labels"),
        ({"labels": np.zeros(50)}, ValueError, "labels hold one class only, 0"),
        ({"logits": np.full((50, 5), np.nan)}, ValueError, "logits contain NaN at row 0, column 0"),
        ({"logits": np.zeros(50)}, ValueError, "labels hold 5 classes .*, but logits have 1 column"),
        ({"features": np.zeros((49, 2))}, ValueError, "features have 49 samples but logits have 50"),
        ({"cv": 1}, ValueError, "cv=1 is not possible"),
        ({"groups": np.zeros(49)}, ValueError, r"groups has shape \(49,\) but there are 50 samples"),
        ({"class_prior": [0.5, 0.5]}, ValueError, r"class_prior has shape \(2,\) but there are 5 classes"),
        ({"sample_weight": np.ones(3)}, ValueError, r"sample_weight has shape \(3,\) but there are 50 samples"),
        ({"head": AutoHead}, TypeError, "head is the class AutoHead: pass a classifier .* or leave it out"),
        ({"head": "svc"}, TypeError, "head is of type str: pass a classifier with fit, predict and get_params"),
        (
            {"head": LogisticRegression(), "features": np.zeros((50, 2))},
            TypeError,
            "LogisticRegression.fit takes no features: leave them out, or the head",
        ),
        (
            {"head": SPHClassifier(classes=[4, 3, 2, 1, 0]), "classes": range(5)},
            ValueError,
            r"classes=\(0, 1, 2, 3, 4\) but the head has classes=\(4, 3, 2, 1, 0\): drop one of the two",
        ),
        (
            {"head": LinearRegression()},
            ValueError,
            "LinearRegression does not predict classes of these labels: .* is not a class",
        ),
    ],
)
def test_what_cannot_be_audited_is_refused(change, error, message):
    logits, labels = weak_samples(n_samples=50)
    with pytest.raises(error, match=message):
        audit(**{"logits": logits, "labels": labels} | change)


def test_warnings_come_once_and_point_at_the_users_line():
    logits, labels = weak_samples(n_samples=200)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    for head in (small_search(), LinearDiscriminantAnalysis()):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            audit(probabilities, labels, head)
        about = [one for one in caught if "look like probabilities" in str(one.message)]
        assert [one.filename for one in about] == [__file__]


@pytest.mark.filterwarnings("ignore")
def test_warnings_are_in_the_result_once_each_even_if_python_ignores_them():
    logits, labels = make_samples(n_samples=200)
    probabilities = softmax(logits)
    few = (labels > 0) | (np.cumsum(labels == 0) <= 5)
    result = audit(probabilities[few], NAMES[labels[few]], small_search())
    about_probabilities, about_few = result.warnings
    assert about_probabilities.startswith("logits look like probabilities: ")
    assert about_probabilities.endswith("None)) in Python, --log on the command line.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        small_search().fit(probabilities[few], NAMES[labels[few]])
    assert [about_few] == [str(one.message) for one in caught if "Fewer than 10 labelled" in str(one.message)]
    assert result.to_dict()["warnings"] == list(result.warnings)
    assert str(result).splitlines()[2:4] == [f"Warning: {about_probabilities}", f"Warning: {about_few}"]
    (about_columns,) = audit(np.roll(make_samples(home=6.0)[0], 1, axis=1), make_samples()[1], small_search()).warnings
    assert about_columns.endswith("classes=[...] in Python, --classes on the command line.")


def test_audits_in_threads_have_their_own_warnings_and_leave_pythons_alone():
    """An attack found the class names of one audit in the warnings of another, and no warning was shown ever after."""
    logits, labels = make_samples(n_samples=200)
    few = (labels > 0) | (np.cumsum(labels == 0) <= 5)

    def audited(prefix):
        names = np.array([f"{prefix}{name}" for name in NAMES])
        return [audit(logits[few], names[labels[few]], small_search(), classes=names).warnings for _ in range(5)]

    filters, show = list(warnings.filters), warnings.showwarning
    with pytest.warns(UserWarning, match="Fewer than 10 labelled"), ThreadPoolExecutor(4) as pool:
        found = dict(zip("abcd", pool.map(audited, "abcd"), strict=True))
    for prefix, results in found.items():
        assert all(len(one) == 1 and f"samples of class '{prefix}{NAMES[0]}'." in one[0] for one in results), prefix
    assert (warnings.filters, warnings.showwarning) == (filters, show)


def test_what_another_head_warns_of_is_raised_but_not_passed_on():
    class Loud(LinearDiscriminantAnalysis):
        def fit(self, X, y):
            warnings.warn("see /home/me/secret", UserWarning, stacklevel=2)
            return super().fit(X, y)

    with pytest.warns(UserWarning, match="secret"):
        assert audit(*weak_samples(300), Loud()).warnings == ()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=__name__)  # as today, filters see where it comes from
        warnings.filterwarnings("ignore", module="aftermax")
        audit(*weak_samples(300), Loud())


def test_labels_in_another_order_than_the_samples_are_warned_of():
    logits, labels = make_samples(home=4.0, n_samples=300)
    shuffled = np.random.default_rng(0).permutation(labels)
    message = (
        r"^softmax is right on (\d+) of 300 samples, no better than chance \((\d+)\): check that labels and logits"
    )
    for head in (small_search(), LinearDiscriminantAnalysis()):
        with pytest.warns(UserWarning, match=message) as caught:
            result = audit(logits, shuffled, head)
        assert result.warnings == (str(caught[0].message),)
        right, chance = map(int, re.match(message, result.warnings[0]).groups())
        assert right == np.sum(logits.argmax(axis=1) == shuffled)
        shares = [np.bincount(some, minlength=5) / 300 for some in (logits.argmax(axis=1), shuffled)]
        assert chance == round(300 * shares[0] @ shares[1])


def test_the_function_is_what_the_package_gives_also_after_its_module_is_imported():
    code = "import aftermax, aftermax._audit.run, aftermax.plots; print(callable(aftermax.audit))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
    assert aftermax.audit is audit


def test_of_misaligned_columns_and_chance_only_the_columns_are_warned_of():
    logits, labels = make_samples(home=6.0)[0], make_samples()[1]
    with pytest.warns(UserWarning, match="if the columns were in another order") as caught:
        audit(np.roll(logits, 1, axis=1), labels, LinearDiscriminantAnalysis())
    assert len(caught) == 1
