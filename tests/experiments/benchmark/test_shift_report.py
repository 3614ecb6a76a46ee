"""The report of the shift experiment."""

import re
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest
from matplotlib import pyplot

from aftermax._utils.paired_tests import exact_mcnemar
from experiments.benchmark import shift_report
from experiments.benchmark.methods import METHODS
from experiments.benchmark.shift_report import Shifts
from experiments.benchmark.shifted_data import CASES
from experiments.data.corruptions import SHIFTS
from helpers.outcomes import OUTCOME, table_cells

CLEAN_ERRORS = {"shift-mnist": 0.027, "shift-cifar10": 0.111}
NETWORKS = {"shift-mnist": 3, "shift-cifar10": 1}


def made_outcomes():
    """Those of a full run, with random gains; logistic regression is the best peer by far."""
    rng = np.random.default_rng(0)
    outcomes = []
    for family, networks in NETWORKS.items():
        for case in CASES:
            for network in range(networks):
                error = float(rng.uniform(0.05, 0.5))  # the same for every number of labelled samples
                for rows in (100, 500, 2_000):
                    for method in METHODS:
                        gain = 0.0 if method == "softmax" else float(rng.normal(0.1, 0.1))
                        gain += 0.2 * (method == "logistic")
                        wins, losses = round(100 + 100 * gain), 100
                        outcome = replace(OUTCOME, family=family, name=case.name, network=network, rows=rows)
                        p_value = exact_mcnemar(wins, losses)
                        counted = {"wins": wins, "losses": losses, "p_value": p_value}
                        outcomes.append(replace(outcome, method=method, softmax_error=error, gain=gain, **counted))
    return outcomes


def numbers(cell):
    return [int(number) for number in re.findall(r"[+-]\d+", cell)]


@pytest.fixture
def hasty(monkeypatch):
    """Figures are drawn, but not written."""
    monkeypatch.setattr(shift_report, "save", lambda figure, path: figure.draw_without_rendering())
    yield
    pyplot.close("all")


@pytest.fixture
def hastier(monkeypatch):
    """Figures are made, but not drawn."""
    monkeypatch.setattr(shift_report, "save", lambda figure, path: None)
    yield
    pyplot.close("all")


# ---- the report ------------------------------------------------------------------------------------------------------


def test_the_tables_hold_the_means_of_the_outcomes(hastier, tmp_path):
    outcomes = made_outcomes()
    shift_report.write(outcomes, CLEAN_ERRORS, tmp_path)
    heads = ["SPH", "best single peer: logistic regression", "AutoHead", "AutoHead with features"]
    methods = ["sph", "logistic", "auto", "auto_features"]
    lines = table_cells(tmp_path / "table.md")
    compact, full = lines[1:13], lines[14:]
    assert lines[0] == lines[13] == ["shift", "softmax error, clean", "shifted", *heads]
    assert [cells[0] for cells in compact] == [f"{d}, {s}" for d in ("MNIST", "CIFAR-10") for s in (*SHIFTS, "all")]
    assert [cells[0] for cells in full] == [f"{data}, {case.name}" for data in ("MNIST", "CIFAR-10") for case in CASES]
    for what, clean, shifted, *cells in [*compact, *full]:
        data, name = what.split(", ")
        family = {"MNIST": "shift-mnist", "CIFAR-10": "shift-cifar10"}[data]
        group = [o for o in outcomes if o.family == family and (name == "all" or f"{o.name} ".startswith(f"{name} "))]
        assert clean == f"{100 * CLEAN_ERRORS[family]:.1f} %"
        assert shifted == f"{100 * fmean(o.softmax_error for o in group):.1f} %"
        for method, cell in zip(methods, cells, strict=True):
            expected = [
                100 * fmean(o.gain for o in group if (o.method, o.rows) == (method, rows)) for rows in (100, 500, 2_000)
            ]
            np.testing.assert_allclose(numbers(cell), expected, atol=0.5 + 1e-9)


def test_the_summary_has_the_error_that_is_left(hastier, tmp_path):
    outcomes = made_outcomes()
    text = shift_report.write(outcomes, CLEAN_ERRORS, tmp_path)
    summary = (tmp_path / "summary.md").read_text()
    assert len(summary.splitlines()) <= 8
    assert summary in text
    lines = table_cells(tmp_path / "summary.md")
    assert lines[0][:3] == ["data", "labelled samples", "softmax"]
    assert [cells[:2] for cells in lines[1:]] == [
        [d, n] for d in ("MNIST", "CIFAR-10") for n in ("100", "500", "2,000")
    ]
    for family, cells in zip(np.repeat([*NETWORKS], 3), lines[1:], strict=True):
        rows = int(cells[1].replace(",", ""))
        for method, cell in zip(("softmax", "sph", "logistic", "auto", "auto_features"), cells[2:], strict=True):
            left = [
                o.softmax_error - o.gain * o.softmax_error
                for o in outcomes
                if (o.family, o.rows, o.method) == (family, rows, method)
            ]
            assert cell.strip("*") == f"{100 * fmean(left):.1f} %"
        assert cells[6].count("*") == 0
        lowest = min(cells[2:6], key=lambda cell: float(cell.strip("*% ")))
        assert [cell for cell in cells[2:6] if "*" in cell] == [lowest]


def test_the_best_of_a_line_is_bold_unless_it_sees_more_than_the_logits(hasty, tmp_path):
    gains = {"softmax": 0, "sph": 0.101, "auto": 0.304, "auto_features": 0.5, "svc": 0.296, "knn": -0.004}
    outcome = replace(OUTCOME, family="shift-mnist", name="noise 2", rows=100)
    outcomes = [replace(outcome, method=method, gain=gain) for method, gain in gains.items()]
    outcomes += [replace(o, rows=500, gain=-o.gain) for o in outcomes]
    outcomes = [replace(o, gain=o.gain + 1e-6 * (o.method == "svc")) for o in outcomes]
    shift_report.write(outcomes, CLEAN_ERRORS, tmp_path)
    line = table_cells(tmp_path / "table.md")[1]
    best = "best single peer: SVC"
    assert best in table_cells(tmp_path / "table.md")[0]
    assert line[3:] == ["+10 / **-10**", "**+30** / -30", "**+30** / -30", "+50 / -50"]


def test_the_report_says_what_is_favoured_and_counts_what_is_significant(tmp_path):
    outcomes = made_outcomes()
    text = shift_report.write(outcomes, CLEAN_ERRORS, tmp_path)
    report = (tmp_path / "report.md").read_text()
    for word in (
        "cross-validation on the labelled samples",
        "for testing only",
        "one of 7",
        "the comparison favours it",
    ):
        assert word in report.replace("\n", " ")
    for name in ("table", "summary"):
        assert (tmp_path / f"{name}.md").read_text() in report
    ours = [o for o in outcomes if o.method == "auto"]
    better = sum(o.wins > o.losses and o.p_value < 0.05 for o in ours)
    worse = sum(o.wins < o.losses and o.p_value < 0.05 for o in ours)
    by_case = {}
    for o in ours:
        by_case.setdefault((o.family, o.name, o.rows), []).append(o.gain)
    mean, worst = fmean(map(fmean, by_case.values())), min(map(fmean, by_case.values()))
    [line] = [line.split(" | ") for line in text.splitlines() if line.startswith("| AutoHead | ")]
    assert line[1] == f"{100 * mean:+.1f} %"
    assert line[2].startswith(f"{100 * worst:+.1f} % (")
    assert line[3:] == [f"{better} of 180 trials", f"{worse} of 180 |"]
    for name in ("examples.png", "gain.png"):
        assert f"({name})" in report
    assert (tmp_path / "gain.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "gain.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    "kept",
    [
        lambda o: o.family == "shift-mnist",
        lambda o: o.family == "shift-cifar10" and o.name in ("noise 2", "rotation 2"),
        lambda o: o.method in ("softmax", "knn"),
        lambda o: o.method in ("softmax", "auto"),
        lambda o: o.method in ("softmax", "auto_features"),
        lambda o: o.method != "softmax" and o.rows > 100,
        lambda o: o.family != "shift-mnist" or o.name.startswith("blur"),  # panels without data
        lambda o: o.method != "sph" or o.rows != 500,
    ],
)
def test_what_is_missing_is_left_out(hasty, kept, tmp_path):
    outcomes = [o for o in made_outcomes() if kept(o)]
    others = [replace(OUTCOME, method=method) for method in METHODS]  # of vMNIST
    text = shift_report.write([*others, *outcomes], {}, tmp_path)
    assert ("MNIST, blur" in text) == any(o.family == "shift-mnist" for o in outcomes)
    assert ("best single peer" in text) == any(o.method in ("knn", "logistic") for o in outcomes)
    assert "nan" not in text


def test_the_order_of_the_outcomes_does_not_matter(hastier, tmp_path):
    outcomes = made_outcomes()
    sorted_by_name = sorted(outcomes, key=lambda o: (o.method, o.name, o.rows))
    texts = [shift_report.write(some, CLEAN_ERRORS, tmp_path) for some in (outcomes, sorted_by_name)]
    assert texts[0] == texts[1]
    assert Shifts(sorted_by_name).shifts == [*SHIFTS]
