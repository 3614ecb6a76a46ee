"""Pictures of every kind of head: which of them have what, and SPH's weights and routes."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from aftermax import AutoHead, SPHClassifier, SPHClassifierCV, audit
from aftermax.auto import head as auto_module
from aftermax.plots import (
    CertaintyDisplay,
    ClassPairDisplay,
    ConfusionChangeDisplay,
    GainByClassDisplay,
    ReliabilityDisplay,
    ResponseArrayDisplay,
    RoutesDisplay,
    WeightsDisplay,
)
from helpers.auto_heads import weak, without_corrections
from helpers.figures import check_texts, texts_of
from helpers.samples import make_samples

NAMES = np.array(["ant", "bee", "cow", "dog", "eel"])
OF_ROWS = [GainByClassDisplay, ConfusionChangeDisplay, CertaintyDisplay, ReliabilityDisplay]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def search():
    logits, labels = weak(rows=400)
    return SPHClassifierCV({"certainty": [0.7, 0.9]}, cv=3, n_repeats=1, progress=False).fit(logits, NAMES[labels])


@pytest.fixture(scope="module")
def with_features():
    logits, labels = weak(rows=300)
    features = np.random.default_rng(0).normal(size=(300, 2))
    return AutoHead(cv=3, progress=False).fit(logits, NAMES[labels], features=features), features


@pytest.fixture(scope="module")
def sph_by_auto():
    """An AutoHead that chose SPH, fitted on a data frame and with features that are of no use."""
    logits, labels = weak(rows=600)
    features = np.random.default_rng(0).normal(size=(600, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auto_module, "cross_fit", without_corrections(auto_module.cross_fit))
        head = AutoHead(cv=3, progress=False).fit(pd.DataFrame(logits, columns=NAMES), NAMES[labels], features=features)
    assert head.chosen_ == "sph"
    return head


def unseen_rows(rows=300):
    logits, labels = weak(rows=rows, seed=2)
    return logits, NAMES[labels], np.random.default_rng(1).normal(size=(rows, 2))


# ---- kinds of heads --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("display", OF_ROWS)
def test_every_picture_of_rows_takes_every_head(display, search, with_features, sph_by_auto):
    logits, labels, features = unseen_rows()
    grid = GridSearchCV(SPHClassifier(), {"certainty": [0.5, 0.9]}, cv=2).fit(logits, labels)
    for head, given in ((search, None), (with_features[0], features), (grid, None)):
        drawn = display.from_estimator(head, logits, labels, features=given)
        assert drawn.figure_ is np.ravel(drawn.axes_)[0].figure
    drawn = display.from_estimator(sph_by_auto, pd.DataFrame(logits, columns=NAMES), labels, features=features)
    drawn.figure_.canvas.draw()


def test_the_features_are_those_that_the_head_answers_by(with_features):
    head, _ = with_features
    logits, labels, features = unseen_rows()
    display = ConfusionChangeDisplay.from_estimator(head, logits, labels, features=features)
    assert np.trace(display.after) == np.count_nonzero(head.predict(logits, features) == labels)
    with pytest.raises(ValueError, match="fitted with features: pass those of these rows too"):
        ConfusionChangeDisplay.from_estimator(head, logits, labels)


def test_features_for_a_head_that_takes_none_are_refused(search):
    logits, labels, features = unseen_rows()
    with pytest.raises(TypeError, match=r"SPHClassifierCV\.predict takes no features: leave them out"):
        GainByClassDisplay.from_estimator(search, logits, labels, features=features)


def test_the_gate_is_the_one_that_the_head_was_fitted_with(search, with_features, sph_by_auto):
    logits, labels, _ = unseen_rows()
    frame = pd.DataFrame(logits, columns=NAMES)
    assert CertaintyDisplay.from_estimator(search, logits, labels).gate == search.best_params_["certainty"] > 0
    assert CertaintyDisplay.from_estimator(sph_by_auto, frame, labels).gate == sph_by_auto._head.certainty > 0
    assert CertaintyDisplay.from_estimator(with_features[0], logits, labels).gate is None
    head = SPHClassifier(certainty=0.7).fit(logits, labels).set_params(certainty=0.2)
    assert CertaintyDisplay.from_estimator(head, logits, labels).gate == 0.7
    grid = GridSearchCV(SPHClassifier(), {"certainty": [0.6]}, cv=2).fit(logits, labels)
    assert CertaintyDisplay.from_estimator(grid, logits, labels).gate == 0.6


def test_a_head_that_was_not_fitted_on_logits_is_refused():
    logits, labels = make_samples(size=5)
    head = SPHClassifier(classes=range(5)).fit(logits, labels)
    head.classes_ = head.classes_[:4]
    with pytest.raises(ValueError, match="X has 5 columns and SPHClassifier has 4 classes: pass a head"):
        GainByClassDisplay.from_estimator(head, logits, labels)


def test_what_sph_learned_is_drawn_for_a_search_and_for_an_autohead_with_the_names_of_the_classes(search, sph_by_auto):
    for head, sph in ((search, search.best_estimator_), (sph_by_auto, sph_by_auto._head)):
        columns = ResponseArrayDisplay.from_estimator(head)
        assert [axes.get_title() for axes in columns.axes_] == [f"unit {name}" for name in NAMES]
        np.testing.assert_array_equal(columns.response_array.center, sph.response_array_.center)
        pair = ClassPairDisplay.from_estimator(head, "bee", "eel")
        assert (pair.first, pair.second) == (1, 4)
        weights = WeightsDisplay.from_estimator(head)
        np.testing.assert_array_equal(weights.weights, sph.weights_)
        assert [label.get_text() for label in weights.axes_.get_yticklabels()] == NAMES.tolist()
    assert sph_by_auto._head.classes_.tolist() == list(range(5))  # drawing it leaves the head alone


@pytest.mark.parametrize("display", [ResponseArrayDisplay, WeightsDisplay])
def test_heads_without_sph_have_no_picture_of_it(display, with_features):
    with pytest.raises(TypeError, match=r"This AutoHead chose 'combination', and only SPH has .*: pass a fitted"):
        display.from_estimator(with_features[0])
    with pytest.raises(NotFittedError):
        display.from_estimator(AutoHead())


# ---- weights ---------------------------------------------------------------------------------------------------------


def test_weights_are_shades_with_their_share_written_in():
    display = WeightsDisplay([[0.75, 0.25], [0.4, 0.6]], ["cat", "dog"]).plot()
    (image,) = display.axes_.images
    np.testing.assert_array_equal(image.get_array(), [[0.75, 0.25], [0.4, 0.6]])
    assert texts_of(display.axes_) == ["75", "25", "40", "60"]
    assert [label.get_text() for label in display.axes_.get_xticklabels()] == ["cat", "dog"]
    assert "hatched" not in display.axes_.get_xlabel()


def test_classes_that_pooling_never_answers_are_hatched():
    display = WeightsDisplay([[1.0, 0.0], [0.0, 0.0]]).plot()
    (band,) = display.axes_.patches
    assert (band.get_y(), band.get_height()) == (0.5, 1.0)
    assert band.get_hatch()
    assert "hatched: no weight, never pooling's answer" in display.axes_.get_xlabel()
    assert texts_of(display.axes_) == ["100"]
    WeightsDisplay(np.zeros((3, 3))).plot().figure_.canvas.draw()


def test_of_a_hundred_classes_some_are_named_and_no_numbers_written():
    display = WeightsDisplay(np.full((100, 100), 0.01)).plot(ax=pyplot.figure().subplots())
    assert [label.get_text() for label in display.axes_.get_xticklabels()] == [str(n) for n in range(0, 100, 5)]
    assert not texts_of(display.axes_)


def test_what_are_no_weights_is_refused():
    with pytest.raises(ValueError, match=r"weights have shape \(2, 3\) and classes \(2,\): pass a row and a column"):
        WeightsDisplay(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"weights have shape \(2, 2\) and classes \(3,\)"):
        WeightsDisplay(np.zeros((2, 2)), ["a", "b", "c"])
    with pytest.raises(ValueError, match="hold NaN, infinity or numbers below 0"):
        WeightsDisplay([[0.5, np.nan], [0.5, 0.5]])


@pytest.mark.parametrize("size", [2, 12, 100])
def test_no_text_of_weights_runs_into_another_or_out_of_the_picture(size):
    weights = np.random.default_rng(0).dirichlet(np.ones(size), size)
    display = WeightsDisplay(weights, [f"class number {n}" for n in range(size)]).plot()
    check_texts(display.figure_)


# ---- routes ----------------------------------------------------------------------------------------------------------


def test_routes_of_a_search_are_those_of_what_it_found(search):
    logits, labels, _ = unseen_rows()
    display = RoutesDisplay.from_estimator(search, logits, labels)
    assert display.pooled.rows == np.count_nonzero(search.route(logits) == "pooled") > 0
    assert display.certainty == search.best_params_["certainty"]
    right = sum(way.right for way in (display.softmax, display.pooled, display.untrusted, display.none_left))
    assert right == np.count_nonzero(search.predict(logits) == labels)


def test_routes_of_an_autohead_that_chose_sph(sph_by_auto):
    logits, labels, features = unseen_rows()
    display = RoutesDisplay.from_estimator(sph_by_auto, pd.DataFrame(logits, columns=NAMES), labels, features=features)
    right = sum(way.right for way in (display.softmax, display.pooled, display.untrusted, display.none_left))
    frame = pd.DataFrame(logits, columns=NAMES)
    assert right == np.count_nonzero(sph_by_auto.predict(frame, features=features) == labels)
    assert display.pooled.right > display.pooled.softmax_right
    assert f"at least {sph_by_auto._head.certainty:g}" in " ".join(texts_of(display.axes_))


def test_an_autohead_without_sph_has_no_routes(with_features):
    logits, labels, features = unseen_rows()
    with pytest.raises(TypeError, match="This AutoHead chose 'combination', and only SPH has routes"):
        RoutesDisplay.from_estimator(with_features[0], logits, labels, features=features)


def test_routes_from_predictions_draw_all_that_reverted_as_one():
    logits, labels = make_samples(seed=3, rows=800, size=4, home=1.5)
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
    assert "Is a class left, and trusted?\ngain on labelled rows above 0" in texts
    assert f"no: {reverted}" in texts
    assert f"back to softmax's answer\n{reverted} rows" in texts
    assert (
        f"{display.pooled.rows} rows, {display.pooled.right} right (softmax: {display.pooled.softmax_right})" in texts
    )
    unknown = RoutesDisplay.from_predictions(labels, before, after, routes)
    assert "largest score at the gate or above" in " ".join(texts_of(unknown.axes_))


def test_routes_that_nobody_could_take_are_refused():
    with pytest.raises(ValueError, match=r"routes hold 'by bus': pass what head\.route"):
        RoutesDisplay.from_predictions([0, 1], [0, 1], [0, 1], ["softmax", "by bus"])
    with pytest.raises(ValueError, match=r"y_true has 2 rows and routes have shape \(1,\): pass one for each row"):
        RoutesDisplay.from_predictions([0, 1], [0, 1], [0, 1], ["softmax"])


# ---- the audit -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 10, 40])
def test_no_text_of_an_audit_runs_into_another_or_out_of_the_picture(size):
    names = np.array([f"class number {n}" for n in range(size)])
    logits, codes = make_samples(rows=30 * size, size=size)
    found = audit(logits, names[codes], SPHClassifier(), cv=2)
    check_texts(found.plot().figure_)


@pytest.mark.parametrize("name", ["$0-$50", r"$\frac$", "half \ud83d a face"])
def test_names_of_classes_are_no_formulas(name):
    """Found in review: matplotlib takes what stands between two dollars for a formula, and may fail to read it."""
    logits, labels = weak(rows=200)
    classes = np.array([name, *NAMES[1:]], dtype=object)
    head = SPHClassifier(classes=classes).fit(logits, classes[labels])
    shown = name.replace("\ud83d", "?")
    displays = [show.from_estimator(head, logits, classes[labels]) for show in OF_ROWS[:2]]
    displays += [show.from_estimator(head) for show in (WeightsDisplay, ResponseArrayDisplay)]
    for display in [*displays, ClassPairDisplay.from_estimator(head, name, "bee")]:
        display.figure_.draw_without_rendering()
        drawn = [text.get_text() for text in display.figure_.findobj(pyplot.Text)]
        assert any(shown[:6] in text.replace(r"\$", "$") for text in drawn)
        assert not any("$" in text.replace(r"\$", "") for text in drawn)
