"""RoutesDisplay: which way samples go through SPH."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from aftermax import SPHClassifier
from aftermax.plots import RoutesDisplay
from helpers.figures import NAMES, held_out_samples, texts_of
from helpers.samples import make_samples


def routed(**hyperparameters):
    logits, labels = make_samples(seed=3, n_samples=800, n_classes=4, home=1.5)
    head = SPHClassifier(certainty=0.8, **hyperparameters).fit(logits, labels)
    return head, *make_samples(seed=4, n_samples=500, n_classes=4, home=1.5)


@pytest.mark.parametrize("hyperparameters", [{}, {"veto_distance": 0.7, "veto_count": 1}, {"min_gain": 1.0}])
def test_the_numbers_on_the_arrows_are_the_samples_that_went_there(hyperparameters):
    head, logits, labels = routed(**hyperparameters)
    display = RoutesDisplay.from_estimator(head, logits, labels)
    routes = head.route(logits)
    ways = (display.softmax, display.pooled, display.untrusted, display.none_left)
    assert sum(way.rows for way in ways) == 500
    assert display.softmax.rows == np.count_nonzero(routes == "softmax")
    assert display.pooled.rows == np.count_nonzero(routes == "pooled")
    assert display.untrusted.rows + display.none_left.rows == np.count_nonzero(routes == "reverted")
    assert sum(way.right for way in ways) == np.count_nonzero(head.predict(logits) == labels)
    assert sum(way.softmax_right for way in ways) == np.count_nonzero(logits.argmax(axis=1) == labels)
    texts = " ".join(text.get_text() for text in display.axes_.texts)
    assert "500 samples" in texts
    assert f"no class left: {display.none_left.rows}" in texts
    assert f"{display.pooled.right:,} of {display.pooled.rows:,} correct" in texts


def test_samples_with_every_class_vetoed_are_drawn_apart_from_untrusted_ones():
    head, logits, _ = routed(veto_distance=0.05, veto_count=1)
    display = RoutesDisplay.from_estimator(head, logits)
    assert display.none_left.rows > 0
    head, logits, _ = routed(min_gain=1.0)
    display = RoutesDisplay.from_estimator(head, logits)
    assert (display.none_left.rows, display.pooled.rows) == (0, 0)
    assert display.untrusted.rows > 0


def test_without_labels_no_correct_predictions_are_counted():
    head, logits, _ = routed()
    before = head.trusted_.copy()
    display = RoutesDisplay.from_estimator(head, logits)
    assert display.pooled.right is None
    assert "correct" not in " ".join(text.get_text() for text in display.axes_.texts)
    np.testing.assert_array_equal(head.trusted_, before)


def test_labels_of_other_samples_are_refused():
    head, logits, labels = routed()
    with pytest.raises(ValueError, match="500 samples but there are 10 labels: pass one label per sample"):
        RoutesDisplay.from_estimator(head, logits, labels[:10])


def test_a_head_that_keeps_softmax_says_so():
    logits, labels = make_samples(n_classes=3)
    display = RoutesDisplay.from_estimator(SPHClassifier(certainty=0).fit(logits, labels), logits)
    assert display.softmax.rows == len(logits)
    assert "softmax is kept" in " ".join(text.get_text() for text in display.axes_.texts)


def test_only_a_fitted_sph_head_has_routes():
    with pytest.raises(NotFittedError):
        RoutesDisplay.from_estimator(SPHClassifier(), [[0.0, 1.0]])
    with pytest.raises(TypeError, match=r"LogisticRegression has no routes.*search\.best_estimator_"):
        RoutesDisplay.from_estimator(LogisticRegression().fit(*make_samples(n_classes=3)), [[0.0, 1.0, 2.0]])


def test_routes_of_a_search_are_those_of_its_best_estimator(search):
    logits, labels, _ = held_out_samples()
    display = RoutesDisplay.from_estimator(search, logits, labels)
    assert display.pooled.rows == np.count_nonzero(search.route(logits) == "pooled") > 0
    assert display.certainty == search.best_params_["certainty"]
    right = sum(way.right for way in (display.softmax, display.pooled, display.untrusted, display.none_left))
    assert right == np.count_nonzero(search.predict(logits) == labels)


def test_routes_of_an_autohead_that_chose_sph(sph_by_auto):
    logits, labels, features = held_out_samples()
    display = RoutesDisplay.from_estimator(sph_by_auto, pd.DataFrame(logits, columns=NAMES), labels, features=features)
    right = sum(way.right for way in (display.softmax, display.pooled, display.untrusted, display.none_left))
    frame = pd.DataFrame(logits, columns=NAMES)
    assert right == np.count_nonzero(sph_by_auto.predict(frame, features=features) == labels)
    assert display.pooled.right > display.pooled.softmax_right
    assert f"at least {sph_by_auto.fitted_head_.certainty:g}" in " ".join(texts_of(display.axes_))


def test_an_autohead_without_sph_has_no_routes(with_features):
    logits, labels, features = held_out_samples()
    with pytest.raises(TypeError, match="This AutoHead chose 'combination', and only SPH has routes"):
        RoutesDisplay.from_estimator(with_features[0], logits, labels, features=features)


def test_routes_from_predictions_draw_all_that_reverted_as_one():
    logits, labels = make_samples(seed=3, n_samples=800, n_classes=4, home=1.5)
    head = SPHClassifier(certainty=0.8, veto_distance=1.0).fit(logits, labels)
    whole = RoutesDisplay.from_estimator(head, logits, labels)
    before, after, routes = logits.argmax(axis=1), head.predict(logits), head.route(logits)
    display = RoutesDisplay.from_predictions(labels, before, after, routes, certainty=0.8, min_gain=0.0)
    assert (display.softmax, display.pooled, display.none_left) == (whole.softmax, whole.pooled, None)
    assert whole.none_left.rows > 0 < whole.untrusted.rows
    reverted = whole.untrusted.rows + whole.none_left.rows
    assert display.untrusted.rows == reverted
    texts = " ".join(texts_of(display.axes_))
    assert "no class left" not in texts
    assert "Is a class left, and trusted?\ngain on validation samples above 0" in texts
    assert f"no: {reverted}" in texts
    assert f"back to softmax's prediction\n{display.untrusted.right} of {reverted} correct" in texts
    pooled = display.pooled
    assert f"{pooled.right} of {pooled.rows} correct (softmax: {pooled.softmax_right})" in texts
    unknown = RoutesDisplay.from_predictions(labels, before, after, routes)
    assert "largest probability at the gate or above" in " ".join(texts_of(unknown.axes_))


def test_unknown_routes_are_refused():
    with pytest.raises(ValueError, match=r"routes hold 'by bus': pass what head\.route"):
        RoutesDisplay.from_predictions([0, 1], [0, 1], [0, 1], ["softmax", "by bus"])
    with pytest.raises(
        ValueError, match=r"y_true has 2 samples and routes have shape \(1,\): pass one route for each sample"
    ):
        RoutesDisplay.from_predictions([0, 1], [0, 1], [0, 1], ["softmax"])
