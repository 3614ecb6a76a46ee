"""The committed results of the paper's other experiments are whole, and their tables are those of their outcomes."""

import pytest

from experiments.characters import measure as characters_measure
from experiments.characters import report as characters_report
from experiments.characters.methods import METHODS as CHARACTERS_METHODS
from experiments.characters.results import Results as CharactersResults
from experiments.cifar import cases as cifar_cases
from experiments.cifar import report as cifar_report
from experiments.cifar.behaviour import Behaviour
from experiments.cifar.measure import Outcome as CifarOutcome
from experiments.cifar.results import HONEST
from experiments.cifar.results import Results as CifarResults
from experiments.loss import measure as loss_measure
from experiments.loss import report as loss_report
from experiments.loss.results import Results as LossResults
from experiments.other_models import measure as models_measure
from experiments.other_models import report as models_report
from experiments.other_models.results import Results as ModelsResults
from experiments.other_models.verdict import verdict as models_verdict
from experiments.paper.results import Outcome as VmnistOutcome
from experiments.paper.results import Results as VmnistResults
from experiments.runs.csv_records import read_records
from experiments.training_samples import measure as samples_measure
from experiments.training_samples import report as samples_report
from experiments.vendor import measure as vendor_measure
from experiments.vendor import report as vendor_report
from experiments.vendor.results import Results as VendorResults
from experiments.zeroshot import report as zeroshot_report
from experiments.zeroshot.measure import LABELS as ZEROSHOT_LABELS
from experiments.zeroshot.measure import Outcome as ZeroShotOutcome
from experiments.zeroshot.methods import HEADS as ZEROSHOT_HEADS
from experiments.zeroshot.methods import LINES as ZEROSHOT_LINES
from experiments.zeroshot.results import Results as ZeroShotResults
from helpers.samples import ROOT

RESULTS = ROOT / "results"
SCORES = RESULTS / "cifar" / "scores"


def text(*parts):
    return RESULTS.joinpath(*parts).read_text()


@pytest.fixture(scope="module")
def cifar():
    return CifarResults(read_records(CifarOutcome, RESULTS / "cifar" / "outcomes.csv"))


@pytest.fixture(scope="module")
def vmnist():
    return VmnistResults(read_records(VmnistOutcome, RESULTS / "vmnist" / "outcomes.csv"))


def test_every_case_of_cifar_is_there_with_each_of_its_methods(cifar):
    measured = {(outcome.key, outcome.method) for outcome in cifar.outcomes}
    wanted = {(case.key, method) for case in cifar_cases.cases(SCORES) for method in case.methods}
    assert wanted <= measured
    assert {data for part, data, *_ in (key for key, _ in measured) if part == "published"} == {
        "cifar10",
        "cifar20",
        "cifar100",
    }


def test_the_tables_of_cifar_are_those_of_its_outcomes(cifar, vmnist):
    records = read_records(Behaviour, RESULTS / "cifar" / "behaviour.csv")
    tables = {
        "networks": cifar_report.networks_table(cifar),
        "summary": cifar_report.summary_table(cifar, vmnist),
        **cifar_report.explanations(cifar, records, vmnist),
    }
    for name, table in tables.items():
        assert text("cifar", f"{name}.md") == table, name
        assert table in text("cifar", "report.md") or name == "summary"


def test_honest_methods_do_no_harm_on_cifar_beyond_chance(cifar):
    """At most one in forty of so many true nulls is significantly worse, on either side of 5 %."""
    tested = [outcome for outcome in cifar.outcomes if outcome.method in HONEST]
    assert len(tested) > 150
    assert len(cifar.significantly_worse()) <= len(tested) / 40


def test_the_models_are_whole():
    outcomes = read_records(models_measure.Outcome, RESULTS / "models" / "outcomes.csv")
    draws = {outcome.draw for outcome in outcomes}
    assert len(outcomes) == 6 * 54 * len(draws)
    assert text("models", "table.md") == models_report.case_table(ModelsResults(outcomes))
    assert text("models", "verdict.md") == models_verdict(ModelsResults(outcomes))


def test_the_training_samples_are_whole():
    outcomes = read_records(samples_measure.Outcome, RESULTS / "training-samples" / "outcomes.csv")
    assert {outcome.key for outcome in outcomes} == {case.key for case in samples_measure.cases()}
    assert text("training-samples", "table.md") == samples_report.size_table(outcomes)
    assert text("training-samples", "verdict.md") == samples_report.verdict(outcomes)


def test_the_losses_are_whole():
    outcomes = read_records(loss_measure.Outcome, RESULTS / "loss" / "outcomes.csv")
    assert {outcome.key for outcome in outcomes} == {case.key for case in loss_measure.cases()}
    assert text("loss", "table.md") == loss_report.size_table(LossResults(outcomes))
    assert text("loss", "verdict.md") == loss_report.answers(LossResults(outcomes))


def test_the_shipped_models_are_whole():
    outcomes = read_records(vendor_measure.Outcome, RESULTS / "vendor" / "outcomes.csv")
    assert {outcome.key for outcome in outcomes} == {task.key for task in vendor_measure.tasks()}
    results = VendorResults(outcomes)
    assert text("vendor", "table.md") == vendor_report.gain_table(results)
    assert text("vendor", "safety.md") == vendor_report.safety_table(results)
    assert text("vendor", "verdict.md") == vendor_report.verdict(results)


def test_the_characters_are_whole():
    outcomes = read_records(characters_measure.Outcome, RESULTS / "characters" / "outcomes.csv")
    results = CharactersResults(outcomes)
    tasks = characters_measure.tasks(results.draws, most_labels=results.per_class[-1])
    methods = [name for name in CHARACTERS_METHODS if any(one.method == name for one in outcomes)]
    assert {"softmax", "auto"} <= set(methods)
    expected = {(*task, name) for task in tasks for name in methods if characters_measure.is_tried(name, task)}
    assert {(*one.key, one.method) for one in outcomes} == expected
    assert text("characters", "summary.md") == characters_report.summary_table(results)
    assert text("characters", "cost.md") == characters_report.cost_table(results)
    assert text("characters", "verdict.md") == characters_report.verdict(results)
    assert not [one for one in results.every("auto") if one.significantly_worse]


@pytest.fixture(scope="module")
def zeroshot():
    return read_records(ZeroShotOutcome, RESULTS / "zeroshot" / "outcomes.csv")


def test_every_draw_of_zeroshot_has_every_line_with_every_number_of_labels(zeroshot):
    draws = {outcome.draw for outcome in zeroshot}
    measured = {(*outcome.key, outcome.method) for outcome in zeroshot}
    assert measured == {(draw, labels, line) for draw in draws for labels in ZEROSHOT_LABELS for line in ZEROSHOT_LINES}


def test_the_tables_of_zeroshot_are_those_of_its_outcomes(zeroshot):
    results = ZeroShotResults(zeroshot)
    assert text("zeroshot", "summary.md") == zeroshot_report.error_table(results)
    assert text("zeroshot", "told_less.md") == zeroshot_report.told_less_table(results)
    assert text("zeroshot", "verdict.md") == zeroshot_report.verdict(results)


def test_no_head_of_zeroshot_is_significantly_worse_and_none_is_behind(zeroshot):
    heads = [outcome for outcome in zeroshot if outcome.method in ZEROSHOT_HEADS]
    assert not [outcome for outcome in heads if outcome.significantly_worse]
    assert "behind in 0 of 20" in text("zeroshot", "verdict.md")
    assert "behind in 0 of 40" in text("zeroshot", "verdict.md")
