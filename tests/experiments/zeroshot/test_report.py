"""The report of the experiment on a zero-shot classifier: means, standings, promises and the figure."""

from dataclasses import replace

import pytest
from matplotlib import pyplot

from experiments.zeroshot import report
from experiments.zeroshot.figure import PANELS, STYLES, draw
from experiments.zeroshot.measure import Outcome
from experiments.zeroshot.methods import HEADS, LINES
from experiments.zeroshot.results import Mean, Results, agree, promise, standing
from helpers.figures import check_texts
from helpers.outcomes import table_cells

OUTCOME = Outcome(
    draw=0,
    labels=154,
    method="auto",
    classes=77,
    labelled_classes=65,
    test_samples=3_080,
    zero_shot_error=0.4,
    told_error=0.4,
    error=0.3,
    wins=400,
    losses=92,
    p_value=1e-9,
    gain=0.25,
    gain_low=0.22,
    gain_high=0.28,
    rest_gain=0.2,
    rest_low=0.18,
    rest_high=0.22,
    expected_gain=0.3,
    expected_low=0.24,
    expected_high=0.36,
    new_low=0.2,
    new_high=0.4,
    chosen="combination",
    trust=1.0,
    fit_seconds=3.0,
    predict_seconds=0.004,
)
ERRORS = {"zero_shot": 0.4, "no_labels": 0.38, "auto": 0.3, "auto_top5": 0.35, "auto_rounded": 0.325, "l2sp": 0.28}


def made_outcomes(draws=4, labels=(154, 385), **errors):
    """Every line; errors rise by one point from draw to draw, except those of lines without labels."""
    known = ERRORS | errors
    return [
        replace(
            OUTCOME,
            draw=number,
            labels=count,
            method=name,
            error=known.get(name, 0.3) + 0.01 * number * (name not in ("zero_shot", "no_labels")),
            chosen="combination" if name in HEADS else "",
        )
        for number in range(draws)
        for count in labels
        for name in LINES
    ]


# ---- means and standings ---------------------------------------------------------------------------------------------


def test_differences_are_over_the_same_draws():
    results = Results(made_outcomes(auto=0.29, sms=0.3))
    assert results.error("auto", 154).value == pytest.approx(0.305)
    assert results.error("auto", 154).low < 0.29
    gap = results.difference("auto", "sms", 154)
    assert tuple(gap) == pytest.approx((-0.01,) * 3)
    assert standing(gap) == "ahead"


def test_level_is_what_is_neither_ahead_nor_behind():
    assert [standing(Mean(0.0, *ends)) for ends in ((-2, -1), (-1, 1), (1, 2), (float("nan"),) * 2)] == [
        "ahead",
        "level",
        "behind",
        "level",
    ]


def test_a_head_is_compared_with_every_other_line_and_every_number_of_labels():
    results = Results(made_outcomes(auto_features=0.29, l2sp=0.27))
    assert results.best_rival("auto_features", 385) == "l2sp"
    assert results.behind("auto_features") == [("l2sp", 154), ("l2sp", 385)]
    assert results.standings("auto_features").total() == 2 * 8


# ---- promises --------------------------------------------------------------------------------------------------------


def test_half_widths_add_as_standard_deviations_do():
    assert agree((-0.3, 0.3), (0.1, 0.9))  # 0.5 apart, and 0.3^2 + 0.4^2 = 0.5^2
    assert not agree((-0.3, 0.3), (0.11, 0.91))
    assert agree((0.0, 0.0), (0.0, 0.0))


def test_promises_are_of_the_draws_in_which_a_head_predicts():
    kept = replace(OUTCOME, chosen="softmax", gain=0.0, expected_gain=0.0, expected_low=0.0, expected_high=0.0)
    missed = replace(OUTCOME, gain=0.22, gain_low=0.19, gain_high=0.25)
    found = promise([kept, OUTCOME, missed])
    assert found.heads == 2
    assert found.promised == pytest.approx(0.3)
    assert found.true == pytest.approx(0.235)
    assert (found.held, found.covered, found.rest_covered) == (0.5, 0.5, 0.0)
    assert promise([kept]) is None


# ---- the report ------------------------------------------------------------------------------------------------------


def test_the_report_holds_its_tables_and_counts_harm(tmp_path):
    outcomes = made_outcomes()
    worse = [
        replace(one, wins=10, losses=60, p_value=1e-6) if one.method == "knn_features" else one for one in outcomes
    ]
    said = report.write(worse, tmp_path)
    assert "of 8 fits: batch calibration, without labels in 0; SPH, chosen honestly in 0;" in said
    assert "kNN in 8" in said
    whole = (tmp_path / "report.md").read_text()
    for name in ("summary", "standings", "told_less", "promises", "cost", "verdict"):
        assert (tmp_path / f"{name}.md").read_text() in whole, name
    assert {"error.png", "error.pdf"} <= {path.name for path in tmp_path.iterdir()}
    assert "python -m experiments zeroshot --quick" in whole
    assert "{" not in whole


def test_errors_have_an_interval_where_draws_differ(tmp_path):
    report.write(made_outcomes(), tmp_path)
    cells = {line[0]: line[1:] for line in table_cells(tmp_path / "summary.md")}
    assert cells["zero-shot argmax"] == ["40.0 %", "40.0 %"]
    assert cells["**AutoHead on scores**"] == ["31.5 % ± 2.1", "31.5 % ± 2.1"]


def test_what_survives_is_a_share_of_what_all_scores_give(tmp_path):
    report.write(made_outcomes(draws=1), tmp_path)
    assert table_cells(tmp_path / "told_less.md")[1][:5] == ["154", "40.0 %", "+25.0 %", "75.0 %", "50.0 %"]
    assert (
        "75.0 % with probabilities of two digits; 50.0 % with top 5 classes only"
        in (tmp_path / "verdict.md").read_text()
    )


def test_every_line_is_in_the_figure_and_no_text_overlaps_another():
    assert {name for names in PANELS.values() for name in names} == set(STYLES) == set(LINES)
    figure = draw(Results(made_outcomes(labels=(154, 385, 770, 1_540, 3_850))))
    check_texts(figure)
    pyplot.close(figure)
