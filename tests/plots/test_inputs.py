"""Which heads each Display takes, and what it asks of them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from aftermax import AutoHead, SPHClassifier
from aftermax.plots import (
    CertaintyDisplay,
    ClassPairDisplay,
    ConfusionChangeDisplay,
    GainByClassDisplay,
    ResponseArrayDisplay,
    WeightsDisplay,
)
from helpers.figures import NAMES, SAMPLE_DISPLAYS, held_out_samples
from helpers.samples import make_samples


@pytest.mark.parametrize("display", SAMPLE_DISPLAYS)
def test_every_display_of_samples_takes_every_head(display, search, with_features, sph_by_auto):
    logits, labels, features = held_out_samples()
    grid = GridSearchCV(SPHClassifier(), {"certainty": [0.5, 0.9]}, cv=2).fit(logits, labels)
    for head, given in ((search, None), (with_features[0], features), (grid, None)):
        drawn = display.from_estimator(head, logits, labels, features=given)
        assert drawn.figure_ is np.ravel(drawn.axes_)[0].figure
    drawn = display.from_estimator(sph_by_auto, pd.DataFrame(logits, columns=NAMES), labels, features=features)
    drawn.figure_.canvas.draw()


def test_the_head_predicts_with_the_features_that_are_passed(with_features):
    head, _ = with_features
    logits, labels, features = held_out_samples()
    display = ConfusionChangeDisplay.from_estimator(head, logits, labels, features=features)
    assert np.trace(display.after) == np.count_nonzero(head.predict(logits, features) == labels)
    with pytest.raises(ValueError, match="fitted with features: pass those of these samples too"):
        ConfusionChangeDisplay.from_estimator(head, logits, labels)


def test_features_for_a_head_that_takes_none_are_refused(search):
    logits, labels, features = held_out_samples()
    with pytest.raises(TypeError, match=r"SPHClassifierCV\.predict takes no features: leave them out"):
        GainByClassDisplay.from_estimator(search, logits, labels, features=features)


def test_the_gate_is_the_one_that_the_head_was_fitted_with(search, with_features, sph_by_auto):
    logits, labels, _ = held_out_samples()
    frame = pd.DataFrame(logits, columns=NAMES)
    assert CertaintyDisplay.from_estimator(search, logits, labels).gate == search.best_params_["certainty"] > 0
    assert CertaintyDisplay.from_estimator(sph_by_auto, frame, labels).gate == sph_by_auto.fitted_head_.certainty > 0
    assert CertaintyDisplay.from_estimator(with_features[0], logits, labels).gate is None
    head = SPHClassifier(certainty=0.7).fit(logits, labels).set_params(certainty=0.2)
    assert CertaintyDisplay.from_estimator(head, logits, labels).gate == 0.7
    grid = GridSearchCV(SPHClassifier(), {"certainty": [0.6]}, cv=2).fit(logits, labels)
    assert CertaintyDisplay.from_estimator(grid, logits, labels).gate == 0.6


def test_a_head_that_was_not_fitted_on_logits_is_refused():
    logits, labels = make_samples(n_classes=5)
    head = SPHClassifier(classes=range(5)).fit(logits, labels)
    head.classes_ = head.classes_[:4]
    with pytest.raises(ValueError, match="X has 5 columns and SPHClassifier has 4 classes: pass a head"):
        GainByClassDisplay.from_estimator(head, logits, labels)


def test_sph_is_drawn_for_a_search_and_for_an_autohead_with_the_names_of_the_classes(search, sph_by_auto):
    for head, sph in ((search, search.fitted_head_), (sph_by_auto, sph_by_auto.fitted_head_)):
        columns = ResponseArrayDisplay.from_estimator(head)
        assert [axes.get_title() for axes in columns.axes_] == [f"unit {name}" for name in NAMES]
        np.testing.assert_array_equal(columns.response_array.center, sph.response_array.center)
        pair = ClassPairDisplay.from_estimator(head, "bee", "eel")
        assert (pair.first, pair.second) == (1, 4)
        weights = WeightsDisplay.from_estimator(head)
        np.testing.assert_array_equal(weights.weights, sph.weights)
        assert [label.get_text() for label in weights.axes_.get_yticklabels()] == NAMES.tolist()


@pytest.mark.parametrize("display", [ResponseArrayDisplay, WeightsDisplay])
def test_heads_without_sph_are_refused(display, with_features):
    with pytest.raises(TypeError, match=r"This AutoHead chose 'combination', and only SPH has .*: pass a fitted"):
        display.from_estimator(with_features[0])
    with pytest.raises(NotFittedError):
        display.from_estimator(AutoHead())
