"""The experiment on the choice of hyperparameters: runs that are resumed, and the report."""

from dataclasses import replace

import numpy as np
import pytest

from aftermax.data import Scores
from experiments.runs.csv_records import read_records
from experiments.settings import choosing_report
from experiments.settings.choosing import Case, ChoosingExperiment, Outcome
from helpers.samples import ROOT, make_samples


def small_scores():
    (logits, labels), (test, truth) = (
        make_samples(seed=1, n_samples=150, n_classes=3),
        make_samples(seed=2, n_samples=200, n_classes=3),
    )
    return Scores(logits, labels, test, truth)


OUTCOME = Outcome(
    name="vmnist",
    trained_on=100,
    network=0,
    validation_rows=4000,
    softmax_error=0.25,
    expected_gain=0.2,
    expected_low=0.15,
    expected_high=0.25,
    p_value=1e-9,
    fell_back=False,
    gain=0.18,
    wins=250,
    losses=70,
    luckiest_gain=0.1,
    ceiling_gain=0.3,
)


def test_every_way_of_choosing_is_measured():
    [outcome] = ChoosingExperiment().measure(Case("made", 0, 0, 100, small_scores), ())
    test, truth = make_samples(seed=2, n_samples=200, n_classes=3)
    errors = np.count_nonzero(test.argmax(axis=1) != truth)
    assert outcome.softmax_error == errors / 200
    assert outcome.gain == (outcome.wins - outcome.losses) / errors
    assert outcome.ceiling_gain >= max(outcome.gain, outcome.luckiest_gain)
    assert outcome.expected_low <= outcome.expected_gain <= outcome.expected_high


def test_outcomes_survive_the_file_and_a_run_is_resumed(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    path = tmp_path / "out" / "outcomes.csv"
    computed = []

    def measure(self, case, methods):
        if len(computed) == 2:
            raise KeyboardInterrupt
        computed.append(case.key)
        return [replace(OUTCOME, network=case.network, gain=case.network / 3)]

    monkeypatch.setattr(ChoosingExperiment, "measure", measure)
    cases = [Case("vmnist", 100, number, 4000, small_scores) for number in range(3)]
    with pytest.raises(KeyboardInterrupt):
        ChoosingExperiment().run(cases, path)
    assert read_records(Outcome, path) == [replace(OUTCOME, network=n, gain=n / 3) for n in range(2)]
    computed.clear()
    outcomes = ChoosingExperiment().run(cases, path)
    assert computed == [("vmnist", 100, 2, 4000)]
    assert outcomes == read_records(Outcome, path) == [replace(OUTCOME, network=n, gain=n / 3) for n in range(3)]
    assert sorted(file.name for file in path.parent.iterdir()) == ["outcomes.csv", "run.json"]


def test_significance_and_expected_gains_are_judged_on_the_test_samples():
    assert OUTCOME.as_expected
    assert not replace(OUTCOME, gain=0.26).as_expected
    assert not OUTCOME.significantly_worse
    assert replace(OUTCOME, wins=70, losses=250).significantly_worse
    assert not replace(OUTCOME, wins=3, losses=5).significantly_worse


def test_the_report_says_what_looks_at_test_labels(tmp_path):
    outcomes = [
        replace(OUTCOME, trained_on=size, network=n, validation_rows=rows, gain=0.1 * n)
        for size in (100, 1000)
        for n in range(2)
        for rows in (4000, 400)
    ]
    text = choosing_report.write([*outcomes, replace(OUTCOME, name="some-net", trained_on=0)], tmp_path)
    assert "looks at its labels" in text
    assert "| 4,000 | 100 | 25.0 % | **+5.0 %** | +20.0 % | 0 of 2 | 0 of 2 | +10.0 % | +30.0 % |" in text
    assert "| some-net | 4,000 | 25.0 % | **+18.0 %** | +20.0 % (+15.0 % to +25.0 %) | no | +10.0 % | +30.0 % |" in text
    assert "| 4,000 | 4 | 0 | 0 (0.0 %) | 0 of 4 |" in text
    assert "significantly worse (McNemar, p < 0.05)" in text
    for name in ("vmnist.md", "summary.md", "files.md"):
        assert (tmp_path / name).read_text() in text
    assert (tmp_path / "gain.png").read_bytes().startswith(b"\x89PNG")


def test_the_committed_results_do_no_harm():
    outcomes = read_records(Outcome, ROOT / "results" / "choosing" / "outcomes.csv")
    for rows, least in ((4000, 0.0), (400, -0.01)):
        for size in {outcome.trained_on for outcome in outcomes} - {0}:
            group = [o.gain for o in outcomes if (o.validation_rows, o.trained_on) == (rows, size)]
            assert len(group) == 9
            assert np.mean(group) >= least
    for size, least in ((100, 0.20), (200, 0.12)):
        assert np.mean([o.gain for o in outcomes if (o.validation_rows, o.trained_on) == (4000, size)]) >= least
    networks = [o for o in outcomes if o.validation_rows == 4000 and 0 < o.trained_on <= 20_000]
    assert len(networks) == 72
    assert np.mean([o.significantly_worse for o in networks]) <= 0.05
    assert np.mean([o.as_expected for o in networks]) >= 0.85
    assert all(outcome.gain >= -0.01 for outcome in outcomes if not outcome.trained_on)


def test_the_committed_tables_are_those_of_the_committed_outcomes():
    folder = ROOT / "results" / "choosing"
    outcomes = read_records(Outcome, folder / "outcomes.csv")
    networks = [outcome for outcome in outcomes if outcome.trained_on]
    assert choosing_report.by_size(networks) == (folder / "vmnist.md").read_text()
    assert choosing_report.summary(networks) == (folder / "summary.md").read_text()
    files = [outcome for outcome in outcomes if not outcome.trained_on]
    assert choosing_report.by_file(files) == (folder / "files.md").read_text()
