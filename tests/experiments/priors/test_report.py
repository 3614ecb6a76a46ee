"""The report on new class proportions counts errors that are gone, and harm."""

from experiments.priors import report
from experiments.priors.measure import GUARDED, METHODS, Outcome, tasks
from experiments.runs.csv_records import read_records
from helpers.samples import ROOT

RESULTS = ROOT / "results" / "priors"


def outcome(error, *, method=GUARDED, world="Dirichlet 1", samples=200, adapted=True, p_moved=0.01, draw=0):
    return Outcome("case", 400, "softmax", draw, world, samples, method, adapted, 0.2, error, 0.1, 0.9, p_moved, 0.5)


def of_every_method(error, **kwargs):
    return [outcome(error if name == GUARDED else 0.18, method=name, **kwargs) for name in METHODS]


def test_errors_and_harm_are_means_over_draws():
    found = [*of_every_method(0.1), *of_every_method(0.25, draw=1), *of_every_method(0.2, draw=2, adapted=False)]
    line = report.errors_table(found).splitlines()[2]
    assert line.startswith("| Dirichlet 1 | 200 | 3 | 66.7 % | +8.3 % | +10.0 % |")
    assert report.harm_table(found).splitlines()[2].startswith("| Dirichlet 1 | 200 | 3 | 66.7 % | 33.3 % | 0.0 % |")


def test_the_verdict_says_whether_the_targets_are_kept():
    good = report.verdict(of_every_method(0.1))
    assert "Worse than not adapting in 0.0 % of 1 draws (target: less than 5 %, kept)" in good
    assert "aftermax +50.0 %" in good
    assert good.count("missed") == 0
    assert report.verdict(of_every_method(0.3)).count("missed") == 2


def test_worlds_whose_proportions_have_not_changed_are_a_table_of_their_own():
    found = [*of_every_method(0.2, world="the same world", adapted=False, p_moved=0.5), *of_every_method(0.1)]
    assert report.other_table(found).splitlines()[2].startswith("| the same world | 1 | 0.0 % | 0.0 % | 0.0 % |")
    assert "the same world" not in report.errors_table(found)


def test_the_committed_results_are_whole_and_their_tables_those_of_the_outcomes():
    outcomes = read_records(Outcome, RESULTS / "outcomes.csv")
    assert {one.key for one in outcomes} == {task.key for task in tasks()}
    for name in ("errors", "harm", "other", "shares"):
        assert (RESULTS / f"{name}.md").read_text() == getattr(report, f"{name}_table")(outcomes)
    assert (RESULTS / "verdict.md").read_text() == report.verdict(outcomes)


def test_the_targets_are_kept():
    assert "missed" not in (RESULTS / "verdict.md").read_text()
