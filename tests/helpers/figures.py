"""Texts of a matplotlib figure, and samples with named classes to draw."""

from itertools import combinations

import numpy as np
from matplotlib.text import Text

from aftermax.plots import CertaintyDisplay, ConfusionChangeDisplay, GainByClassDisplay, ReliabilityDisplay
from helpers.samples import weak_samples

SAMPLE_DISPLAYS = [GainByClassDisplay, ConfusionChangeDisplay, CertaintyDisplay, ReliabilityDisplay]
NAMES = np.array(["ant", "bee", "cow", "dog", "eel"])
TRUTH = np.array(["ant", "ant", "ant", "bee", "bee", "cow"])
BEFORE = np.array(["ant", "bee", "bee", "ant", "bee", "cow"])
AFTER = np.array(["ant", "ant", "ant", "bee", "ant", "cow"])  # three wins, one loss


def held_out_samples(n_samples=300):
    """Logits, labels and useless features that no head of tests/plots was fitted on."""
    logits, labels = weak_samples(n_samples=n_samples, seed=2)
    return logits, NAMES[labels], np.random.default_rng(1).normal(size=(n_samples, 2))


def texts_of(axes):
    return [text.get_text() for text in axes.texts]


def legend_of(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def check_texts(figure):
    """No text overlaps another or leaves the figure."""
    boxes = text_boxes(figure)
    assert len(boxes) > 5
    inside = figure.bbox.padded(2)
    for text, box in boxes:
        assert inside.contains(box.x0, box.y0), text
        assert inside.contains(box.x1, box.y1), text
    for (text, box), (other, second) in combinations(boxes, 2):
        assert not box.overlaps(second), (text, other)


def text_boxes(figure):
    """Every text that is drawn, and its box; a little smaller than it is, as letters have a margin."""
    figure.canvas.draw()
    texts = []
    for axes in figure.axes:
        texts += [child for child in axes.get_children() if isinstance(child, Text)]  # titles too
        texts += axes.get_legend().get_texts() if axes.get_legend() else []
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            texts += [axis.label, *(label for label in ticks if label.get_visible())]
    drawn = [text for text in texts if text.get_text() and text.get_visible()]
    return [(text.get_text(), text.get_window_extent().padded(-1)) for text in drawn]
