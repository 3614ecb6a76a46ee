"""The benchmark: what is measured in a trial, and runs that are resumed."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from aftermax._utils.paired_tests import exact_mcnemar
from aftermax.data import load_vmnist, shipped_path
from experiments.benchmark import measure
from experiments.benchmark.measure import Benchmark, Outcome
from experiments.benchmark.methods import METHODS
from experiments.benchmark.trials import Samples, Trial, load_samples
from experiments.runs import provenance
from experiments.runs.csv_records import read_records
from helpers.outcomes import OUTCOME, trial_samples
from helpers.samples import make_samples

SOME = ("softmax", "logistic", "svc", "knn")


def made_trial(**changes):
    return replace(Trial("files", "made", 0, 120, trial_samples), **changes)


# ---- a trial ---------------------------------------------------------------------------------------------------------


def test_a_method_is_fitted_on_the_trials_samples_and_tested_on_the_test_samples():
    found = {outcome.method: outcome for outcome in measure.measure(made_trial(), SOME)}
    assert list(found) == list(SOME)
    validation, test = trial_samples()
    errors = np.count_nonzero(test.logits.argmax(axis=1) != test.labels)
    for name, outcome in found.items():
        head = METHODS[name].make(3).fit(validation.logits[:120], validation.labels[:120])
        wrong = np.count_nonzero(head.predict(test.logits) != test.labels)
        assert outcome.softmax_error == errors / 200
        assert outcome.gain == pytest.approx(1 - wrong / errors)
        assert outcome.wins - outcome.losses == errors - wrong
        assert outcome.p_value == exact_mcnemar(outcome.wins, outcome.losses)
        assert outcome.predict_seconds > 0
        assert (outcome.key, outcome.classes) == (("files", "made", 0, 120), 3)
    assert found["softmax"].gain == 0
    assert found["svc"].chosen.startswith("C=")
    assert found["logistic"].chosen.startswith("C=")
    assert found["knn"].chosen.startswith("n_neighbors=")


def test_the_log_loss_is_of_the_true_class_even_if_it_has_no_samples():
    validation, test = trial_samples()
    kept = validation.labels != 1
    trial = made_trial(load=lambda: (Samples(validation.logits[kept], validation.labels[kept]), test), samples=80)
    found = {outcome.method: outcome for outcome in measure.measure(trial, SOME)}
    raw = np.exp(test.logits) / np.exp(test.logits).sum(axis=1, keepdims=True)
    assert found["softmax"].log_loss == pytest.approx(-np.mean(np.log(raw[np.arange(200), test.labels])))
    missing = np.mean(test.labels == 1)
    assert found["logistic"].log_loss > missing * -np.log(measure.MIN_PROBABILITY)
    assert np.isnan(found["svc"].log_loss)


def test_a_temperature_corrects_the_log_loss_of_softmax():
    scores = load_vmnist(100)
    samples, test = (
        Samples(10 * scores.val_logits, scores.val_labels),
        Samples(10 * scores.test_logits, scores.test_labels),
    )
    trial = Trial("files", "sure", 0, 1000, lambda: (samples, test))
    [outcome] = measure.measure(trial, ["softmax"])
    [as_it_was] = measure.measure(replace(trial, load=partial(load_samples, shipped_path(100))), ["softmax"])
    assert outcome.log_loss > 2 * outcome.softmax_log_loss
    assert outcome.softmax_log_loss == pytest.approx(as_it_was.softmax_log_loss, rel=1e-3)


def test_sph_is_left_out_where_there_are_many_classes_and_features_where_there_are_none():
    with_features, without = trial_samples(features=True)[0], trial_samples()[0]
    assert METHODS["sph"].suits(without)
    assert not METHODS["sph"].suits(Samples(np.zeros((5, 21)), np.zeros(5)))
    assert METHODS["auto_features"].suits(with_features)
    assert not METHODS["auto_features"].suits(without)
    assert METHODS["auto"].suits(without)


def test_a_method_is_given_what_it_sees():
    samples = trial_samples(features=True)[0]
    seen = {name: METHODS[name].inputs(samples) for name in ("auto", "auto_features", "svc", "probe", "l2sp")}
    both = samples.logits, samples.features
    wanted = {"auto": both[:1], "auto_features": both, "svc": both[:1], "probe": both[1:], "l2sp": both}
    for name, inputs in wanted.items():
        assert [id(one) for one in seen[name]] == [id(one) for one in inputs]


def test_peers_on_features_are_measured_where_there_are_features_and_never_see_test_labels():
    peers = ("softmax", "probe", "svc_features", "knn_features", "gaussian_features", "l2sp")
    load = partial(trial_samples, features=True)
    found = measure.measure(made_trial(load=load), peers)
    assert [outcome.method for outcome in found] == list(peers)
    assert all(outcome.chosen for outcome in found[1:])
    assert [np.isfinite(outcome.log_loss) for outcome in found] == [name != "svc_features" for name in peers]
    validation, test = load()
    other = test._replace(labels=np.roll(test.labels, 1))
    again = measure.measure(made_trial(load=lambda: (validation, other)), peers)
    assert [outcome.chosen for outcome in again] == [outcome.chosen for outcome in found]
    assert [outcome.method for outcome in measure.measure(made_trial(), peers)] == ["softmax"]


def test_sph_has_an_expected_gain_and_does_not_warn_of_a_rare_class():
    validation, test = make_samples(seed=1, n_samples=400), make_samples(seed=2)
    rare = np.flatnonzero(validation[1] == 4)[3:]
    samples = Samples(*(np.delete(part, rare, axis=0) for part in validation))
    [outcome] = measure.measure(Trial("files", "rare", 0, 400, lambda: (samples, Samples(*test))), ["sph"])
    assert outcome.expected_low <= outcome.expected_gain <= outcome.expected_high
    assert json.loads(outcome.chosen)  # hyperparameters, not softmax: or else there is nothing to warn of


@pytest.mark.slow
@pytest.mark.parametrize("classes", [3, 10])
def test_autohead_is_measured_with_and_without_features(classes):
    trial = made_trial(load=partial(trial_samples, features=True, n_classes=classes))
    found = {outcome.method: outcome for outcome in measure.measure(trial, ("softmax", "auto", "auto_features"))}
    assert list(found) == ["softmax", "auto", "auto_features"]
    for name in ("auto", "auto_features"):
        assert found[name].expected_low <= found[name].expected_gain <= found[name].expected_high
        assert found[name].chosen
        assert np.isfinite(found[name].log_loss)


# ---- the run ---------------------------------------------------------------------------------------------------------


def test_a_run_is_resumed(tmp_path, monkeypatch, capsys):
    path = tmp_path / "out" / "outcomes.csv"
    done = []

    def measured(trial, methods):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(trial.network)
        return [replace(OUTCOME, network=trial.network, method=method) for method in methods]

    monkeypatch.setattr(measure, "measure", measured)
    trials = [Trial("vmnist", "100", number, 4000, trial_samples) for number in range(3)]
    run = partial(Benchmark(("softmax", "svc")).run, trials, path)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert "Stopped; tasks kept: 2." in capsys.readouterr().err
    done.clear()
    outcomes = run()
    assert done == [2]
    expected = [replace(OUTCOME, network=n, method=method) for n in range(3) for method in ("softmax", "svc")]
    assert outcomes == read_records(Outcome, path) == expected
    assert "[1/1] vmnist 100, network 2, 4,000 samples: softmax error 25.0 %" in capsys.readouterr().out
    done.clear()
    assert run() == expected
    assert done == []
    with pytest.raises(ValueError, match=r"methods was \['softmax', 'svc'\], is \['softmax'\].*--again"):
        Benchmark(("softmax",)).run(trials, path)
    assert len(Benchmark(("svc",)).run(trials[:1], path, again=True)) == 1
    assert done == [0]
    assert sorted(file.name for file in path.parent.iterdir()) == ["outcomes.csv", "run.json"]


def test_some_methods_can_be_measured_again(tmp_path, monkeypatch):
    asked = []

    def measured(trial, methods):
        asked.append((trial.network, tuple(methods)))
        return [
            replace(
                OUTCOME, family="files", name="made", rows=120, network=trial.network, method=name, gain=len(asked) / 10
            )
            for name in methods
        ]

    monkeypatch.setattr(measure, "measure", measured)
    path = tmp_path / "outcomes.csv"
    trials = [made_trial(network=number) for number in (0, 1)]
    Benchmark(SOME).run(trials[:1], path)
    before = json.loads((tmp_path / "run.json").read_text())
    monkeypatch.setattr(provenance, "code_digest", lambda code: "changed")
    outcomes = Benchmark(SOME).run(trials, path, redo=["svc"])
    assert asked == [(0, SOME), (0, ("svc",)), (1, SOME)]
    assert [(one.network, one.method, one.gain) for one in outcomes[:4]] == [
        (0, "softmax", 0.1),
        (0, "logistic", 0.1),
        (0, "svc", 0.2),
        (0, "knn", 0.1),
    ]
    assert outcomes == read_records(Outcome, path)
    after = json.loads((tmp_path / "run.json").read_text())
    [redone] = after.pop("redone")
    assert (redone["methods"], redone["code"]) == (["svc"], "changed")
    assert after == before


def test_a_killed_run_keeps_the_old_records_of_methods_that_it_was_to_measure_again(tmp_path, monkeypatch):
    done = []

    def measured(trial, methods):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(trial.network)
        return [replace(OUTCOME, network=trial.network, method=name, gain=len(done) / 10) for name in methods]

    monkeypatch.setattr(measure, "measure", measured)
    path = tmp_path / "outcomes.csv"
    trials = [Trial("vmnist", "100", number, 4000, trial_samples) for number in range(2)]
    benchmark = Benchmark(("softmax", "svc"))
    benchmark.run(trials, path)
    with pytest.raises(KeyboardInterrupt):
        benchmark.run(trials, path, redo=["svc"])
    kept = [(one.network, one.method, one.gain) for one in read_records(Outcome, path)]
    assert kept == [(0, "softmax", 0.1), (0, "svc", 0.3), (1, "softmax", 0.2), (1, "svc", 0.2)]


def test_methods_that_are_new_are_added_where_they_suit(tmp_path, monkeypatch):
    asked = []

    def measured(trial, methods):
        asked.append((trial.network, tuple(methods)))
        suiting = [name for name in methods if name != "auto_features" or trial.network]
        classes = 100 if trial.network == 2 else 10
        return [replace(OUTCOME, network=trial.network, method=name, classes=classes) for name in suiting]

    monkeypatch.setattr(measure, "measure", measured)
    path = tmp_path / "outcomes.csv"
    trials = [Trial("vmnist", "100", number, 4000, trial_samples) for number in range(3)]
    Benchmark(("softmax", "auto_features")).run(trials, path)
    asked.clear()
    Benchmark(("softmax", "sph", "auto_features", "knn", "l2sp")).run(trials, path)
    assert asked == [(0, ("sph", "knn")), (1, ("sph", "knn", "l2sp")), (2, ("knn", "l2sp"))]
    [added] = json.loads((tmp_path / "run.json").read_text())["added"]
    assert added["methods"] == ["sph", "knn", "l2sp"]


@pytest.mark.parametrize("change", [{"softmax_error": 0.2502}, {"softmax_log_loss": 0.81}])
def test_methods_are_not_added_to_outcomes_of_another_network(tmp_path, monkeypatch, change):
    outcome = OUTCOME
    monkeypatch.setattr(measure, "measure", lambda trial, methods: [replace(outcome, method=name) for name in methods])
    path = tmp_path / "outcomes.csv"
    trials = [Trial("vmnist", "100", 0, 4000, trial_samples)]
    Benchmark(("softmax",)).run(trials, path)
    before = path.read_text()
    outcome = replace(OUTCOME, **change)
    with pytest.raises(ValueError, match=r"Softmax is not what it was in vmnist 100, network 0: .*--again"):
        Benchmark(("softmax", "knn")).run(trials, path)
    assert path.read_text() == before


def test_results_that_were_made_in_another_way_are_not_added_to(tmp_path, monkeypatch):
    path = tmp_path / "outcomes.csv"
    monkeypatch.setattr(measure, "measure", lambda trial, methods: [replace(OUTCOME, network=trial.network)])
    trials = [Trial("vmnist", "100", number, 4000, trial_samples) for number in range(2)]
    Benchmark(("softmax",)).run(trials[:1], path)
    run = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(run | {"code": "another"}))
    assert len(Benchmark(("softmax",)).run(trials[:1], path)) == 1  # nothing to add
    with pytest.raises(ValueError, match="code was another"):
        Benchmark(("softmax",)).run(trials, path)


def test_outcomes_are_the_same_from_two_processes(tmp_path):
    trials = [made_trial(network=number, samples=count) for number, count in enumerate((100, 120))]
    benchmark = Benchmark(("softmax", "knn"))
    alone = benchmark.run(trials, tmp_path / "alone" / "outcomes.csv", jobs=1)
    together = benchmark.run(trials, tmp_path / "together" / "outcomes.csv", jobs=2)
    untimed = [
        [str(replace(outcome, fit_seconds=0, predict_seconds=0)) for outcome in outcomes]
        for outcomes in (alone, together)
    ]
    assert untimed[0] == untimed[1]
