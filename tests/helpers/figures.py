"""figures."""

from itertools import combinations


def texts_of(axes):
    return [text.get_text() for text in axes.texts]


def check_texts(figure):
    """No text of it runs into another or out of the picture."""
    boxes = text_boxes(figure)
    assert len(boxes) > 5
    inside = figure.bbox.padded(2)
    for text, box in boxes:
        assert inside.contains(box.x0, box.y0), text
        assert inside.contains(box.x1, box.y1), text
    for (text, box), (other, second) in combinations(boxes, 2):
        assert not box.overlaps(second), (text, other)


def text_boxes(figure):
    """Every text that is drawn, and where; a little smaller than it is, as letters have air around them."""
    figure.canvas.draw()
    found = []
    for axes in figure.axes:
        found += [*axes.texts, axes.title, axes._left_title]
        found += axes.get_legend().get_texts() if axes.get_legend() else []
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            found += [axis.label, *(label for label in ticks if label.get_visible())]
    drawn = [text for text in found if text.get_text() and text.get_visible()]
    return [(text.get_text(), text.get_window_extent().padded(-1)) for text in drawn]
