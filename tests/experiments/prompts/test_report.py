"""The report of the experiment on prompts: table, words, and the results that are committed."""

from dataclasses import replace

import pytest

from experiments.prompts import report
from experiments.prompts.embeddings import PROMPTS
from experiments.prompts.measure import Outcome, tasks
from experiments.prompts.ways import WAYS
from experiments.runs.csv_records import read_records
from experiments.runs.provenance import read, sentence
from helpers.outcomes import table_cells
from helpers.samples import ROOT

RESULTS = ROOT / "results" / "prompts"
OUTCOME = Outcome(
    draw=0,
    labels=0,
    embeddings=False,
    way="names",
    test_samples=3_080,
    error=0.4,
    log_loss=1.5,
    wins=0,
    losses=0,
    p_value=1.0,
    promised=float("nan"),
    chosen="",
    trust=float("nan"),
    warned="",
    seconds=0.0,
)
COMPARED = {"mean_score": (0.36, 200, 77, 1e-9), "full_length": (0.42, 50, 112, 1e-6)}  # error, wins, losses, p-value


def made(draws=2, quick=False):
    """Every way in every task; heads have half of the zero-shot error, and 1 point more in the second draw."""
    outcomes = []
    for task in tasks(draws, quick):
        for way in WAYS:
            error, wins, losses, p_value = COMPARED.get(way, (0.4, 10, 10, 1.0))
            error = error / 2 + 0.01 * task.draw if task.labels else error
            one = replace(OUTCOME, draw=task.draw, labels=task.labels, embeddings=task.embeddings, way=way)
            chosen = "combination" if task.labels else ""
            outcomes.append(replace(one, error=error, wins=wins, losses=losses, p_value=p_value, chosen=chosen))
    return outcomes


# ---- the table -------------------------------------------------------------------------------------------------------


def test_the_table_has_a_line_for_each_way_with_means_over_draws(tmp_path):
    report.write(made(), tmp_path)
    cells = table_cells(tmp_path / "table.md")
    assert cells[0] == [
        "logits from",
        "zero-shot error",
        "its log loss",
        "AutoHead, 154 labels",
        "AutoHead, 385 labels",
        "AutoHead, embeddings, 385 labels",
    ]
    lines = {line[0]: line[1:] for line in cells[1:]}
    assert list(lines) == [way.title for way in WAYS.values()]
    assert lines["class names, scale 20"] == ["40.0 %", "1.50", "20.5 %", "20.5 %", "20.5 %"]
    assert lines["five prompts, mean score"] == ["36.0 %\\*", "1.50", *["18.5 %\\*"] * 3]
    assert lines["class names, not normalised, scale 1"][0] == "42.0 %†"
    whole = (tmp_path / "report.md").read_text()
    assert (tmp_path / "table.md").read_text() in whole
    assert (tmp_path / "verdict.md").read_text() in whole
    assert all(f'"{prompt}"' in whole for prompt in PROMPTS)
    assert "Number of draws: 2." in whole


def test_a_mark_needs_significance_in_every_draw_and_the_same_direction():
    outcomes = [one for one in made() if one.way == "mean_score" and (one.labels, one.embeddings) == (154, False)]
    assert report.mark(outcomes, "mean_score", (154, False)) == "\\*"
    first, second = outcomes
    assert report.mark([first, replace(second, p_value=0.06)], "mean_score", (154, False)) == ""
    assert report.mark([first, replace(second, wins=77, losses=200)], "mean_score", (154, False)) == ""


def test_a_quick_run_has_a_table_of_what_was_measured():
    heads = report.error_table(made(draws=1, quick=True)).splitlines()[0]
    assert heads == "| logits from | zero-shot error | its log loss | AutoHead, 154 labels |"


# ---- in words --------------------------------------------------------------------------------------------------------


def test_the_words_name_the_best_wording_and_what_scale_and_length_change():
    outcomes = [
        replace(one, error=one.error + 0.004) if one.way == "scale_100" and one.labels == 154 else one for one in made()
    ]
    text = report.verdict(outcomes)
    assert "40.0 % with the class names, and least with five prompts, mean score (36.0 %)." in text
    assert "**AutoHead on scores, 154 labels**: 20.5 % with the class names, 18.5 % to 20.5 % with any wording" in text
    assert (
        "the mean error of AutoHead is 20.50, 20.50 and 20.63 %; with 20 and other folds (`random_state=1`), it is "
        in text
    )
    assert "scales differ by at most 0.4 points, and folds by at most 0.0." in text
    assert "the errors change by +2.0, +1.0, +1.0, +1.0 points" in text


def test_warnings_are_counted_and_so_is_softmax():
    outcomes = [
        replace(one, warned="Odd.", chosen="softmax") if one.way == "scale_1" and one.labels else one for one in made()
    ]
    assert 'AutoHead warned of "Odd." (6) in 54 fits, and kept softmax in 6.' in report.verdict(outcomes)
    assert "AutoHead warned of nothing in 54 fits, and kept softmax in 0." in report.verdict(made())


# ---- committed results -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def committed():
    return read_records(Outcome, RESULTS / "outcomes.csv")


def test_the_committed_results_are_whole_and_their_tables_are_those_of_the_outcomes(committed):
    assert {one.key for one in committed} == set(tasks())
    assert len(committed) == len(WAYS) * len(tasks())
    assert (RESULTS / "table.md").read_text() == report.error_table(committed)
    assert (RESULTS / "verdict.md").read_text() == report.verdict(committed)
    assert (RESULTS / "report.md").read_text() == report.report(committed, sentence(RESULTS))


def test_the_committed_results_name_a_commit_without_changes_and_todays_prompts():
    made_by = read(RESULTS)
    assert len(made_by["commit"]) == 40
    assert made_by["settings"]["prompts"] == list(PROMPTS)
    assert made_by["settings"]["ways"] == list(WAYS)
