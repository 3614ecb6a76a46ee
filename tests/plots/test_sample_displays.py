"""What all Displays of labelled samples refuse and draw."""

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.exceptions import NotFittedError

from aftermax import SPHClassifier
from aftermax.plots import (
    ClassPairDisplay,
    ConfusionChangeDisplay,
    GainByClassDisplay,
    ResponseArrayDisplay,
    WeightsDisplay,
)
from helpers.binary import one_logit
from helpers.figures import AFTER, BEFORE, NAMES, SAMPLE_DISPLAYS, TRUTH, check_texts
from helpers.samples import make_samples, weak_samples


@pytest.mark.parametrize("display", SAMPLE_DISPLAYS)
def test_invalid_samples_are_refused_with_what_to_do(display, network):
    head, logits, labels = network
    with pytest.raises(NotFittedError):
        display.from_estimator(SPHClassifier(), logits, labels)
    with pytest.raises(ValueError, match="800 samples but there are 10 labels: pass one label per sample"):
        display.from_estimator(head, logits, labels[:10])
    with pytest.raises(ValueError, match="expecting 10 features as input: pass the logits of the model"):
        display.from_estimator(head, logits[:, :9], labels)
    with pytest.raises(ValueError, match=r"NaN at row 0, column 0\. Drop such samples"):
        display.from_estimator(head, logits * np.nan, labels)
    with pytest.raises(ValueError, match="logits have no samples"):
        display.from_estimator(head, logits[:0], labels[:0])
    with pytest.raises(ValueError, match="labels hold 10, 11, not among the classes"):
        display.from_estimator(head, logits, labels + 2)
    with pytest.raises(ValueError, match="'0', '1', '2'"):
        display.from_estimator(head, logits, labels.astype(str))


@pytest.mark.parametrize("display", SAMPLE_DISPLAYS)
@pytest.mark.parametrize("as_passed", [np.ravel, lambda z: z.reshape(-1, 1)], ids=["flat", "column"])
def test_one_logit_for_each_sample_is_drawn(display, as_passed):
    z, labels = one_logit()
    head = SPHClassifier().fit(as_passed(z), labels)
    assert display.from_estimator(head, as_passed(z), labels).figure_ is not None


@pytest.mark.parametrize("display", [GainByClassDisplay, ConfusionChangeDisplay])
def test_invalid_predictions_are_refused_with_what_to_do(display):
    with pytest.raises(ValueError, match="y_true has 6 samples and after has 5: pass the same samples in both"):
        display.from_predictions(TRUTH, BEFORE, AFTER[:5])
    with pytest.raises(
        ValueError, match=r"before has shape \(6, 2\): pass one class for each sample; for probabilities"
    ):
        display.from_predictions(TRUTH, np.zeros((6, 2)), AFTER)
    with pytest.raises(ValueError, match=r"mix kinds of labels .*make them all strings or all whole numbers"):
        display.from_predictions(TRUTH, np.zeros(6, dtype=int), AFTER)
    with pytest.raises(ValueError, match=r"y_true has shape \(0,\)"):
        display.from_predictions([], [], [])
    with pytest.raises(ValueError, match="labels hold 'cow', not among the classes"):
        display.from_predictions(TRUTH, BEFORE, AFTER, classes=["ant", "bee"])
    with pytest.raises(ValueError, match="with 3 distinct values: pass a list that names each class once"):
        display.from_predictions(TRUTH, BEFORE, AFTER, classes=["ant", "bee", "cow", "cow"])
    with pytest.raises(ValueError, match="contains NaN or None at row 1"):
        display.from_predictions([0.0, np.nan], [0.0, 1.0], [0.0, 1.0])


@pytest.mark.parametrize("display", SAMPLE_DISPLAYS)
def test_samples_of_one_class_only_can_be_drawn(display, network):
    head, logits, labels = network
    display.from_estimator(head, logits[labels == 3], labels[labels == 3]).figure_.canvas.draw()


@pytest.mark.parametrize("size", [2, 3, 10, 100])
@pytest.mark.parametrize("display", SAMPLE_DISPLAYS)
def test_no_text_overlaps_another_or_leaves_the_figure(display, size):
    names = np.array([f"class number {n}" for n in range(size)])
    logits, codes = make_samples(n_samples=20 * size, n_classes=size, home=2.0)
    head = SPHClassifier(certainty=0.7, classes=names).fit(logits, names[codes])
    check_texts(display.from_estimator(head, logits, names[codes]).figure_)


@pytest.mark.parametrize("name", ["$0-$50", r"$\frac$", "half \ud83d a face"])
def test_names_of_classes_are_not_typeset_as_formulas(name):
    """Found in review: matplotlib takes what stands between two dollars for a formula, and may fail to read it."""
    logits, labels = weak_samples(n_samples=200)
    classes = np.array([name, *NAMES[1:]], dtype=object)
    head = SPHClassifier(classes=classes).fit(logits, classes[labels])
    shown = name.replace("\ud83d", "?")
    displays = [show.from_estimator(head, logits, classes[labels]) for show in SAMPLE_DISPLAYS[:2]]
    displays += [show.from_estimator(head) for show in (WeightsDisplay, ResponseArrayDisplay)]
    for display in [*displays, ClassPairDisplay.from_estimator(head, name, "bee")]:
        display.figure_.draw_without_rendering()
        drawn = [text.get_text() for text in display.figure_.findobj(pyplot.Text)]
        assert any(shown[:6] in text.replace(r"\$", "$") for text in drawn)
        assert not any("$" in text.replace(r"\$", "") for text in drawn)
