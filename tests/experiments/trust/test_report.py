"""The report counts false alarms, harm, coverage and bias."""

from experiments.runs.csv_records import read_records
from experiments.trust import report
from experiments.trust.measure import Outcome
from experiments.trust.worlds import GAIN_KINDS, NULL_KINDS
from helpers.samples import ROOT

RESULTS = ROOT / "results" / "trust"


def outcome(kind, gain, *, draw=0, proven=False, chosen="combination", promised=0.1, low=0.0, high=0.2, classes=3):
    return Outcome(
        kind, classes, 20, 100, draw, chosen, 1.0, proven, 0.5, 0.2, gain, promised, low, high, low, high, 0, 0, 0, 0, 1
    )


def test_false_alarms_and_harm_are_counted():
    found = [outcome("calibrated", -0.02, proven=True), outcome("calibrated", 0.0, draw=1, chosen="softmax")]
    line = report.null_table(found).splitlines()[2]
    assert line == "| calibrated | 100 | 2 | 50.0 % | 50.0 % | +1.00 % | +1.00 % | +0.0000 |"


def test_coverage_and_bias_are_of_heads_that_predict():
    found = [
        outcome("biased", 0.15),
        outcome("biased", 0.3, draw=1, proven=True),
        outcome("biased", 0.0, draw=2, chosen="softmax", promised=0.0, high=0.0),
    ]
    line = report.gain_table(found).splitlines()[2]
    assert line == "| biased | 100 | 3 | 33.3 % | 66.7 % | +15.0 % | -12.5 points | 50.0 % |"


def test_the_committed_tables_are_those_of_the_outcomes():
    outcomes = read_records(Outcome, RESULTS / "outcomes.csv")
    nothing = [one for one in outcomes if one.kind in NULL_KINDS]
    something = [one for one in outcomes if one.kind in GAIN_KINDS]
    assert (RESULTS / "null.md").read_text() == report.null_table(nothing)
    assert (RESULTS / "gain.md").read_text() == report.gain_table(something)
    assert (RESULTS / "verdict.md").read_text() == report.verdict(nothing, something)


def test_false_alarms_are_rare_and_the_interval_covers_the_true_gain():
    outcomes = read_records(Outcome, RESULTS / "outcomes.csv")
    nothing = [one for one in outcomes if one.kind in NULL_KINDS]
    taken = [one for one in outcomes if one.kind in GAIN_KINDS and one.chosen != "softmax"]
    assert sum(one.proven for one in nothing) <= 0.05 * len(nothing)
    assert sum(one.low <= one.gain <= one.high for one in taken) >= 0.9 * len(taken)
