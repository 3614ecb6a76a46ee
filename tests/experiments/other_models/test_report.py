"""The report of the experiment on other models: tables, verdict and figure."""

from dataclasses import replace

import pytest

from aftermax._utils.paired_tests import exact_mcnemar
from experiments.other_models import report
from experiments.other_models.measure import Outcome
from experiments.other_models.models import MODELS
from experiments.other_models.results import Results
from experiments.other_models.verdict import tally, verdict, yes_partly_no
from experiments.runs.csv_records import read_records
from experiments.runs.provenance import sentence
from helpers.samples import ROOT

GAINS = {
    "argmax": 0.0,
    "sph_best_on_test": 0.1,
    "sph_chosen": 0.05,
    "sph_chosen_scaled": 0.15,
    "auto": 0.4,
    "full_d": -0.3,
}


def outcome(data, size, model, draw, method, gain):
    wins, losses = (round(50 + 100 * gain), 50) if gain > 0 else (50, round(50 - 100 * gain))
    p_value = exact_mcnemar(wins, losses)
    looks = method == "sph_best_on_test"
    return Outcome(data, size, model, draw, method, looks, 498, 499, 0.2, gain, wins, losses, p_value, "", 1.0)


def made_outcomes(**changes):
    """Two draws with gains that differ by two points; ``changes`` are gains by model and method."""
    return [
        outcome("digits", size, model, draw, method, changes.get(f"{model}_{method}", gain) + 0.02 * (draw - 0.5))
        if method != "argmax"
        else outcome("digits", size, model, draw, method, 0.0)
        for size in (100, 800)
        for model in MODELS
        for draw in range(2)
        for method, gain in GAINS.items()
    ]


def test_the_table_has_means_and_counts_of_significant_draws(tmp_path):
    text = report.write(made_outcomes(), tmp_path)
    assert (
        "| digits | 100 | random forest | 20.0 % | +10.0 % | **+5.0 % (0 / 0)** | +15.0 % (0 / 0) | "
        "+40.0 % (2 / 0) | -30.0 % (0 / 2) |"
    ) in text
    assert "looks at the test labels" in text.splitlines()[0]
    assert (tmp_path / "table.md").read_text() in (tmp_path / "report.md").read_text()
    assert (tmp_path / "gain.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "gain.pdf").read_bytes().startswith(b"%PDF")


def test_the_verdict_is_about_the_other_models_only():
    text = verdict(Results(made_outcomes(softmax_sph_best_on_test=-0.5)))
    assert "under the paper's protocol (*looks at the test labels*): yes.** Of the 16 cases" in text
    assert "(softmax networks: -50.0 %)" in text


def test_a_single_model_without_a_gain_makes_it_partly():
    text = verdict(Results(made_outcomes(svm_sph_best_on_test=-0.1)))
    assert "(*looks at the test labels*): partly.** Of the 16 cases of models that are not softmax networks, 14" in text


def test_honest_gains_must_be_significant_in_some_draw():
    text = verdict(Results(made_outcomes()))
    assert "chosen honestly: no.**" in text
    assert "Models with a gain: none." in text
    text = verdict(Results(made_outcomes(**{f"{model}_sph_chosen": 0.4 for model in MODELS})))
    assert "chosen honestly: yes.**" in text
    assert "It does no harm" in text
    assert "and keeps the argmax in 0." in text
    kept = [replace(made, chosen="softmax") for made in made_outcomes()]
    assert "and keeps the argmax in 32." in verdict(Results(kept))
    assert "It does harm" in verdict(Results(made_outcomes(svm_sph_chosen=-0.4)))


def test_the_full_d_must_be_far_better_here_and_worse_there():
    assert "sometimes worse: no.**" in verdict(Results(made_outcomes()))
    text = verdict(Results(made_outcomes(hebbian_full_d=0.25)))
    assert (
        "sometimes worse: yes.** Naive Bayes on the responses has at least 20.0 % fewer errors in 2 of 16 cases" in text
    )
    assert "After the Hebbian readout: +25.0 % (digits, 100), +25.0 % (digits, 800)." in text


def test_scaling_helps_only_if_it_gains_more_and_more_often():
    assert "takes responses for logits: not shown.**" in verdict(Results(made_outcomes()))  # more, but not more often
    text = verdict(Results(made_outcomes(**{f"{model}_sph_chosen_scaled": 0.4 for model in MODELS})))
    assert "takes responses for logits: yes.**" in text
    assert "the honest gain is +40.0 %, without it +5.0 %" in text


def test_where_autohead_is_worse_is_named():
    assert "Worse: nowhere." in verdict(Results(made_outcomes()))
    text = verdict(Results(made_outcomes(neighbours_auto=-0.4)))
    assert "Worse: k nearest neighbours (digits, 100), k nearest neighbours (digits, 800)." in text


def test_cases_are_summed_up():
    results = Results(made_outcomes())
    count = tally(results, "auto", results.others)
    assert count.gain == pytest.approx(0.4)
    assert count[1:] == (16, 16, 32, 0, 32)
    assert [yes_partly_no(holding, 4) for holding in (4, 3, 2, 1)] == ["yes", "partly", "partly", "no"]


def test_the_committed_report_is_that_of_the_committed_outcomes():
    folder = ROOT / "results" / "models"
    results = Results(read_records(Outcome, folder / "outcomes.csv"))
    assert report.case_table(results) == (folder / "table.md").read_text()
    assert report.report(results, sentence(folder)) == (folder / "report.md").read_text()


def test_in_the_committed_results_best_on_test_is_the_ceiling_of_the_honest_choice():
    outcomes = read_records(Outcome, ROOT / "results" / "models" / "outcomes.csv")
    ceilings = {outcome.key: outcome.gain for outcome in outcomes if outcome.looks_at_test_labels}
    honest = [outcome for outcome in outcomes if outcome.method == "sph_chosen"]
    assert len(ceilings) == len(honest) > 0
    assert all(max(ceilings[outcome.key], 0.0) >= outcome.gain for outcome in honest)
