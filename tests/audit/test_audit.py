"""audit: counts on rows kept out, the verdict in words, the power estimate, tables and the picture."""

import json
import math
import re
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import aftermax
from aftermax import Audit, AutoHead, SPHClassifier, SPHClassifierCV, audit
from aftermax._audit.result import ClassCounts, PairCounts, better_and_worse, most_changed, rows_to_be_sure
from aftermax._utils.labels import warn_if_by_chance
from aftermax._utils.paired_tests import exact_mcnemar, gain_interval, relative_gain, samples_to_prove
from aftermax._utils.softmax import softmax
from aftermax.plots import AuditDisplay
from helpers.samples import make_samples

SMALL = {"certainty": [0.5, 0.7, 0.9, 1.0], "distance_power": [1.0, 2.0]}
NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def weak(rows=300, seed=1):
    """Rows of a network whose softmax leaves much on the table: the units' levels are off."""
    logits, labels = make_samples(seed=seed, rows=rows)
    return logits + np.array([2.0, -1.0, 0.0, 1.0, -2.0]), labels


def small_search(**settings):
    return SPHClassifierCV(SMALL, cv=3, n_repeats=1, **settings)


def scaled_regression():
    return make_pipeline(StandardScaler(), LogisticRegression())


@pytest.fixture(scope="module")
def by_auto_head():
    return audit(*weak())


def assert_counted_from(found, answers, logits, labels):
    """Every count again, the slow way."""
    tops = logits.argmax(axis=1)
    wins, losses = np.sum((tops != labels) & (answers == labels)), np.sum((tops == labels) & (answers != labels))
    errors = np.sum(tops != labels)
    assert (found.rows, found.wins, found.losses) == (len(labels), wins, losses)
    assert found.errors == (errors, np.sum(answers != labels))
    assert found.error_before == np.mean(tops != labels)
    assert found.error_after == np.mean(answers != labels)
    assert found.gain == (wins - losses) / errors
    assert found.p_value == exact_mcnemar(wins, losses)
    low, high = found.gain_interval
    assert low <= found.gain <= high
    for name, *counts in found.by_class:
        of_class = labels == name
        won = of_class & (tops != labels) & (answers == labels)
        lost = of_class & (tops == labels) & (answers != labels)
        assert counts == [of_class.sum(), (of_class & (tops != labels)).sum(), won.sum(), lost.sum()]
    cells = {
        (i, j): (np.sum((labels == i) & (tops == j)), np.sum((labels == i) & (answers == j)))
        for i in found.classes
        for j in found.classes
        if i != j
    }
    for true, taken_for, before, after in found.pairs:
        assert cells[true, taken_for] == (before, after)
    drops = sorted((before - after for before, after in cells.values() if before > after), reverse=True)
    assert [one.before - one.after for one in found.pairs] == drops[:10]


# ---- counts ----------------------------------------------------------------------------------------------------------


def test_an_auto_head_is_fitted_once_and_its_answers_to_rows_kept_out_are_counted(by_auto_head):
    logits, labels = weak()
    head = AutoHead().fit(logits, labels)
    found = by_auto_head
    assert_counted_from(found, head.held_out_, logits, labels)
    assert found.gain == head.gain_ > 0.1
    assert (found.chosen, found.head_p_value) == (head.chosen_, head.p_value_)
    assert str(found.candidates) == str(head.candidates_)
    assert found.classes == (0, 1, 2, 3, 4)
    np.testing.assert_array_equal(found.head.predict(logits), head.predict(logits))


def test_a_search_that_falls_back_is_softmax():
    logits, labels = weak()
    for alpha, chosen in ((0.05, "sph"), (0.0, "softmax")):
        search = small_search(alpha=alpha)
        found = audit(logits, labels, search)
        fitted = search.fit(logits, labels)
        assert_counted_from(found, fitted.held_out_, logits, labels)
        assert (found.chosen, found.head_p_value, found.candidates) == (chosen, fitted.p_value_, None)


class Counting(ClassifierMixin, BaseEstimator):
    """Remembers the rows that it was fitted on, and answers 0 to these and 1 to others."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = set(X[:, 0].tolist())
        return self

    def predict(self, X):
        return np.array([0 if value in self.seen_ else 1 for value in X[:, 0].tolist()])


def test_any_other_head_is_cross_validated_on_copies_and_fitted_on_all_rows():
    logits, labels = weak()
    head = Counting()
    found = audit(logits, labels, head)
    assert_counted_from(found, np.ones(300), logits, labels)
    assert not hasattr(head, "seen_")
    assert found.head.seen_ == set(logits[:, 0].tolist())
    assert (found.chosen, found.head_p_value) == ("Counting", None)


def test_a_head_that_has_seen_the_rows_is_fitted_anew():
    logits, labels = weak()
    head = Counting().fit(logits, labels)
    assert_counted_from(audit(logits, labels, head), np.ones(300), logits, labels)


def test_a_plain_scikit_learn_head_with_string_labels_and_a_data_frame():
    logits, labels = weak()
    ours = audit(logits, labels, scaled_regression())
    assert ours.verdict.startswith("Yes: ")
    frame = pd.DataFrame(logits, columns=NAMES)
    found = audit(frame, NAMES[labels].tolist(), scaled_regression())
    assert found.classes == tuple(NAMES)
    assert [one[1:] for one in found.by_class] == [one[1:] for one in ours.by_class]
    assert found.head.feature_names_in_.tolist() == NAMES.tolist()
    assert set(found.head.predict(frame)) <= set(NAMES)
    assert {one.true for one in found.pairs} <= set(NAMES)


def test_two_classes():
    logits, labels = make_samples(size=2, home=1.0, rows=200)
    found = audit(logits + np.array([2.0, 0.0]), np.array(["no", "yes"])[labels], small_search())
    assert found.wins > found.losses
    assert [(one.true, one.taken_for) for one in found.pairs] == [("yes", "no")]


@pytest.mark.parametrize(
    "head",
    [
        SPHClassifier(),
        scaled_regression(),
        GridSearchCV(SPHClassifier(), {"certainty": [0.5, 0.9]}, cv=2),
    ],
)
@pytest.mark.filterwarnings("ignore:.*least populated class")
def test_classes_that_a_fold_lacks_or_all_rows_lack_do_not_break_it(head):
    logits, labels = weak()
    keep = (labels > 1) | (np.cumsum(labels == 1) * (labels == 1) == 1)  # one row of class 1, none of class 0
    found = audit(logits[keep], NAMES[labels[keep]], head, classes=NAMES)
    assert [one.rows for one in found.by_class[:2]] == [0, 1]
    assert found.rows == keep.sum()
    assert np.isfinite(found.gain)


def test_where_only_one_class_is_left_to_learn_from_softmax_answers():
    logits = np.array([[0.0, 1.0], [2.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    found = audit(logits, [0, 0, 0, 1], LogisticRegression())
    assert found.rows == 4
    assert found.by_class[1].losses == 0


def test_features_go_to_heads_that_take_them():
    logits, labels = weak(rows=200)
    features = np.eye(5)[labels] + 0.3 * np.random.default_rng(0).normal(size=(200, 5))
    found = audit(logits, labels, features=features)
    assert found.gain > 0.5
    assert found.head.predict(logits, features=features).shape == (200,)

    class Plain(LinearDiscriminantAnalysis):
        def fit(self, X, y, features):
            return super().fit(np.hstack([X, features]), y)

        def predict(self, X, features):
            return super().predict(np.hstack([X, features]))

    assert audit(logits, labels, Plain(), features=features).gain > 0.5


def test_the_same_each_time_and_for_any_order_of_rows():
    logits, labels = weak(rows=200)
    order = np.random.default_rng(0).permutation(200)
    for head in (small_search(), scaled_regression()):
        found = audit(logits, labels, head)
        assert found == audit(logits, labels, head)
        assert found == audit(logits[order], labels[order], head)
    other = audit(logits, labels, scaled_regression(), random_state=1)
    assert other.gain_interval != found.gain_interval
    audit(logits, labels, scaled_regression(), random_state=np.random.RandomState(0))


# ---- what is refused, and warned of ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"labels": np.zeros(49)}, ValueError, "logits have 50 rows but there are 49 labels"),
        ({"labels": np.zeros(50)}, ValueError, "labels hold one class only, 0"),
        ({"logits": np.full((50, 5), np.nan)}, ValueError, "logits contain NaN at row 0, column 0"),
        ({"logits": np.zeros(50)}, ValueError, "Expected 2D array, got 1D array"),
        ({"features": np.zeros((49, 2))}, ValueError, "features have 49 rows but logits have 50"),
        ({"cv": 1}, ValueError, "cv=1 is not possible"),
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
        ({"head": LinearRegression()}, ValueError, "What LinearRegression answers are no classes of these labels: .*"),
    ],
)
def test_what_cannot_be_audited_is_refused(change, error, message):
    logits, labels = weak(rows=50)
    with pytest.raises(error, match=message):
        audit(**{"logits": logits, "labels": labels} | change)


def test_warnings_come_once_and_point_at_the_users_line():
    logits, labels = weak(rows=200)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    for head in (small_search(), LinearDiscriminantAnalysis()):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            audit(probabilities, labels, head)
        about = [one for one in caught if "look like probabilities" in str(one.message)]
        assert [one.filename for one in about] == [__file__]


@pytest.mark.filterwarnings("ignore")
def test_warnings_are_in_what_was_found_once_each_and_in_plain_words_also_where_python_ignores_them():
    logits, labels = make_samples(rows=200)
    probabilities = softmax(logits)
    few = (labels > 0) | (np.cumsum(labels == 0) <= 5)
    found = audit(probabilities[few], NAMES[labels[few]], small_search())
    about_probabilities, about_few = found.warnings
    assert about_probabilities.startswith("logits look like probabilities: ")
    assert about_probabilities.endswith("if all you have is probabilities p, pass their logarithms.")
    assert about_few.startswith("Fewer than 10 labelled samples: 'ant'. ")
    assert "and the gain cannot see it" in about_few
    assert found.to_dict()["warnings"] == list(found.warnings)
    assert str(found).splitlines()[2:4] == [f"Mind: {about_probabilities}", f"Mind: {about_few}"]
    (about_columns,) = audit(np.roll(make_samples(home=6.0)[0], 1, axis=1), make_samples()[1], small_search()).warnings
    assert about_columns.endswith("If not, name the class of each, in order.")


def test_what_another_head_warns_of_is_raised_but_not_passed_on():
    class Loud(LinearDiscriminantAnalysis):
        def fit(self, X, y):
            warnings.warn("see /home/me/secret", UserWarning, stacklevel=2)
            return super().fit(X, y)

    with pytest.warns(UserWarning, match="secret"):
        assert audit(*weak(), Loud()).warnings == ()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=__name__)  # as today, filters see where it comes from
        warnings.filterwarnings("ignore", module="aftermax")
        audit(*weak(), Loud())


def test_labels_that_are_out_of_step_with_the_rows_are_warned_of():
    logits, labels = make_samples(home=4.0, rows=300)
    shuffled = np.random.default_rng(0).permutation(labels)
    words = (
        r"^softmax is right in (\d+) of 300 rows, as chance would be \((\d+)\): check that labels and rows are in step"
    )
    for head in (small_search(), LinearDiscriminantAnalysis()):
        with pytest.warns(UserWarning, match=words) as caught:
            found = audit(logits, shuffled, head)
        assert found.warnings == (str(caught[0].message),)
        right, chance = map(int, re.match(words, found.warnings[0]).groups())
        assert right == np.sum(logits.argmax(axis=1) == shuffled)
        shares = [np.bincount(some, minlength=5) / 300 for some in (logits.argmax(axis=1), shuffled)]
        assert chance == round(300 * shares[0] @ shares[1])


def by_chance(tops, answers, codes, classes=4):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_if_by_chance(tops, answers, codes, classes)
    return len(caught)


def test_chance_is_told_from_skill():
    rng = np.random.default_rng(0)
    draws = [rng.choice(4, p=[0.7, 0.1, 0.1, 0.1], size=(3, 200)) for _ in range(300)]
    assert 0.96 < np.mean([by_chance(*draw) for draw in draws]) <= 1
    tops, answers, codes = draws[0]
    some_right = np.where(np.arange(200) % 3 == 0, codes, tops)
    assert by_chance(some_right, answers, codes) == 0
    assert by_chance(tops, some_right, codes) == 0  # the head shows that labels and rows are in step
    assert by_chance(np.zeros(200, dtype=int), np.zeros(200, dtype=int), codes) == 1
    assert by_chance(tops[:49], answers[:49], codes[:49]) == 0  # too few rows to tell
    with pytest.warns(UserWarning, match="if the columns were in another order") as caught:
        audit(np.roll(make_samples(home=6.0)[0], 1, axis=1), make_samples()[1], LinearDiscriminantAnalysis())
    assert len(caught) == 1  # one reason is enough


# ---- the verdict -----------------------------------------------------------------------------------------------------


def invented(wins, losses, errors, *, rows=1000, chosen="combination", head_p_value=None, weighted=False, **more):
    """An audit with these counts."""
    interval = gain_interval(wins, losses, errors, rows, np.random.default_rng(0))
    by_class = (ClassCounts(0, rows - 10, errors, wins, losses), ClassCounts(1, 10, 0, 0, 0))
    fields = {
        "rows": rows,
        "classes": (0, 1),
        "error_before": errors / rows,
        "error_after": (errors - wins + losses) / rows,
        "gain": relative_gain(wins, losses, errors),
        "gain_interval": interval,
        "wins": wins,
        "losses": losses,
        "p_value": exact_mcnemar(wins, losses),
        "head_p_value": head_p_value,
        "chosen": chosen,
        "by_class": by_class,
        "pairs": (PairCounts(0, 1, errors, errors - wins + losses),) if wins > losses else (),
        "rows_needed": samples_to_prove(wins, losses, rows),
        "tangled": (),
        "weighted": weighted,
        "warnings": (),
        "candidates": None,
        "head": None,
    }
    return Audit(**fields | more)


@pytest.mark.parametrize(
    ("counts", "how", "verdict"),
    [
        (
            (50, 10, 200),
            {"head_p_value": 1e-9},
            r"Yes: 20 of 100 errors are gone \(200 before, 160 after, on 1,000 rows that the head had not seen; "
            r"95 % interval: \d+ to \d+ of 100; p < 0\.0001\)\.",
        ),
        ((50, 10, 200), {"chosen": "SVC"}, r"Yes: 20 of 100 errors are gone \(.*\)\."),
        ((5000, 1, 5001), {"rows": 9000, "chosen": "SVC"}, r"Yes: 99 of 100 errors are gone \(5,001 before, 2 after.*"),
        (
            (50, 10, 200),
            {"chosen": "softmax", "head_p_value": 0.2},
            r"Not taken: 20 of 100 errors are gone \(.*\), which is hardly chance, but the head itself keeps softmax "
            r"\(its own test: p = 0\.2\)\.",
        ),
        (
            (30, 20, 200),
            {"chosen": "softmax", "head_p_value": 0.1},
            r"Not proven: 5 of 100 errors are gone \(.*95 % interval: -\d+ to \d+ of 100; p = 0\.2\), but that could "
            r"be chance; if it is not, about 4,100 labelled rows would be needed to be sure\.",
        ),
        ((30, 20, 200), {"chosen": "SVC"}, r"Not proven: 5 of 100 errors are gone .*"),
        (
            (21, 20, 400),
            {"chosen": "SVC"},
            r"Not proven: fewer than 1 of 100 errors is gone .*about 330,000 .*",
        ),
        (
            (30, 20, 200),
            {"head_p_value": 0.01},
            r"Probably: 5 of 100 errors are gone \(.*\); by errors alone that could be chance, and about 4,100 "
            r"labelled rows would be needed to be sure, but by errors and probabilities together the head is better "
            r"and is kept \(its own test: p = 0\.01\)\.",
        ),
        (
            (10, 60, 200),
            {"head_p_value": 0.01, "weighted": True},
            r"No fewer errors: .*; yet by its own measure, in which rows or classes count unequally, the head.*",
        ),
        (
            (0, 0, 1),
            {"chosen": "SVC"},
            r"No: softmax's only error on these 1,000 rows is not put right; stay with softmax\.",
        ),
        ((30, 20, 200), {"chosen": "sph", "head_p_value": 0.1}, r"Probably: .*but by its own measure the head is.*"),
        (
            (12, 12, 200),
            {"chosen": "softmax", "head_p_value": 0.6},
            r"No: 12 rows get better and as many get worse \(200 before, 200 after, .*p = 1\); softmax stays\.",
        ),
        (
            (12, 12, 200),
            {"head_p_value": 0.01},
            r"No fewer errors: 12 rows .*; yet by errors and probabilities together .*",
        ),
        (
            (0, 0, 200),
            {"chosen": "softmax", "head_p_value": 1.0},
            r"No: none of softmax's 200 errors on these 1,000 rows is put right; softmax stays\.",
        ),
        (
            (10, 16, 200),
            {"chosen": "softmax", "head_p_value": 0.9},
            r"No: the head would add 3 to every 100 errors \(.*95 % interval: -\d+ to \d+ of 100; p = 0\.33\), though "
            r"that could be chance; softmax stays\.",
        ),
        (
            (10, 70, 200),
            {"chosen": "SVC"},
            r"No: the head would add 30 to every 100 errors \(200 before, 260 after, .*95 % interval: \d+ to \d+ of "
            r"100; p < 0\.0001\), which is hardly chance; stay with softmax\.",
        ),
        (
            (0, 0, 0),
            {"chosen": "softmax"},
            r"No: softmax makes no errors on these 1,000 rows, so there is nothing to gain; if the model was trained "
            r"on these rows, pass others\.",
        ),
        (
            (0, 7, 0),
            {"chosen": "SVC"},
            r"No: softmax makes no errors on these 1,000 rows and the head makes 7, so there is nothing to gain; if .*",
        ),
    ],
)
def test_the_verdict_is_one_truthful_sentence(counts, how, verdict):
    found = invented(*counts, **how)
    assert re.fullmatch(verdict, found.verdict), found.verdict
    assert "\n" not in found.verdict
    assert str(found).startswith(found.verdict + "\n\n")
    found.plot().figure_.canvas.draw()


def test_a_perfect_network_and_one_that_cannot_be_mended():
    labels = np.arange(60) % 3
    logits = 10.0 * np.eye(3)[labels] + np.arange(60)[:, None] / 100
    found = audit(logits, labels, small_search())
    assert found.verdict.startswith("No: softmax makes no errors on these 60 rows, so there is nothing to gain; if")
    assert re.search("^fewer errors +no errors to take$", str(found), flags=re.MULTILINE)
    assert (found.rows_needed, found.pairs, found.p_value) == (None, (), 1.0)
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="as chance would be"):
        found = audit(rng.normal(size=(200, 3)), rng.integers(3, size=200), small_search(alpha=0.001))
    assert found.chosen == "softmax"
    assert found.verdict.split(":")[0] in ("No", "Not proven")


# ---- how many rows it takes ------------------------------------------------------------------------------------------


def exact_p_values(wins, losses):
    return np.minimum(2 * binom.cdf(np.minimum(wins, losses), wins + losses, 0.5), 1.0)


@pytest.mark.parametrize(
    ("wins", "losses", "rows"), [(30, 20, 1000), (50, 10, 1000), (8, 4, 100), (12, 3, 400), (3, 2, 500), (6, 0, 300)]
)
def test_as_many_rows_as_are_said_prove_the_gain_four_times_out_of_five(wins, losses, rows):
    needed = samples_to_prove(wins, losses, rows)
    draws = np.random.default_rng(0).multinomial(
        needed, [wins / rows, losses / rows, 1 - (wins + losses) / rows], 20_000
    )
    proven = (exact_p_values(draws[:, 0], draws[:, 1]) < 0.05) & (draws[:, 0] > draws[:, 1])
    assert 0.76 < proven.mean() < 0.84


def test_what_is_not_proven_takes_more_rows_and_no_gain_takes_no_number():
    for wins in range(1, 40):
        for losses in range(wins):
            if exact_mcnemar(wins, losses) >= 0.05:
                assert samples_to_prove(wins, losses, 100) > 100
    assert samples_to_prove(5, 5, 100) is None
    assert samples_to_prove(0, 5, 100) is None
    assert samples_to_prove(5, 0, 5) == 6


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((60, 10, 200), "about 230 would have been enough"),
        ((6, 0, 20), "these are enough"),  # though a proof was not to be counted on
        ((30, 20, 200), "about 4,086"),
        ((10, 20, 200), "no gain to prove"),
    ],
)
def test_rows_to_be_sure_in_words(counts, words):
    found = invented(*counts)
    assert rows_to_be_sure(found) == words
    assert re.search(f"^labelled rows to be sure +{words}$", str(found), flags=re.MULTILINE)


def test_pairs_that_are_confused_more_are_shown_too():
    labels = np.repeat([0, 1], 50)
    before, after = labels.copy(), labels.copy()
    before[:10] = 1  # zeros taken for ones, all put right
    after[50:57] = 0  # ones taken for zeros, by the head only
    logits = np.eye(2)[before] * 2.0

    class Fixed(BaseEstimator, ClassifierMixin):
        def fit(self, X, y):
            self.classes_, self.held_out_ = np.unique(y), after
            return self

        def predict(self, X):
            return after

    found = audit(logits, labels, Fixed())
    assert found.pairs == (PairCounts(0, 1, 10, 0),)
    assert found.tangled == (PairCounts(1, 0, 0, 7),)
    assert found.other_errors == (0, 0)


def test_the_interval_is_the_heads_own(by_auto_head):
    assert by_auto_head.gain_interval == by_auto_head.head.gain_interval_


# ---- tables, JSON and the picture ------------------------------------------------------------------------------------


def test_it_prints_the_verdict_and_the_tables(by_auto_head):
    verdict, changes, summary, classes, pairs, tried = str(by_auto_head).split("\n\n")
    assert verdict == by_auto_head.verdict
    assert changes == better_and_worse(by_auto_head)
    assert summary.splitlines()[0].split() == ["rows,", "classes", "300,", "5"]
    assert classes.splitlines()[0].split() == ["class", "rows", "errors", "wins", "losses", "net"]
    assert len(classes.splitlines()) == 6
    assert pairs.splitlines()[0].split() == ["class", "taken", "for", "before", "after"]
    totals = np.array([line.split()[-2:] for line in pairs.splitlines()[1:]], dtype=int).sum(axis=0)
    assert tuple(totals) == by_auto_head.errors
    assert tried == f"What was tried\n{by_auto_head.candidates}"
    assert repr(by_auto_head) == str(by_auto_head)


@pytest.mark.parametrize(
    ("nets", "how", "words"),
    [
        (
            {"nodule": 72, "effusion": 9, "pneumonia": -11, "no finding": -3},
            {},
            "Better for: nodule (72 fewer errors), effusion (9 fewer); worse for: pneumonia (11 more errors), "
            "no finding (3 more).",
        ),
        (
            {"a": 1, "b": 5, "c": 4, "d": 3, "e": 2, "f": 0},
            {"chosen": "softmax"},
            "Would be better for: b (5 fewer errors), c (4 fewer), d (3 fewer), and 2 others (3 fewer); worse for: "
            "none.",
        ),
        ({"a": -1}, {}, "Better for: none; worse for: a (1 more error)."),
        ({"a": 0}, {}, ""),
    ],
)
def test_for_whom_it_is_better_and_for_whom_worse(nets, how, words):
    counts = tuple(ClassCounts(name, 100, 90, max(net, 0), max(-net, 0)) for name, net in nets.items())
    found = invented(50, 10, 200, by_class=counts, **how)
    assert better_and_worse(found) == words
    assert ("etter for" in str(found)) == bool(words)
    assert words in str(found)


def test_what_is_found_of_a_class():
    assert ClassCounts("cat", 10, 6, 4, 1).recall == (0.4, 0.7)
    assert all(map(math.isnan, ClassCounts("cat", 0, 0, 0, 0).recall))


def test_of_many_classes_those_that_change_most_are_shown_and_the_rest_is_summed():
    many = tuple(ClassCounts(j, 10, 5, j % 7, j % 5) for j in range(40))
    shown, (rest,) = most_changed(many)
    assert len(shown) == 15
    assert [one.net for one in shown] == sorted((one.net for one in shown), reverse=True)
    assert min(abs(one.net) for one in shown) >= max(abs(one.net) for one in set(many) - set(shown))
    assert rest == ClassCounts("25 others", 250, 125, *(sum(one[k] for one in set(many) - set(shown)) for k in (3, 4)))
    assert most_changed(many[:16])[1] == []


def test_to_dict_is_plain_and_survives_json(by_auto_head):
    plain = by_auto_head.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["verdict"] == by_auto_head.verdict
    assert plain["by_class"][0] == by_auto_head.by_class[0]._asdict()
    assert plain["candidates"]["sph"]["log_loss"] is None
    assert "head" not in plain
    assert math.isclose(plain["gain"], by_auto_head.gain)
    assert audit(*weak(rows=150), small_search()).to_dict()["candidates"] is None


def test_the_picture_shows_the_counts(by_auto_head):
    display = by_auto_head.plot()
    left, right = display.axes_
    shown, _ = most_changed(by_auto_head.by_class)
    wins, losses = ([bar.get_width() for bar in bars] for bars in left.containers)
    assert wins == [one.wins for one in shown]
    assert losses == [-one.losses for one in shown]
    assert [label.get_text() for label in left.get_yticklabels()] == [str(one.name) for one in shown]
    before, after = (points.get_offsets()[:, 0].tolist() for points in right.collections[1:])
    assert before == [one.before for one in by_auto_head.pairs]
    assert after == [one.after for one in by_auto_head.pairs]
    assert display.figure_.get_suptitle().replace("\n", " ") == by_auto_head.verdict
    display.figure_.canvas.draw()


def test_it_draws_into_two_axes_and_refuses_anything_else(by_auto_head):
    axes = pyplot.figure().subplots(2, 1)
    display = AuditDisplay.from_audit(by_auto_head, ax=axes)
    assert display.figure_ is axes[0].figure
    assert display.axes_.tolist() == axes.tolist()
    with pytest.raises(ValueError, match="ax holds 1 Axes, and there are two panels: pass two"):
        by_auto_head.plot(ax=axes[0])
    with pytest.raises(TypeError, match=r"takes an Audit, not AutoHead: pass what aftermax\.audit"):
        AuditDisplay(AutoHead())


def test_the_function_is_what_the_package_gives_also_after_its_module_is_imported():
    code = "import aftermax, aftermax._audit.run, aftermax.plots; print(callable(aftermax.audit))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
    assert aftermax.audit is audit
