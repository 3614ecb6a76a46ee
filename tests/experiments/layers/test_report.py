"""The report of the experiment on layers: table, answers, and the results that are committed."""

from dataclasses import replace

import pytest

from experiments.layers import measure, report
from experiments.layers.measure import LAYERS, Outcome, tasks
from experiments.runs.csv_records import read_records
from experiments.runs.provenance import read, sentence
from helpers.samples import ROOT

RESULTS = ROOT / "results" / "layers"
OUTCOME = Outcome(
    data="vmnist",
    trained_on=100,
    network=0,
    images="clean",
    samples=400,
    layers="logits",
    features=0,
    test_samples=4_000,
    softmax_error=0.25,
    error=0.2,
    gain=0.2,
    wins=300,
    losses=100,
    p_value=1e-9,
    wins_over_last=50,
    losses_to_last=50,
    p_value_to_last=1.0,
    promised=0.2,
    proven=True,
    chosen="combination",
    trust=1.0,
    log_loss=0.5,
    seconds=2.0,
)
GAINS = {"logits": 0.2, "last": 0.24, "earlier": 0.1, "both": 0.3}
OVER_LAST = {"logits": (50, 50), "last": (0, 0), "earlier": (20, 160), "both": (120, 30)}


def made(**changes):
    """The four outcomes of one task; both layers are significantly better than the last one, the earlier one worse."""
    return [
        replace(
            OUTCOME,
            layers=layers,
            features=number,
            gain=GAINS[layers],
            promised=GAINS[layers],
            wins_over_last=OVER_LAST[layers][0],
            losses_to_last=OVER_LAST[layers][1],
            **changes,
        )
        for number, layers in enumerate(LAYERS)
    ]


def test_the_table_has_a_line_for_each_case_with_means_over_networks(tmp_path):
    second = [replace(one, network=1, gain=one.gain + 0.02) for one in made()]
    noisy = made(data="cifar10", trained_on=50_000, images="noise", samples=500)
    text = report.write([*noisy, *made(), *second], tmp_path)
    assert text.splitlines()[2:4] == [
        "| vMNIST | 100 | 400 | 2 | 25.0 % | +21.0 % | +25.0 % | +11.0 %† | +31.0 %\\* | +31.0 % | 2 s (2 s) |",
        "| CIFAR-10, noise | 50,000 | 500 | 1 | 25.0 % | +20.0 % | +24.0 % | +10.0 %† | +30.0 %\\* | +30.0 % | 2 s "
        "(2 s) |",
    ]
    written = (tmp_path / "report.md").read_text()
    assert (tmp_path / "table.md").read_text() in written
    assert (tmp_path / "verdict.md").read_text() in written
    assert "left out" not in written
    assert "left out" in report.report(made(), "")


def test_the_answers_are_yes_no_and_in_some_cases():
    text = report.verdict(made())
    assert "Do both layers beat the last one? Yes: significantly better in 1 of 1 cases, worse in 0.** " in text
    assert "Fewer errors by +6.0 points in the mean, +6.0 in the median, +6.0 to +6.0." in text
    assert (
        "Does the earlier layer alone beat the last one? No: significantly better in 0 of 1 cases, worse in 1." in text
    )
    assert "Does the last layer beat the logits only? No: significantly better in 0 of 1 cases, worse in 0." in text
    same = [replace(one, samples=4_000, wins_over_last=9, losses_to_last=9) for one in made()]
    some = report.verdict([*made(), *same, *(replace(one, trained_on=1_000) for one in same)])
    assert "Do both layers beat the last one? In some cases: significantly better in 1 of 3 cases, worse in 0." in some


def test_the_logits_are_compared_with_the_last_layer_the_other_way_round():
    worse = [replace(one, wins_over_last=10, losses_to_last=90) if one.layers == "logits" else one for one in made()]
    text = report.verdict(worse)
    assert "Does the last layer beat the logits only? Yes: significantly better in 1 of 1 cases, worse in 0.** " in text
    assert "Fewer errors by +4.0 points in the mean, +4.0 in the median, +4.0 to +4.0." in text


def test_answers_are_corrected_for_the_number_of_cases():
    """18 against 6 is p = 0.023: a mark in the table, and no answer if there are ten cases."""
    few = [replace(one, wins_over_last=18, losses_to_last=6) if one.layers == "both" else one for one in made()]
    many = [replace(one, trained_on=100 + number) for number in range(10) for one in few]
    assert "+30.0 %\\*" in report.case_table(many)
    assert "Do both layers beat the last one? No: significantly better in 0 of 10 cases" in report.verdict(many)
    assert "Do both layers beat the last one? Yes" in report.verdict(few)


def test_the_head_that_expects_most_is_chosen_without_a_look_at_its_gain():
    outcomes = [replace(one, promised=0.4 if one.layers == "earlier" else 0.3) for one in made()]
    assert [one.layers for one in report.chosen(outcomes)] == ["earlier"]
    assert [one.layers for one in report.chosen([replace(one, promised=0.0) for one in made()])] == ["logits"]


@pytest.mark.parametrize(("wins", "losses", "harmed"), [(100, 200, 4), (100, 101, 0), (200, 100, 0)])
def test_harm_is_counted_where_it_is_significant(wins, losses, harmed):
    outcomes = [replace(one, wins=wins, losses=losses) for one in made()]
    assert f"Significantly worse than softmax (p < 0.05): {harmed} of 4." in report.verdict(outcomes)


# ---- committed results -----------------------------------------------------------------------------------------------


def test_the_committed_results_are_whole_and_their_tables_are_those_of_the_outcomes():
    outcomes = read_records(Outcome, RESULTS / "outcomes.csv")
    assert {one.key for one in outcomes} == set(tasks(cifar=True))
    assert len(outcomes) == len(LAYERS) * len(tasks(cifar=True))
    assert (RESULTS / "table.md").read_text() == report.case_table(outcomes)
    assert (RESULTS / "verdict.md").read_text() == report.verdict(outcomes)
    assert (RESULTS / "report.md").read_text() == report.report(outcomes, sentence(RESULTS))


def test_the_committed_results_name_a_commit_without_changes_and_todays_settings():
    made_by = read(RESULTS)
    assert len(made_by["commit"]) == 40
    settings = measure.LayersExperiment(None).settings()
    assert made_by["settings"]["cifar10"]["epochs"] == settings["cifar10"]["epochs"]
    assert made_by["settings"]["noise"] == settings["noise"]


def test_what_the_docs_say_in_words_is_so_in_the_committed_results():
    cases = report.cases_of(read_records(Outcome, RESULTS / "outcomes.csv"))
    better = [case for case in cases if case.against_last("both")[1] < 0.05 and case.against_last("both")[0] > 0]
    assert [(case.data, case.trained_on, case.samples) for case in better] == [
        ("vmnist", 100, 400),
        ("vmnist", 1_000, 400),
    ]
    alone = [one for one in better[1].outcomes if one.layers in ("last", "earlier") and one.network == 0]
    assert {one.chosen for one in alone} == {"softmax"}
    assert not any(case.against_last("both")[1] < 0.05 and case.against_last("both")[0] < 0 for case in cases)
    for case in cases:
        if case.data == "cifar10":
            assert max(case.gain(layers) for layers in LAYERS) - case.gain("logits") < 0.03
        elif case.trained_on == 100 or case.samples == 4_000:
            assert case.gain("last") - case.gain("logits") > 0.15
    assert sum(case.gain_of_chosen() for case in cases) <= sum(case.gain("both") for case in cases)
    assert report.verdict([one for case in cases for one in case.outcomes]).endswith("(p < 0.05): 0 of 40.\n")
