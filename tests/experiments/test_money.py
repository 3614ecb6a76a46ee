"""The money table: what is measured in a trial, runs that go on where they stopped, and the report."""

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from aftermax._utils.paired_tests import exact_mcnemar
from aftermax.data import load_vmnist
from aftermax.data import shipped_path as score_file
from experiments.benchmark import measure as money
from experiments.benchmark import report as money_report
from experiments.benchmark.measure import METHODS, Outcome
from experiments.benchmark.report import Results
from experiments.runs.csv_records import read_records
from experiments.benchmark.trials import Rows, Trial, file_trials, load_rows, network_rows, vmnist_trials
from helpers.outcomes import OUTCOME, made_rows
from helpers.samples import make_samples

SOME = ("softmax", "logistic", "svc", "knn")


def made_trial(**changes):
    return replace(Trial("files", "made", 0, 120, made_rows), **changes)


# ---- a trial ---------------------------------------------------------------------------------------------------------


def test_a_method_is_fitted_on_the_trials_rows_and_judged_on_the_test_rows():
    found = {outcome.method: outcome for outcome in money.measure(made_trial(), SOME)}
    assert list(found) == list(SOME)
    validation, test = made_rows()
    errors = np.count_nonzero(test.logits.argmax(axis=1) != test.labels)
    for name, outcome in found.items():
        head = METHODS[name].make(3).fit(validation.logits[:120], validation.labels[:120])
        wrong = np.count_nonzero(head.predict(test.logits) != test.labels)
        assert outcome.softmax_error == errors / 200
        assert outcome.gain == pytest.approx(1 - wrong / errors)
        assert outcome.wins - outcome.losses == errors - wrong
        assert outcome.p_value == exact_mcnemar(outcome.wins, outcome.losses)
        assert outcome.predict_seconds > 0
        assert (outcome.trial, outcome.classes) == (("files", "made", 0, 120), 3)
    assert found["softmax"].gain == 0
    assert found["svc"].chosen.startswith("C=")
    assert found["logistic"].chosen.startswith("C=")
    assert found["knn"].chosen.startswith("n_neighbors=")


def test_the_log_loss_is_of_the_truth_and_of_classes_without_rows_too():
    validation, test = made_rows()
    kept = validation.labels != 1
    trial = made_trial(load=lambda: (Rows(validation.logits[kept], validation.labels[kept]), test), rows=80)
    found = {outcome.method: outcome for outcome in money.measure(trial, SOME)}
    raw = np.exp(test.logits) / np.exp(test.logits).sum(axis=1, keepdims=True)
    assert found["softmax"].log_loss == pytest.approx(-np.mean(np.log(raw[np.arange(200), test.labels])))
    missing = np.mean(test.labels == 1)
    assert found["logistic"].log_loss > missing * -np.log(money.LEAST_PROBABILITY)
    assert np.isnan(found["svc"].log_loss)


def test_a_temperature_mends_the_log_loss_of_softmax():
    scores = load_vmnist(100)
    rows, test = Rows(10 * scores.val_logits, scores.val_labels), Rows(10 * scores.test_logits, scores.test_labels)
    trial = Trial("files", "sure", 0, 1000, lambda: (rows, test))
    [outcome] = money.measure(trial, ["softmax"])
    [as_it_was] = money.measure(replace(trial, load=partial(load_rows, score_file(100))), ["softmax"])
    assert outcome.log_loss > 2 * outcome.softmax_log_loss
    assert outcome.softmax_log_loss == pytest.approx(as_it_was.softmax_log_loss, rel=1e-3)


def test_sph_is_left_out_where_there_are_many_classes_and_features_where_there_are_none():
    with_features, without = made_rows(features=True)[0], made_rows()[0]
    assert METHODS["sph"].suits(without)
    assert not METHODS["sph"].suits(Rows(np.zeros((5, 21)), np.zeros(5)))
    assert METHODS["auto_features"].suits(with_features)
    assert not METHODS["auto_features"].suits(without)
    assert METHODS["auto"].suits(without)


def test_sph_says_what_it_expects_and_warns_of_no_rare_class():
    validation, test = make_samples(seed=1, rows=400), make_samples(seed=2)
    rare = np.flatnonzero(validation[1] == 4)[3:]
    rows = Rows(*(np.delete(part, rare, axis=0) for part in validation))
    [outcome] = money.measure(Trial("files", "rare", 0, 400, lambda: (rows, Rows(*test))), ["sph"])
    assert outcome.expected_low <= outcome.expected_gain <= outcome.expected_high
    assert json.loads(outcome.chosen)  # settings, not softmax: or else there is nothing to warn of


@pytest.mark.slow
@pytest.mark.parametrize("classes", [3, 10])
def test_autohead_is_tried_with_and_without_features(classes):
    trial = made_trial(load=partial(made_rows, features=True, size=classes))
    found = {outcome.method: outcome for outcome in money.measure(trial, ("softmax", "auto", "auto_features"))}
    assert list(found) == ["softmax", "auto", "auto_features"]
    for name in ("auto", "auto_features"):
        assert found[name].expected_low <= found[name].expected_gain <= found[name].expected_high
        assert found[name].chosen
        assert np.isfinite(found[name].log_loss)


# ---- the trials ------------------------------------------------------------------------------------------------------


def test_vmnist_trials_are_every_size_with_many_and_few_rows():
    trials = vmnist_trials(None, Path("nowhere"))
    assert len(trials) == len({trial.key for trial in trials}) == 9 * 3 * 2
    assert {trial.rows for trial in trials} == {400, 4000}
    assert [trial.key for trial in vmnist_trials(None, Path("nowhere"), quick=True)] == [
        ("vmnist", "100", 0, 400),
        ("vmnist", "1000", 0, 400),
    ]


def test_score_files_with_features_are_tried_with_few_rows_too(tmp_path):
    validation, test = made_rows()
    arrays = {
        "val_logits": validation.logits,
        "val_labels": validation.labels,
        "test_logits": test.logits,
        "test_labels": test.labels,
    }
    np.savez(tmp_path / "plain.npz", **arrays)
    features = {"val_features": validation.logits.astype(np.float16), "test_features": test.logits.astype(np.float16)}
    np.savez(tmp_path / "shifted.npz", **arrays, **features)
    trials = file_trials(tmp_path)
    assert [trial.key[1:] for trial in trials] == [("plain", 0, 150), ("shifted", 0, 100), ("shifted", 0, 150)]
    assert trials[0].split()[0].features is None
    rows, unseen = trials[1].split()
    assert (rows.features.dtype, rows.features.shape, unseen.features.shape) == (np.float32, (100, 3), (200, 3))
    np.testing.assert_allclose(rows.logits, validation.logits[:100], rtol=1e-6)
    (tmp_path / "shifted.npz").write_bytes((tmp_path / "shifted.npz").read_bytes()[:-200])
    with pytest.raises(ValueError, match=r"shifted.npz is damaged or no score file"):
        file_trials(tmp_path)
    with pytest.raises(FileNotFoundError, match="holds no score files"):
        file_trials(tmp_path / "empty")


def test_a_network_and_its_hidden_layer_are_kept_and_are_those_of_the_main_experiment(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from experiments.networks import mnist_networks as networks
    from experiments.data.mnist import MNIST

    rng = np.random.default_rng(0)
    images = rng.random((300, 784), dtype=np.float32)
    mnist = MNIST(images, rng.integers(10, size=300), images[:100], rng.integers(10, size=100))
    monkeypatch.setattr(networks, "ROWS", 40)
    validation, test = network_rows(mnist, 100, 0, tmp_path)
    scores = networks.network_scores(mnist, 100, 0, "adam", tmp_path / "main")
    np.testing.assert_array_equal(validation.logits, scores.val_logits)
    np.testing.assert_array_equal(test.labels, scores.test_labels)
    assert validation.features.shape == test.features.shape == (40, 512)
    assert (validation.features >= 0).all()  # after a ReLU
    monkeypatch.setattr(networks, "train_network", None)  # it is kept
    np.testing.assert_array_equal(network_rows(mnist, 100, 0, tmp_path)[0].features, validation.features)


# ---- the run ---------------------------------------------------------------------------------------------------------


def test_a_run_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    path = tmp_path / "out" / "outcomes.csv"
    done = []

    def measure(trial, methods):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(trial.network)
        return [replace(OUTCOME, network=trial.network, method=method) for method in methods]

    monkeypatch.setattr(money, "measure", measure)
    trials = [Trial("vmnist", "100", number, 4000, made_rows) for number in range(3)]
    run = partial(money.run, trials, ("softmax", "svc"), path, jobs=1)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert "2 trials are kept" in capsys.readouterr().err
    done.clear()
    outcomes = run()
    assert done == [2]
    expected = [replace(OUTCOME, network=n, method=method) for n in range(3) for method in ("softmax", "svc")]
    assert outcomes == read_records(Outcome, path) == expected
    assert "[1/1] vmnist 100, network 2, 4,000 rows: softmax wrong in 25.0 %" in capsys.readouterr().out
    done.clear()
    assert run() == expected
    assert done == []
    with pytest.raises(ValueError, match=r"methods was \['softmax', 'svc'\], is \['softmax'\].*--again"):
        money.run(trials, ("softmax",), path, jobs=1)
    assert len(money.run(trials[:1], ("svc",), path, again=True, jobs=1)) == 1
    assert done == [0]
    assert sorted(file.name for file in path.parent.iterdir()) == ["outcomes.csv", "run.json"]


def test_some_methods_can_be_done_anew(tmp_path, monkeypatch):
    asked = []

    def measure(trial, methods):
        asked.append((trial.network, tuple(methods)))
        return [
            replace(
                OUTCOME, family="files", name="made", rows=120, network=trial.network, method=name, gain=len(asked) / 10
            )
            for name in methods
        ]

    monkeypatch.setattr(money, "measure", measure)
    path = tmp_path / "outcomes.csv"
    trials = [made_trial(network=number) for number in (0, 1)]
    money.run(trials[:1], SOME, path, jobs=1)
    before = json.loads((tmp_path / "run.json").read_text())
    monkeypatch.setattr(money, "_sources", list)  # the code has changed
    outcomes = money.run(trials, SOME, path, redo=["svc"], jobs=1)
    assert asked == [(0, SOME), (0, ("svc",)), (1, SOME)]
    assert [(one.network, one.method, one.gain) for one in outcomes[:4]] == [
        (0, "softmax", 0.1),
        (0, "logistic", 0.1),
        (0, "svc", 0.2),
        (0, "knn", 0.1),
    ]
    assert outcomes == read_records(Outcome, path)
    after = json.loads((tmp_path / "run.json").read_text())
    assert after.pop("redone")["methods"] == ["svc"]
    assert after == before


def test_results_under_other_conditions_are_not_added_to(tmp_path, monkeypatch):
    path = tmp_path / "outcomes.csv"
    monkeypatch.setattr(money, "measure", lambda trial, methods: [replace(OUTCOME, network=trial.network)])
    trials = [Trial("vmnist", "100", number, 4000, made_rows) for number in range(2)]
    money.run(trials[:1], ("softmax",), path, jobs=1)
    run = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(run | {"code": "another"}))
    assert len(money.run(trials[:1], ("softmax",), path, jobs=1)) == 1  # nothing to add
    with pytest.raises(ValueError, match="code was another"):
        money.run(trials, ("softmax",), path, jobs=1)


def test_outcomes_are_the_same_from_two_processes(tmp_path):
    trials = [made_trial(network=number, rows=rows) for number, rows in enumerate((100, 120))]
    alone = money.run(trials, ("softmax", "knn"), tmp_path / "alone" / "outcomes.csv", jobs=1)
    together = money.run(trials, ("softmax", "knn"), tmp_path / "together" / "outcomes.csv", jobs=2)
    untimed = [
        [str(replace(outcome, fit_seconds=0, predict_seconds=0)) for outcome in outcomes]
        for outcomes in (alone, together)
    ]
    assert untimed[0] == untimed[1]


# ---- the report ------------------------------------------------------------------------------------------------------


def made_outcomes():
    """Two networks in two cases, and a file with 100 classes."""
    gains = {
        "softmax": (0.0, 0.0, 0.0),
        "sph": (0.2, 0.0, None),
        "auto": (0.62, 0.05, 0.001),
        "svc": (0.58, -0.2, -0.28),
        "sms": (0.3, 0.06, -0.01),
    }
    outcomes = []
    for place, (family, name, rows, networks) in enumerate(
        [("vmnist", "100", 4000, 2), ("vmnist", "5000", 400, 2), ("files", "some-net", 5000, 1)]
    ):
        for network in range(networks):
            for method, by_case in gains.items():
                if by_case[place] is None:
                    continue
                gain = by_case[place] + (0.02 * (network - 0.5) if networks > 1 and by_case[place] else 0)
                wins, losses = (round(100 + 200 * gain), 100) if gain > 0 else (100, round(100 - 200 * gain))
                outcomes.append(
                    replace(
                        OUTCOME,
                        family=family,
                        name=name,
                        rows=rows,
                        network=network,
                        classes=100 if family == "files" else 10,
                        method=method,
                        gain=gain,
                        wins=wins,
                        losses=losses,
                        p_value=exact_mcnemar(wins, losses),
                        fit_seconds={"softmax": 0.0, "svc": 5.0, "auto": 10.0}.get(method, 1.0) * (1 + place),
                        predict_seconds=0.001 if method == "softmax" else 0.005,
                        log_loss=float("nan") if method == "svc" else 0.7,
                    )
                )
    return outcomes


def test_the_report_says_what_was_measured(tmp_path):
    text = money_report.write(made_outcomes(), tmp_path)
    assert "| vMNIST, trained on 100 | 4,000 | 25.0 % | +20.0 % | **+62.0 %** | +58.0 % | +30.0 % |" in text
    assert "| some-net | 5,000 | 25.0 % | - | **+0.1 %** | -28.0 % | -1.0 % |" in text
    # The means over the three cases: AutoHead 22.4, sms 11.7, SVC 3.3; sms's 6 is one point ahead of AutoHead's 5.
    assert (
        "AutoHead gains +22.4 % in the mean over all 3 cases; the best single peer, probmetrics' sms, +11.7 %" in text
    )
    assert "+10.7 points" in text
    assert "in 3 of 3 cases (100.0 %)" in text
    worse = sum(o.losses > o.wins and o.p_value < 0.05 for o in made_outcomes() if o.method == "svc")
    assert (
        f"| SVC | 3 | +3.3 % | -28.0 % (some-net; 5,000 rows) | 40.0 % | {100 * worse / 5:.1f} % | 1 x | 5 x | - |"
        in text
    )
    assert "| AutoHead | 3 | +22.4 % | +0.1 % (some-net; 5,000 rows) |" in text
    assert "| 2 x | 5 x | -0.100 |" in text
    assert "| vMNIST, trained on 100; 4,000 rows | at least +61 % | +62.0 % | met |" in text
    assert "| vMNIST, trained on 5,000; 400 rows | above 0 | +5.0 % | met |" in text
    assert "| 1 other files, all validation rows: worst | at least -1 % | +0.1 % (some-net) | met |" in text
    assert "| fit on 4,000 x 10, SVC's search = 1, each on one core | at most 3 x | 2 x | met |" in text
    report = (tmp_path / "report.md").read_text()
    for name in ("cases", "methods", "peers", "targets"):
        assert (tmp_path / f"{name}.md").read_text() in report
        assert (tmp_path / f"{name}.md").read_text() in text
    assert (tmp_path / "gain.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "gain.pdf").read_bytes().startswith(b"%PDF")


def test_a_target_that_was_missed_is_said_to_be(tmp_path):
    outcomes = [replace(o, gain=o.gain - 0.03) if o.method == "auto" else o for o in made_outcomes()]
    found = {target.what: target for target in money_report.targets(Results(outcomes))}
    assert not found["vMNIST, trained on 100; 4,000 rows"].met
    assert not found["1 other files, all validation rows: worst"].met
    assert not found["ahead of or within 1 point of each case's best peer"].met
    text = money_report.write(outcomes, tmp_path)
    assert "| vMNIST, trained on 100; 4,000 rows | at least +61 % | +59.0 % | **missed** |" in text


def test_means_are_over_networks_first_and_then_over_cases():
    results = Results(made_outcomes())
    for method in results.methods:
        for case, gain in results.gains(method).items():
            group = [o.gain for o in results.outcomes if (o.family, o.name, o.rows, o.method) == (*case, method)]
            assert gain == pytest.approx(sum(group) / len(group))
    assert results.best_peer() == "sms"
    assert results.best_in(("vmnist", "100", 4000)) == pytest.approx(0.58)


def test_a_report_can_be_written_without_autohead(tmp_path):
    outcomes = money.measure(made_trial(), SOME)
    text = money_report.write(outcomes, tmp_path)
    gain = next(outcome.gain for outcome in outcomes if outcome.method == "svc")
    assert f"{100 * gain:+.1f} %" in text
    assert not (tmp_path / "targets.md").exists()


# ---- the command -----------------------------------------------------------------------------------------------------


def run_command(*arguments, **options):
    script = Path(sys.executable).with_name("aftermax")
    return subprocess.run([script, *arguments], capture_output=True, text=True, **options)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "bench needs --peers"),
        (["--peers", "--data", "nowhere"], "MNIST is not in nowhere: no file train-images-idx3-ubyte[.gz]"),
    ],
)
def test_an_error_is_one_line_and_exit_code_2(arguments, said, tmp_path):
    done = run_command("bench", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"aftermax: {said}")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_help_says_what_the_options_are():
    assert "--peers" in run_command("bench", "--help", check=True).stdout
