"""The shift experiment's report, and the two commands that share its trials."""

import re
from collections import Counter
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest
from matplotlib import pyplot
from typer.testing import CliRunner

from aftermax._cli.app import app
from aftermax._utils.paired_tests import exact_mcnemar
from experiments.data import mnist as datasets
from experiments.benchmark import measure as money
from experiments.benchmark import shifted_data as shift
from experiments.benchmark import shift_report
from experiments.benchmark import trials
from experiments.data.corruptions import SHIFTS
from experiments.data.mnist import MNIST
from experiments.benchmark.measure import METHODS, Outcome
from experiments.runs.csv_records import read_records
from experiments.benchmark.shifted_data import CASES, CLEAN, QUICK_CASES, mnist_world
from experiments.benchmark.shift_report import Shifts
from experiments.benchmark.trials import Trial, load_rows
from helpers.outcomes import OUTCOME, made_rows

CLEAN_ERRORS = {"shift-mnist": 0.027, "shift-cifar10": 0.111}
NETWORKS = {"shift-mnist": 3, "shift-cifar10": 1}


def made_outcomes():
    """A full run's, with gains at random; logistic regression is the best peer by far."""
    rng = np.random.default_rng(0)
    outcomes = []
    for family, networks in NETWORKS.items():
        for case in CASES:
            for network in range(networks):
                error = float(rng.uniform(0.05, 0.5))  # the same whatever the number of labelled rows
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


def lines_of(path):
    """A file's tables: the cells of every line."""
    lines = [line for line in path.read_text().splitlines() if line.startswith("|") and not line.startswith("|--")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def numbers(cell):
    return [int(number) for number in re.findall(r"[+-]\d+", cell)]


@pytest.fixture
def hasty(monkeypatch):
    """Pictures are drawn, but not written."""
    monkeypatch.setattr(shift_report, "save", lambda figure, path: figure.draw_without_rendering())
    yield
    pyplot.close("all")


@pytest.fixture
def hastier(monkeypatch):
    """Pictures are put together, but not drawn."""
    monkeypatch.setattr(shift_report, "save", lambda figure, path: None)
    yield
    pyplot.close("all")


# ---- the report ------------------------------------------------------------------------------------------------------


def test_the_tables_hold_the_means_of_the_outcomes(hastier, tmp_path):
    outcomes = made_outcomes()
    shift_report.write(outcomes, CLEAN_ERRORS, tmp_path)
    heads = ["SPH", "best single peer: logistic regression", "AutoHead", "AutoHead with features"]
    methods = ["sph", "logistic", "auto", "auto_features"]
    lines = lines_of(tmp_path / "table.md")
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
    lines = lines_of(tmp_path / "summary.md")
    assert lines[0][:3] == ["data", "labelled rows", "softmax"]
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


def test_the_best_of_a_line_is_bold_unless_it_sees_more_than_the_logits(hasty, tmp_path):
    gains = {"softmax": 0, "sph": 0.101, "auto": 0.304, "auto_features": 0.5, "svc": 0.296, "knn": -0.004}
    outcome = replace(OUTCOME, family="shift-mnist", name="noise 2", rows=100)
    outcomes = [replace(outcome, method=method, gain=gain) for method, gain in gains.items()]
    outcomes += [replace(o, rows=500, gain=-o.gain) for o in outcomes]
    outcomes = [replace(o, gain=o.gain + 1e-6 * (o.method == "svc")) for o in outcomes]
    shift_report.write(outcomes, CLEAN_ERRORS, tmp_path)
    line = lines_of(tmp_path / "table.md")[1]
    best = "best single peer: SVC"
    assert best in lines_of(tmp_path / "table.md")[0]
    assert line[3:] == ["+10 / **-10**", "**+30** / -30", "**+30** / -30", "+50 / -50"]


def test_the_report_says_what_is_flattered_and_counts_what_is_significant(tmp_path):
    outcomes = made_outcomes()
    text = shift_report.write(outcomes, CLEAN_ERRORS, tmp_path)
    report = (tmp_path / "report.md").read_text()
    for word in ("within the labelled rows", "only for judging", "one of 7", "the comparison flatters it"):
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


# ---- the commands ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits():
    """Something like MNIST, small: dim and noisy copies of ten images."""
    rng = np.random.default_rng(0)
    prototypes = 0.2 * rng.random((10, 7, 7)).repeat(4, 1).repeat(4, 2).reshape(10, 784)
    labels = rng.integers(10, size=8_600)
    images = np.clip(prototypes[labels] + 0.15 * rng.normal(size=(8_600, 784)), 0, 1).astype(np.float32)
    return MNIST(images[:600], labels[:600], images[600:], labels[600:])


@pytest.fixture
def command(digits, tmp_path, monkeypatch):
    """Runs a command in an empty folder, with these digits for MNIST, and without CIFAR-10."""
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AFTERMAX_DATA", raising=False)
    monkeypatch.setattr(datasets, "load_mnist", lambda folder: digits)

    def run(*arguments):
        done = CliRunner().invoke(app, [*arguments, "--jobs", "1"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    return run


@pytest.fixture
def measured(monkeypatch):
    """Counts the trials that are measured, which here takes no time."""
    counts = Counter()

    def measure(trial, methods):
        counts[trial.key] += 1
        outcome = replace(OUTCOME, family=trial.family, name=trial.name, network=trial.network, rows=trial.rows)
        return [replace(outcome, method=method, gain=0.1 * (method != "softmax")) for method in methods]

    monkeypatch.setattr(money, "measure", measure)
    vmnist = [Trial("vmnist", "100", 0, 400, made_rows)]
    monkeypatch.setattr(trials, "vmnist_trials", lambda mnist, quick: vmnist)
    return counts


@pytest.mark.slow
def test_a_taste_from_images_to_report(command, digits, tmp_path, monkeypatch):
    monkeypatch.setattr(money, "METHODS", {name: METHODS[name] for name in ("softmax", "qda", "naive_bayes")})
    said = command("reproduce", "shift", "--quick")
    folder = tmp_path / "results" / "shift-quick"
    assert "Written to results/shift-quick" in said
    assert "CIFAR-10" not in said
    names = {f"{name}.{kind}" for name in ("gain", "examples") for kind in ("png", "pdf")}
    names |= {"outcomes.csv", "run.json", "report.md", "table.md", "summary.md"}
    assert {path.name for path in folder.iterdir()} == names
    world, lines = mnist_world(digits), lines_of(folder / "table.md")
    errors = {
        case: np.mean(test.logits.argmax(axis=1) != test.labels)
        for case in (CLEAN, *QUICK_CASES)
        for _, test in [load_rows(world.path(0, case, shift.KEPT))]
    }
    assert [cells[0] for cells in lines[1:4]] == ["MNIST, noise", "MNIST, rotation", "MNIST, all"]
    for case, cells in zip(QUICK_CASES, lines[1:3], strict=True):
        assert cells[1:3] == [f"{100 * errors[CLEAN]:.1f} %", f"{100 * errors[case]:.1f} %"]
    validation, test = load_rows(world.path(0, QUICK_CASES[0], shift.KEPT))
    [outcome] = [
        outcome
        for outcome in read_records(Outcome, folder / "outcomes.csv")
        if (outcome.name, outcome.rows, outcome.method) == (QUICK_CASES[0].name, 500, "qda")
    ]
    head = METHODS["qda"].make(10).fit(validation.logits[:500].astype(float), validation.labels[:500])
    wrong = np.mean(head.predict(test.logits.astype(float)) != test.labels)
    assert outcome.gain == pytest.approx(1 - wrong / errors[QUICK_CASES[0]])


@pytest.mark.slow
@pytest.mark.parametrize("first", ["bench", "reproduce"])
def test_the_two_commands_share_the_shift_trials(command, measured, tmp_path, first):
    commands = {"bench": ["bench", "--peers", "--quick"], "reproduce": ["reproduce", "shift", "--quick"]}
    shifted = {("shift-mnist", case.name, 0, rows) for case in QUICK_CASES for rows in (100, 500, 2_000)}
    everything = {*shifted, ("vmnist", "100", 0, 400)}
    command(*commands.pop(first))
    assert set(measured) == (everything if first == "bench" else shifted)
    command(*commands.popitem()[1])
    assert measured == dict.fromkeys(everything, 1)
    for folder, keys in (("money-quick", everything - shifted), ("shift-quick", shifted)):
        outcomes = read_records(Outcome, tmp_path / "results" / folder / "outcomes.csv")
        assert {outcome.trial for outcome in outcomes} == keys
    cases = lines_of(tmp_path / "results" / "money-quick" / "cases.md")
    assert [cells[0] for cells in cases[1:]] == [
        "vMNIST, trained on 100",
        *["MNIST, noise 2"] * 3,
        *["MNIST, rotation 2"] * 3,
    ]


@pytest.mark.slow
def test_with_another_folder_the_shift_trials_are_in_a_folder_of_it(command, measured, tmp_path):
    said = command("bench", "--peers", "--quick", "--out", "mine")
    assert "Written to mine: report.md" in said
    command("reproduce", "shift", "--quick", "--out", "mine/shift")
    assert set(measured.values()) == {1}
    assert not (tmp_path / "results").exists()
    command("bench", "--peers", "--quick", "--out", "mine", "--again")
    assert set(measured.values()) == {2}


def test_a_line_says_that_cifar10_is_left_out_and_how_to_get_it(command, measured, monkeypatch):
    monkeypatch.setattr(shift, "MNIST_NETWORKS", 1)
    monkeypatch.setattr(shift, "CASES", QUICK_CASES)
    said = command("reproduce", "shift", "--data", "here")
    [line] = [line for line in said.splitlines() if "CIFAR-10" in line]
    assert line.startswith("CIFAR-10 is left out: there is no folder cifar-10-batches-py in here. To try it, get")
    assert "Written to results/shift:" in said
