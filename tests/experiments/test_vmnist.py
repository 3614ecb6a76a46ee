"""The paper's main experiment: networks, methods, a run that goes on where it stopped, claims, report."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from aftermax import SPHClassifier
from experiments.paper import figures
from experiments.paper import report as vmnist_report
from experiments.paper.claims import Claim, claims
from experiments.data.mnist import MNIST, load_mnist
from experiments.paper.methods import METHODS
from experiments.networks.mnist_networks import Case, cases, draw_rows, network_scores, seed_of, train_network
from experiments.paper.results import Outcome, Results
from experiments.networks.recipes import RECIPES
from experiments.runs.csv_records import read_records, write_records
from experiments.paper.vmnist import Experiment
from experiments.paper.wasted_samples import from_accuracies, wasted_samples
from helpers.samples import ROOT

GRID = {"certainty": [0.6, 0.9], "distance_power": [1.0, 2.0], "min_gain": [-0.05, 0.0]}
FEW = [Case(100, 0), Case(100, 1), Case(200, 0), Case(200, 1)]
SCRIPT = Path(sys.executable).with_name("aftermax")


@pytest.fixture(scope="module")
def digits():
    """Something like MNIST, small and at hand everywhere: noisy copies of ten images."""
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    prototypes = rng.random((10, 784))
    labels = rng.integers(10, size=9_000)
    images = (prototypes[labels] + 1.1 * rng.normal(size=(9_000, 784))).astype(np.float32)
    return MNIST(images[:1_000], labels[:1_000], images[1_000:], labels[1_000:])


@pytest.fixture(scope="module")
def small(digits, tmp_path_factory):
    """A finished run on two sizes and two networks: the experiment, its results, and where they are."""
    folder = tmp_path_factory.mktemp("vmnist")
    experiment = Experiment(digits, kept=folder / "kept", grid=GRID)
    return experiment, experiment.run(FEW, folder / "outcomes.csv"), folder


# ---- networks --------------------------------------------------------------------------------------------------------


def test_every_network_has_its_own_seed_and_draws(digits):
    everything = cases()
    assert len(everything) == 81
    assert len({seed_of(*case) for case in everything}) == 81
    draws = draw_rows(digits, 100, 0)
    assert [len(rows) for rows in draws] == [100, 4_000, 4_000]
    assert not set(draws.validation) & set(draws.test)
    assert len(set(draws.train)) == 100
    assert not np.array_equal(draws.test, draw_rows(digits, 100, 1).test)


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_say_what_they_build(digits, recipe):
    network = train_network(digits, 100, 0, recipe)
    layers = [layer.out_features for layer in network if hasattr(layer, "out_features")]
    assert layers == [*RECIPES[recipe].hidden, 10]


@pytest.mark.parametrize(
    ("inserted", "kinds"), [("linear", ["Linear", "Linear"]), ("relu", ["Linear", "ReLU", "Linear"])]
)
def test_the_inserted_layer_comes_between_the_response_units_and_softmax(digits, inserted, kinds):
    network = list(train_network(digits, 100, 0, "adam", inserted=inserted))
    assert [type(layer).__name__ for layer in network[-len(kinds) :]] == kinds
    assert [layer.out_features for layer in network if hasattr(layer, "out_features")] == [512, 512, 10, 10]


def test_a_network_is_kept_and_the_same_every_time(digits, tmp_path):
    first = network_scores(digits, 100, 0, "adam", tmp_path / "a")
    again = network_scores(digits, 100, 0, "adam", tmp_path / "b")
    kept = network_scores(digits, 100, 0, "adam", tmp_path / "a")
    other = network_scores(digits, 100, 1, "adam", tmp_path / "a")
    for ours, theirs, third in zip(first, again, kept, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(ours, third)
    assert not np.array_equal(first.val_logits, other.val_logits)
    digest = RECIPES["adam"].digest
    assert {path.name for path in (tmp_path / "a").iterdir()} == {f"adam-{digest}-100-{n}.npz" for n in range(2)}


def test_without_torch_the_error_names_the_install_command_and_nothing_is_left(digits, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'aftermax\[experiments\]'"):
        network_scores(digits, 100, 0, "adam", tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


# ---- methods ---------------------------------------------------------------------------------------------------------


def test_every_method_is_judged_on_the_same_test_rows(small):
    experiment, results, _ = small
    assert [o.method for o in results.outcomes[: len(METHODS)]] == list(METHODS)
    for outcome in results.outcomes:
        scores = experiment.scores(outcome)
        softmax_right = np.count_nonzero(scores.test_logits.argmax(axis=1) == scores.test_labels)
        assert outcome.softmax_accuracy == softmax_right / 4_000
        assert outcome.accuracy == (softmax_right + outcome.wins - outcome.losses) / 4_000
        assert outcome.gain == pytest.approx((outcome.wins - outcome.losses) / (4_000 - softmax_right))
        assert outcome.seed == seed_of(*outcome.case)
        assert outcome.looks_at_test_labels == (outcome.method == "sph_best_on_test")


def test_the_recorded_settings_are_those_that_gave_the_recorded_accuracy(small):
    experiment, results, _ = small
    for method in ("sph_best_on_test", "sph_chosen"):
        for outcome in results.of(method):
            scores = experiment.scores(outcome)
            head = SPHClassifier(**json.loads(outcome.settings)).fit(scores.val_logits, scores.val_labels)
            assert head.score(scores.test_logits, scores.test_labels) == outcome.accuracy


def test_best_on_test_is_the_ceiling_of_honest_choice(small):
    _, results, _ = small
    for best, chosen in zip(results.of("sph_best_on_test"), results.of("sph_chosen"), strict=True):
        assert max(best.gain, 0.0) >= chosen.gain


def test_comparisons_are_fitted_and_tested_on_the_rows_that_they_say(small, digits):
    """Done again by hand for one network."""
    torch = pytest.importorskip("torch")
    experiment, results, _ = small
    accuracy = {o.method: o.accuracy for o in results.outcomes if o.case == Case(100, 0)}
    scores, draws = experiment.scores(results.outcomes[0]), draw_rows(digits, 100, 0)

    def right(network):
        with torch.no_grad():
            answers = network.eval()(torch.from_numpy(digits.test_images[draws.test])).argmax(dim=1).numpy()
        return np.mean(answers == digits.test_labels[draws.test])

    network = train_network(digits, 100, 0, "adam").eval()
    with torch.no_grad():
        responses = network(torch.from_numpy(digits.train_images[draws.train])).numpy()
    on_training = GaussianNB().fit(responses, digits.train_labels[draws.train])
    on_validation = GaussianNB().fit(scores.val_logits, scores.val_labels)
    assert accuracy["softmax"] == right(network)
    assert accuracy["bayes_on_training"] == on_training.score(scores.test_logits, scores.test_labels)
    assert accuracy["bayes_on_validation"] == on_validation.score(scores.test_logits, scores.test_labels)
    for inserted in ("linear", "relu"):
        assert accuracy[f"inserted_{inserted}"] == right(train_network(digits, 100, 0, "adam", inserted=inserted))
    assert accuracy["retrained"] == right(train_network(digits, 100, 0, "adam", with_validation=True))


def test_retraining_uses_the_validation_rows(small):
    """4,000 more samples than 100 or 200: it must learn far more from them than it knew."""
    _, results, _ = small
    assert results.gains("retrained").min() > 20


# ---- a run -----------------------------------------------------------------------------------------------------------


def without_time(outcomes):
    return [replace(outcome, seconds=0.0) for outcome in outcomes]


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_stopped_and_gives_the_same_numbers(small, tmp_path, monkeypatch, capsys):
    experiment, results, _ = small
    other = replace(experiment, kept=tmp_path / "kept")
    path = tmp_path / "out" / "outcomes.csv"
    measure, measured = Experiment.measure, []

    def killed_in_the_second(self, case):
        if len(measured) == 1:
            raise KeyboardInterrupt
        measured.append(case)
        return measure(self, case)

    monkeypatch.setattr(Experiment, "measure", killed_in_the_second)
    with pytest.raises(KeyboardInterrupt):
        other.run(FEW[:2], path)
    assert "Stopped; networks kept: 1. The same command goes on there." in capsys.readouterr().err
    assert len(read_records(Outcome, path)) == len(METHODS)
    measured.clear()
    resumed = other.run(FEW[:2], path)
    assert measured == FEW[1:2]
    expected = without_time(results.outcomes[: 2 * len(METHODS)])
    assert without_time(resumed.outcomes) == without_time(read_records(Outcome, path)) == expected
    assert {file.name for file in path.parent.iterdir()} == {"outcomes.csv", "run.json"}


def test_a_run_is_not_gone_on_with_under_other_conditions(small, tmp_path):
    experiment, results, folder = small
    path = tmp_path / "outcomes.csv"
    write_records(results.outcomes[: len(METHODS)], path)
    with pytest.raises(ValueError, match=r"no run.json that says how they were made: start over with --again"):
        experiment.run(FEW, path)
    (tmp_path / "run.json").write_text('{"torch": ')
    with pytest.raises(ValueError, match=r"run.json is damaged .*: start over with --again"):
        experiment.run(FEW, path)
    conditions = json.loads((folder / "run.json").read_text())
    assert conditions["recipe"]["optimiser"] == "adam"
    (tmp_path / "run.json").write_text(json.dumps(conditions | {"torch": "0.4"}))
    with pytest.raises(ValueError, match=r"other conditions \(torch was 0.4, is .*\): start over with --again"):
        experiment.run(FEW, path)
    assert len(read_records(Outcome, path)) == len(METHODS)
    assert len(experiment.run(FEW[:1], path).outcomes) == len(METHODS)  # nothing to add: only what was tried matters
    for other in ({"recipe": "rmsprop"}, {"grid": GRID | {"certainty": [0.7]}}, {"methods": ("softmax",)}):
        with pytest.raises(ValueError, match=r"other conditions \((recipe|settings_tried|methods) was"):
            replace(experiment, **other).run(FEW[:1], path)


def test_doing_it_again_forgets_what_was_there_but_not_before_it_can_begin(small, tmp_path, monkeypatch):
    experiment, results, folder = small
    path = tmp_path / "outcomes.csv"
    write_records(results.outcomes, path)
    (tmp_path / "run.json").write_text("{}")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "torch", None)
        with pytest.raises(ImportError, match=r"pip install 'aftermax\[experiments\]'"):
            experiment.run(FEW[:1], path, again=True)
    assert read_records(Outcome, path) == results.outcomes
    again = experiment.run(FEW[:1], path, again=True)
    assert without_time(read_records(Outcome, path)) == without_time(results.outcomes[: len(METHODS)])
    assert without_time(again.outcomes) == without_time(results.outcomes[: len(METHODS)])
    assert json.loads((tmp_path / "run.json").read_text()) == json.loads((folder / "run.json").read_text())


def test_scores_of_other_networks_are_not_drawn_with_these_results(small, tmp_path):
    experiment, results, _ = small
    outcome = replace(results.outcomes[0], softmax_accuracy=0.5)
    with pytest.raises(ValueError, match=r"network 0 trained on 100 .* are not those of the results"):
        experiment.scores(outcome)


def test_a_damaged_file_of_results_is_named(tmp_path):
    (tmp_path / "outcomes.csv").write_text("trained_on,network\n100,zero\n")
    with pytest.raises(ValueError, match=r"outcomes.csv is damaged or was written by another version"):
        read_records(Outcome, tmp_path / "outcomes.csv")


# ---- waste and claims ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bend", [-0.02, 0.0, 0.02])
def test_who_learns_as_much_from_half_the_samples_has_the_other_half_wasted(bend):
    def errors(samples):
        return [float(10 ** (0.2 - 0.3 * np.log10(samples) + bend * np.log10(samples) ** 2))] * 3

    sizes = (100, 500, 2_000, 10_000)
    waste = wasted_samples({n: errors(n) for n in sizes}, {n: errors(2 * n) for n in sizes})
    np.testing.assert_allclose(waste.wasted, 0.5, atol=1e-6)
    np.testing.assert_allclose(waste.factor, 2.0, atol=1e-6)
    np.testing.assert_allclose(waste.samples, 2 * np.array(sizes))
    np.testing.assert_allclose(waste.low, 0.5, atol=1e-6)


def test_where_the_error_is_softmaxs_nothing_is_wasted_however_badly_the_curve_fits():
    softmax = {100: [0.3, 0.4], 500: [0.29, 0.33], 2_000: [0.1, 0.2], 10_000: [0.09, 0.05]}
    waste = wasted_samples(softmax, softmax | {500: [0.2, 0.2]})
    np.testing.assert_array_equal(waste.wasted[[0, 2, 3]], 0.0)
    np.testing.assert_array_equal(waste.low[[0, 2, 3]], 0.0)
    assert 0 < waste.low[1] < waste.wasted[1] < waste.high[1] < 1
    worse = wasted_samples(softmax, softmax | {500: [0.35, 0.35]})
    assert worse.wasted[1] < 0


def test_a_curve_that_rises_and_errors_of_zero_have_an_answer():
    waste = wasted_samples({100: [0.1], 500: [0.2], 2_000: [0.3]}, {100: [0.05], 500: [0.0], 2_000: [0.3]})
    assert np.isfinite(waste.wasted).all()


def test_quadratics_of_accuracies_say_how_far_they_miss():
    softmax = {10: [0.4], 100: [0.2], 1_000: [0.1], 10_000: [0.05], 100_000: [0.025]}
    misfit = from_accuracies(softmax, {size: [0.8 * error] for size, (error,) in softmax.items()})
    assert 0.005 < misfit.points < 0.05
    assert misfit.low < misfit.high


def made(size, number, method, gain, accuracy=0.9):
    wins = round(400 * max(gain, 0))
    after = accuracy + (1 - accuracy) * gain
    return Outcome(
        size, number, 0, method, method == "sph_best_on_test", accuracy, accuracy, after, gain, wins, 0, 1.0, "{}", 1.0
    )


def made_results(ceiling, honest):
    """Results as the paper has them, but for SPH's gains."""
    gains = {"softmax": 0, "inserted_linear": -0.1, "inserted_relu": -0.1, "bayes_on_training": -0.1, "retrained": 0.5}
    sizes = {100: 0.71, 1_000: 0.9, 50_000: 0.98}
    outcomes = []
    for place, (size, accuracy) in enumerate(sizes.items()):
        here = gains | {"bayes_on_validation": (0.1, -0.1, -0.1)[place]}
        here |= {"sph_best_on_test": ceiling[place], "sph_chosen": honest[place]}
        outcomes += [made(size, n, method, gain, accuracy) for n in range(2) for method, gain in here.items()]
    return Results(outcomes)


def verdicts(results):
    wastes = {
        m: wasted_samples(results.errors("softmax"), results.errors(m)) for m in ("sph_best_on_test", "sph_chosen")
    }
    return {claim.claim: claim for claim in claims(results, wastes)}


def test_claims_are_held_against_both_protocols():
    found = verdicts(made_results(ceiling=(0.2, 0.1, 0.07), honest=(0.1, 0.0, 0.0)))
    assert found["softmax's mean accuracy"].verdict == "yes"
    reduction = found["mean reduction of the error"]
    assert (reduction.theirs, reduction.honest) == (("7.0 to 20.0 %", True), ("0.0 to 10.0 %", False))
    assert reduction.verdict == "only under its protocol"
    assert found["models that benefit"].theirs == ("6 of 6 better, 0 worse, 0 the same", True)
    assert found["models that benefit"].honest == ("2 of 6 better, 0 worse, 4 the same", False)
    assert found["trend of the reduction"].verdict == "yes"
    assert found["reduction where softmax is above 93 %"].verdict == "only under its protocol"
    assert found["inserted layer (linear)"].verdict == "yes"
    assert found["naive Bayes (of training rows)"].verdict == "yes"
    assert found["naive Bayes (of validation rows)"].verdict == "no"


def test_a_reduction_beyond_the_papers_range_does_not_hold_either():
    found = verdicts(made_results(ceiling=(0.285, 0.1, 0.07), honest=(0.285, 0.1, 0.07)))
    assert found["mean reduction of the error"].verdict == "no"
    assert "23 % in the abstract" in found["mean reduction of the error"].paper


def test_a_layer_that_gains_at_one_size_is_a_gain():
    outcomes = made_results(ceiling=(0.2, 0.1, 0.07), honest=(0.1, 0.0, 0.0)).outcomes
    gains = [replace(o, gain=0.05) if (o.method, o.trained_on) == ("inserted_relu", 1_000) else o for o in outcomes]
    assert verdicts(Results(gains))["inserted layer (after a ReLU)"].verdict == "no"


def test_verdicts():
    assert Claim("", "", ("", False), ("", True)).verdict == "only honestly"
    assert Claim("", "", ("", None), ("", True)).verdict == "not tested"
    assert Claim("", "", ("", True), None).verdict == "yes"


def test_what_two_sizes_cannot_tell_is_not_judged():
    outcomes = made_results(ceiling=(0.2, 0.1, 0.07), honest=(0.1, 0.0, 0.0)).outcomes
    taste = Results([o for o in outcomes if o.trained_on < 50_000])
    assert {claim.verdict for claim in verdicts(taste).values()} == {"not tested"}
    assert vmnist_report.misfit_in_words(taste) == ""
    weak = Results([replace(o, trained_on=o.trained_on // 10, accuracy=min(o.accuracy, 0.9)) for o in outcomes])
    assert verdicts(weak)["softmax's mean accuracy"].verdict == "not tested"
    assert verdicts(weak)["reduction where softmax is above 93 %"].verdict == "not tested"


def test_where_naive_bayes_does_better_than_sph_the_report_says_so():
    results = made_results(ceiling=(0.2, 0.1, 0.07), honest=(0.05, 0.0, 0.0))
    assert "naive Bayes on the same validation rows does better than SPH at 100 training samples" in (
        vmnist_report.rival_in_words(results)
    )
    assert vmnist_report.rival_in_words(made_results(ceiling=(0.2, 0.1, 0.07), honest=(0.2, 0.0, 0.0))) == ""


def test_where_every_network_keeps_softmax_the_claims_are_still_judged():
    found = verdicts(made_results(ceiling=(0.2, 0.1, 0.07), honest=(0.0, 0.0, 0.0)))
    assert found["models that benefit"].honest == ("0 of 6 better, 0 worse, 6 the same", False)
    assert found["trend of the reduction"].verdict == "only under its protocol"
    assert found["virtual training samples, and waste"].honest == ("1.00 to 1.00 times: 0 to 0 %", False)


# ---- report and figures ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(small):
    experiment, results, folder = small
    return vmnist_report.write(results, experiment, folder), folder


def test_the_report_has_every_table_and_figure(written):
    printed, folder = written
    report = (folder / "report.md").read_text()
    for name in ("claims.md", "sizes.md"):
        assert (folder / name).read_text() in report
        assert (folder / name).read_text() in printed
    for number in range(1, 7):
        assert (folder / f"figure{number}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"figure{number}.pdf").read_bytes().startswith(b"%PDF")
        assert f"(figure{number}.png)" in report


def test_the_report_says_in_words_what_looks_at_test_labels(written):
    printed, folder = written
    assert "settings picked by the test labels" in printed
    assert "looks at its labels: the paper's protocol" in printed
    assert "needs the test labels, so nobody can have that gain on new rows" in (folder / "report.md").read_text()


def test_the_report_tells_what_holds_and_what_does_not():
    found = verdicts(made_results(ceiling=(0.2, 0.1, 0.07), honest=(0.1, 0.0, 0.0))).values()
    text = vmnist_report.in_words(list(found))
    only_theirs = next(line for line in text.splitlines() if "not under honest choice" in line)
    assert "mean reduction of the error" in only_theirs
    assert "models that benefit" in only_theirs
    assert "naive Bayes (of validation rows)" in next(line for line in text.splitlines() if "Did not hold up" in line)


def test_figures_are_the_same_bytes_when_drawn_again(small, written, tmp_path):
    _, results, folder = small
    figures.save(figures.gains(results), tmp_path / "figure3")
    for kind in (".png", ".pdf"):
        assert (tmp_path / f"figure3{kind}").read_bytes() == (folder / f"figure3{kind}").read_bytes()


def test_the_confused_classes_are_those_that_softmax_takes_for_each_other(small):
    experiment, results, _ = small
    scores = experiment.scores(results.outcomes[0])
    first, second = figures.most_confused(scores)
    answers = scores.val_logits.argmax(axis=1)

    def confused(i, k):
        return np.count_nonzero((scores.val_labels == i) & (answers == k))

    most = max(confused(i, k) + confused(k, i) for i in range(10) for k in range(i))
    assert confused(first, second) + confused(second, first) == most
    assert confused(first, second) >= confused(second, first)


# ---- on MNIST itself -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_from_the_command_line_survives_a_kill(shared, tmp_path):
    """Killed hard after the first network, it has that network. How it goes on is tested above, with less work.

    With the committed numbers, if versions are those of the committed run, and the processor rounds as its did.
    """
    pytest.importorskip("torch")
    command = [SCRIPT, "reproduce", "vmnist", "--quick", "--data", shared / "data", "--out", "out", "--kept", "kept"]
    path = tmp_path / "out" / "outcomes.csv"
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not path.is_file():
        assert process.poll() is None
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    outcomes = read_records(Outcome, path)
    assert [(o.case, o.method) for o in outcomes] == [(cases(quick=True)[0], method) for method in METHODS]
    then = {(o.case, o.method): o for o in read_records(Outcome, ROOT / "results" / "vmnist" / "outcomes.csv")}
    committed = [then[outcome.case, outcome.method] for outcome in outcomes]
    ours, theirs = ([outcome.softmax_accuracy for outcome in each] for each in (outcomes, committed))
    np.testing.assert_allclose(ours, theirs, atol=0.02)
    if ours == theirs and same_versions(tmp_path / "out" / "run.json", ROOT / "results" / "vmnist" / "run.json"):
        assert without_time(outcomes) == without_time(committed)


def same_versions(*paths):
    """Whether two runs were made with the same kind of processor and versions; the code may have changed since."""
    ours, theirs = (json.loads(path.read_text()) for path in paths)
    return all(ours[name] == theirs[name] for name in ("processor", "numpy", "scipy", "scikit-learn", "numba", "torch"))


def test_the_committed_results_are_whole_and_within_the_papers_range():
    results = Results(read_records(Outcome, ROOT / "results" / "vmnist" / "outcomes.csv"))
    assert len(results.outcomes) == 81 * len(METHODS)
    assert results.gains("sph_best_on_test").min() >= 6
    assert results.gains("sph_best_on_test").max() <= 23
    assert results.gains("sph_chosen").min() >= 0
    assert sum(outcome.seconds for outcome in results.outcomes) < 2 * 60 * 60


def test_the_committed_report_is_what_the_committed_outcomes_say():
    folder = ROOT / "results" / "vmnist"
    results = Results(read_records(Outcome, folder / "outcomes.csv"))
    wastes = {
        m: wasted_samples(results.errors("softmax"), results.errors(m)) for m in ("sph_best_on_test", "sph_chosen")
    }
    found = claims(results, wastes)
    said = vmnist_report.in_words(found) + vmnist_report.rival_in_words(results)
    assert f"{vmnist_report.claims_table(found)}\n{said}" == (folder / "claims.md").read_text()
    assert vmnist_report.size_table(results) == (folder / "sizes.md").read_text()


def test_mnist_networks_are_as_strong_as_the_papers(shared, tmp_path):
    pytest.importorskip("torch")
    scores = network_scores(load_mnist(shared / "data"), 100, 0, "adam", tmp_path)
    assert 0.6 < np.mean(scores.val_logits.argmax(axis=1) == scores.val_labels) < 0.85
