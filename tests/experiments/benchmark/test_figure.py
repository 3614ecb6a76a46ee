"""The figure of the benchmark can be read where it is shown: on a page, and on a phone."""

from dataclasses import replace

import pytest
from matplotlib import pyplot
from matplotlib.text import Text

from experiments.benchmark import figure
from experiments.benchmark.results import Results
from experiments.benchmark.titles import FAMILIES
from helpers.outcomes import OUTCOME

LEAST = 8.0  # points; as wide as a phone of 400 pixels, the figure's inch is 60 pixels


@pytest.fixture
def drawn():
    outcomes = [
        replace(OUTCOME, family=family, name="cifar10-resnet20-contrast", rows=5_000, method=method, gain=gain)
        for family in FAMILIES
        for method, gain in (("softmax", 0.0), ("sph", 0.1), ("auto", 0.3), ("svc", -0.9), ("sms", 0.2))
    ]
    results = Results(outcomes)
    yield figure.draw(results, results.peers, figure.ON_LOGITS)
    pyplot.close()


def test_all_families_are_in_one_column_on_one_scale(drawn):
    drawn.draw_without_rendering()
    assert [axes.get_title() for axes in drawn.axes] == list(FAMILIES.values())
    assert len({round(axes.get_position().x0, 6) for axes in drawn.axes}) == 1
    assert len({axes.get_xlim() for axes in drawn.axes}) == 1
    assert drawn.axes[0].get_xlim()[0] == figure.MIN_X


def test_no_text_is_small_or_outside_of_the_figure(drawn):
    drawn.draw_without_rendering()
    texts = [text for text in drawn.findobj(Text) if text.get_visible() and text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= LEAST
    assert drawn.get_figwidth() <= 7
    needed = drawn.get_tightbbox()
    assert needed.x0 >= 0
    assert needed.x1 <= drawn.get_figwidth()
