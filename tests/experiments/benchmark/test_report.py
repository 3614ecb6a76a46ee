"""The report of the benchmark."""

from dataclasses import replace

import pytest

from aftermax._utils.paired_tests import exact_mcnemar
from experiments.benchmark import features_report, report
from experiments.benchmark.measure import measure
from experiments.benchmark.results import Results
from experiments.benchmark.trials import Trial
from helpers.outcomes import OUTCOME, trial_samples


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
    for index, (family, name, samples, networks) in enumerate(
        [("vmnist", "100", 4000, 2), ("vmnist", "5000", 400, 2), ("files", "some-net", 5000, 1)]
    ):
        for network in range(networks):
            for method, by_case in gains.items():
                if by_case[index] is None:
                    continue
                gain = by_case[index] + (0.02 * (network - 0.5) if networks > 1 and by_case[index] else 0)
                wins, losses = (round(100 + 200 * gain), 100) if gain > 0 else (100, round(100 - 200 * gain))
                outcomes.append(
                    replace(
                        OUTCOME,
                        family=family,
                        name=name,
                        rows=samples,
                        network=network,
                        classes=100 if family == "files" else 10,
                        method=method,
                        gain=gain,
                        wins=wins,
                        losses=losses,
                        p_value=exact_mcnemar(wins, losses),
                        fit_seconds={"softmax": 0.0, "svc": 5.0, "auto": 10.0}.get(method, 1.0) * (1 + index),
                        predict_seconds=0.001 if method == "softmax" else 0.005,
                        log_loss=float("nan") if method == "svc" else 0.7,
                    )
                )
    return outcomes


def test_the_report_says_what_was_measured(tmp_path):
    text = report.write(made_outcomes(), tmp_path)
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
        f"| SVC | 3 | +3.3 % | -28.0 % (some-net; 5,000 samples) | 40.0 % | {100 * worse / 5:.1f} % | 1 x | 5 x | - |"
        in text
    )
    assert "| AutoHead | 3 | +22.4 % | +0.1 % (some-net; 5,000 samples) |" in text
    assert "| 2 x | 5 x | -0.100 |" in text
    written = (tmp_path / "report.md").read_text()
    for name in ("cases", "methods", "peers"):
        assert (tmp_path / f"{name}.md").read_text() in written
        assert (tmp_path / f"{name}.md").read_text() in text
    assert (tmp_path / "gain.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "gain.pdf").read_bytes().startswith(b"%PDF")


def test_means_are_over_networks_first_and_then_over_cases():
    results = Results(made_outcomes())
    for method in results.methods:
        for case, gain in results.gains(method).items():
            group = [o.gain for o in results.outcomes if (o.family, o.name, o.rows, o.method) == (*case, method)]
            assert gain == pytest.approx(sum(group) / len(group))
    assert results.best_peer() == "sms"
    assert results.best_in(("vmnist", "100", 4000)) == pytest.approx(0.58)


def featured_outcomes():
    """Three cases with features and one without, which is shown first."""
    gains = {
        "auto": (0.1, 0.4, 0.2, 0.30),
        "auto_features": (None, 0.5, 0.17, 0.35),
        "svc": (0.1, 0.2, 0.25, 0.1),
        "probe": (None, 0.6, -0.1, 0.1),
        "l2sp": (None, 0.4, 0.17, 0.36),
    }
    cases = [("files", "a-net", 500), ("vmnist", "100", 400), ("letters", "2000", 400), ("text", "banking77", 385)]
    return [
        replace(OUTCOME, family=family, name=name, rows=samples, method=method, gain=by_case[index], fit_seconds=2.0)
        for index, (family, name, samples) in enumerate(cases)
        for method, by_case in {"softmax": (0.0,) * 4, **gains}.items()
        if by_case[index] is not None
    ]


def test_methods_with_features_are_compared_on_the_cases_with_features(tmp_path):
    text = report.write(featured_outcomes(), tmp_path)
    # Changes by features: +10, -3 and +5 points.
    assert "Features change AutoHead's gain by +4.0 points in the mean over the 3 cases that have any" in text
    assert "more than one point worse than without in 1 of them (33.3 %); the worst change is -3.0 points" in text
    assert "(letters, trained on 2,000; 400 samples)" in text
    assert "Peers on features were measured in 3 of 3 cases with features" in text
    assert "The best single one, L2-SP, gains +31.0 % in the mean over these" in text
    assert "AutoHead with features gains +34.0 %" in text
    # It is 10 points behind the probe in the first case, and 8 behind the SVC on logits in the second.
    assert "the best peer on features *of each case* in 2 cases (66.7 %)" in text
    assert "on logits or on features, in 1 (33.3 %)" in text
    assert "| AutoHead | logits | +30.0 % | +20.0 % (letters, trained on 2,000; 400 samples) | 0.0 % | 2 |" in text
    assert (
        "| linear probe | features | +20.0 % | -10.0 % (letters, trained on 2,000; 400 samples) | 0.0 % | 2 |" in text
    )
    assert "| L2-SP | both | +31.0 % |" in text
    assert "| *best peer on logits of each case* |  | +18.3 % |" in text
    assert "| *best peer on features of each case* |  | +37.7 % |" in text
    assert "| texts (BANKING77; 77 classes) | 1 | +30.0 % | +35.0 % | +10.0 % | +36.0 % | +10.0 % |" in text
    assert "| texts, banking77 | 385 | 25.0 % | +30.0 % | +35.0 % | +10.0 % | +36.0 % | +10.0 % |" in text
    cases = (tmp_path / "cases.md").read_text()
    assert "| texts, banking77 | 385 | 25.0 % | **+30.0 %** | +35.0 % | +10.0 % |" in cases
    assert "L2-SP" not in cases
    written = (tmp_path / "report.md").read_text()
    for name in ("features", "features_methods", "features_families", "features_cases"):
        assert (tmp_path / f"{name}.md").read_text() in written
    assert (tmp_path / "gain_features.png").read_bytes().startswith(b"\x89PNG")
    assert "Not among these results: MNIST, shifted; CIFAR-10, shifted." in written


def test_a_report_says_which_cases_and_methods_are_not_there(tmp_path):
    text = report.write(made_outcomes(), tmp_path)
    assert "No method with features is among these results." in text
    written = (tmp_path / "report.md").read_text()
    assert "Not among these results: letters (UCI; 26 classes); texts (BANKING77; 77 classes); MNIST" in written
    assert not (tmp_path / "gain_features.png").exists()
    without_peers = [one for one in featured_outcomes() if one.method not in ("probe", "l2sp")]
    text = report.write(without_peers, tmp_path)
    assert "more than one point worse than without in 1 of them" in text
    assert "No peer on features is among these results." in text
    assert not (tmp_path / "gain_features.png").exists()


def test_means_with_features_are_over_the_cases_that_have_every_method_with_features(tmp_path):
    partial = [one for one in featured_outcomes() if (one.method, one.family) != ("l2sp", "letters")]
    text = report.write(partial, tmp_path)
    assert "Peers on features were measured in 2 of 3 cases with features" in text
    assert "| AutoHead | logits | +35.0 % |" in text
    none = [one for one in partial if one.method != "l2sp" or one.family == "files"]
    none.append(replace(none[0], method="l2sp"))
    assert "No case among these results has all methods with features." in report.write(none, tmp_path)


def test_a_method_that_lacks_a_case_has_no_line_among_those_with_features():
    results = Results([one for one in featured_outcomes() if (one.method, one.family) != ("svc", "text")])
    assert "| SVC |" not in features_report.method_table(features_report.compared(results))


def test_a_report_can_be_written_without_autohead(tmp_path):
    outcomes = measure(Trial("files", "made", 0, 120, trial_samples), ("softmax", "logistic", "svc", "knn"))
    text = report.write(outcomes, tmp_path)
    gain = next(outcome.gain for outcome in outcomes if outcome.method == "svc")
    assert f"{100 * gain:+.1f} %" in text
    assert not (tmp_path / "peers.md").exists()
