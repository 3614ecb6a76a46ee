"""``python -m experiments``: its commands, their errors, and the results that two of them share."""

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments.benchmark import letters_trials, measure, shifted_data, text_trials, trials
from experiments.benchmark.measure import Benchmark, Outcome
from experiments.benchmark.methods import METHODS
from experiments.benchmark.shifted_data import CLEAN, QUICK_CASES, shifted_mnist
from experiments.benchmark.trials import Trial, load_samples
from experiments.commands import app, benchmark
from experiments.data import mnist as mnist_module
from experiments.runs.csv_records import read_records
from helpers.made_digits import dim_digits
from helpers.outcomes import OUTCOME, table_cells, trial_samples
from helpers.samples import ROOT

COMMANDS = [
    "vmnist",
    "cifar",
    "recipes",
    "choosing",
    "training-samples",
    "loss",
    "shift",
    "money",
    "models",
    "few-labels",
    "layers",
]
# Simulated, score files, from the registry, or texts.
WITHOUT_DATA = ["costs", "trust", "abstention", "priors", "vendor", "characters", "zeroshot", "prompts"]


def run(*arguments, **environment):
    """Run a command in a process of its own, from the root of the repository."""
    return subprocess.run(
        [sys.executable, "-m", "experiments", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | environment,
    )


def refused(*arguments):
    """The one line on standard error of a command that ends with exit code 2."""
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    return done.stderr


# ---- help and errors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_lists_every_command(arguments):
    done = run(*arguments)
    assert done.returncode == 0
    listed = done.stdout.split("Commands:\n")[1]
    assert [line.split()[0] for line in listed.splitlines()] == [*COMMANDS, *WITHOUT_DATA]


def test_help_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['experiments', '--help']\n"
        "from experiments.__main__ import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n"
        "    print([name for name in ('numpy', 'sklearn', 'numba', 'matplotlib', 'torch') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_missing_data_is_one_line_and_exit_code_2_and_no_results_are_lost(command, tmp_path):
    path = tmp_path / "outcomes.csv"
    path.write_text("results of an hour")
    line = refused(command, "--again", "--data", "nowhere", "--out", tmp_path)
    assert line.startswith("experiments: MNIST is not in nowhere: no file train-images-idx3-ubyte[.gz]")
    assert path.read_text() == "results of an hour"
    assert list(tmp_path.iterdir()) == [path]


def test_without_npm_the_error_is_one_line_and_no_results_are_lost(tmp_path):
    path = tmp_path / "outcomes.csv"
    path.write_text("results of an hour")
    done = run("vendor", "--quick", "--again", "--out", tmp_path, "--kept", tmp_path / "kept", PATH="")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "install npm" in done.stderr
    assert path.read_text() == "results of an hour"


def test_without_the_recogniser_the_error_names_its_package_and_no_results_are_lost(tmp_path):
    path = tmp_path / "outcomes.csv"
    path.write_text("results of an hour")
    elsewhere = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    done = run("characters", "--quick", "--again", "--out", tmp_path, "--kept", tmp_path / "kept", **elsewhere)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "rapidocr-onnxruntime==1.4.4 from PyPI" in done.stderr
    assert path.read_text() == "results of an hour"


@pytest.mark.parametrize("command", ["zeroshot", "prompts"])
def test_without_texts_the_error_says_where_to_get_them_and_no_results_are_lost(command, tmp_path):
    path = tmp_path / "outcomes.csv"
    path.write_text("results of an hour")
    line = refused(command, "--again", "--text", "nowhere", "--out", tmp_path)
    assert line.startswith("experiments: BANKING77 is not in nowhere: no file train.csv there.")
    assert "https://github.com/PolyAI-LDN/task-specific-datasets (CC BY 4.0)" in line
    assert path.read_text() == "results of an hour"


@pytest.mark.skipif(find_spec("quapy") is not None, reason="quapy is installed")
def test_without_quapy_the_error_says_how_to_install_it(tmp_path):
    assert "This experiment needs quapy" in refused("priors", "--quick", "--out", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_traceback_is_shown_on_request(tmp_path):
    done = run("vmnist", "--data", "nowhere", "--out", tmp_path, AFTERMAX_DEBUG="1")
    assert "Traceback" in done.stderr
    assert done.returncode != 0


def test_an_unknown_recipe_or_method_is_refused_with_a_list_of_those_that_exist(tmp_path):
    done = run("vmnist", "--recipe", "cake", "--out", tmp_path)
    assert done.returncode == 2
    assert "'cake' is not a recipe: choose from adam, rmsprop" in " ".join(done.stderr.split())
    for command in ("vmnist", "money"):
        assert "--redo cake is not a method: choose from softmax, sph" in refused(command, "--redo", "cake")


# ---- whole runs ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits():
    return dim_digits()


@pytest.fixture
def command(digits, tmp_path, monkeypatch):
    """Runs a command in an empty folder, with these digits for MNIST, and without CIFAR-10."""
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AFTERMAX_DATA", raising=False)
    monkeypatch.setattr(mnist_module, "load_mnist", lambda folder: digits)

    def run(*arguments):
        done = CliRunner().invoke(app, [*arguments, "--jobs", "1"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    return run


@pytest.fixture
def measured(monkeypatch):
    """Counts the trials that are measured, which here takes no time."""
    counts = Counter()

    def measured_at_once(trial, methods):
        counts[trial.key] += 1
        outcome = replace(OUTCOME, family=trial.family, name=trial.name, network=trial.network, rows=trial.samples)
        return [replace(outcome, method=method, gain=0.1 * (method != "softmax")) for method in methods]

    monkeypatch.setattr(measure, "measure", measured_at_once)
    vmnist = [Trial("vmnist", "100", 0, 400, trial_samples)]
    monkeypatch.setattr(trials, "vmnist_trials", lambda mnist, quick: vmnist)
    return counts


@pytest.mark.slow
def test_a_quick_run_from_images_to_report(command, digits, tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "Benchmark", partial(Benchmark, ("softmax", "qda", "naive_bayes")))
    said = command("shift", "--quick")
    folder = tmp_path / "results" / "shift-quick"
    assert "Written to results/shift-quick" in said
    assert "CIFAR-10" not in said
    names = {f"{name}.{kind}" for name in ("gain", "examples") for kind in ("png", "pdf")}
    names |= {"outcomes.csv", "run.json", "report.md", "table.md", "summary.md"}
    assert {path.name for path in folder.iterdir()} == names
    data, lines = shifted_mnist(digits), table_cells(folder / "table.md")
    errors = {
        case: np.mean(test.logits.argmax(axis=1) != test.labels)
        for case in (CLEAN, *QUICK_CASES)
        for _, test in [load_samples(data.path(0, case, shifted_data.SCORES_FOLDER))]
    }
    assert [cells[0] for cells in lines[1:4]] == ["MNIST, noise", "MNIST, rotation", "MNIST, all"]
    for case, cells in zip(QUICK_CASES, lines[1:3], strict=True):
        assert cells[1:3] == [f"{100 * errors[CLEAN]:.1f} %", f"{100 * errors[case]:.1f} %"]
    validation, test = load_samples(data.path(0, QUICK_CASES[0], shifted_data.SCORES_FOLDER))
    [outcome] = [
        outcome
        for outcome in read_records(Outcome, folder / "outcomes.csv")
        if (outcome.name, outcome.rows, outcome.method) == (QUICK_CASES[0].name, 500, "qda")
    ]
    head = METHODS["qda"].make(10).fit(validation.logits[:500].astype(float), validation.labels[:500])
    wrong = np.mean(head.predict(test.logits.astype(float)) != test.labels)
    assert outcome.gain == pytest.approx(1 - wrong / errors[QUICK_CASES[0]])


@pytest.mark.slow
@pytest.mark.parametrize("first", ["money", "shift"])
def test_the_two_commands_share_the_shift_trials(command, measured, tmp_path, first):
    shifted = {("shift-mnist", case.name, 0, count) for case in QUICK_CASES for count in (100, 500, 2_000)}
    everything = {*shifted, ("vmnist", "100", 0, 400)}
    command(first, "--quick")
    assert set(measured) == (everything if first == "money" else shifted)
    command("shift" if first == "money" else "money", "--quick")
    assert measured == dict.fromkeys(everything, 1)
    for folder, keys in (("money-quick", everything - shifted), ("shift-quick", shifted)):
        outcomes = read_records(Outcome, tmp_path / "results" / folder / "outcomes.csv")
        assert {outcome.key for outcome in outcomes} == keys
    cases = table_cells(tmp_path / "results" / "money-quick" / "cases.md")
    assert [cells[0] for cells in cases[1:]] == [
        "vMNIST, trained on 100",
        *["MNIST, noise 2"] * 3,
        *["MNIST, rotation 2"] * 3,
    ]


@pytest.mark.slow
def test_with_another_folder_the_shift_trials_are_in_a_folder_of_it(command, measured, tmp_path):
    said = command("money", "--quick", "--out", "mine")
    assert "Written to mine: report.md" in said
    command("shift", "--quick", "--out", "mine/shift")
    assert set(measured.values()) == {1}
    assert not (tmp_path / "results").exists()
    command("money", "--quick", "--out", "mine", "--again")
    assert set(measured.values()) == {2}


def test_a_line_says_that_cifar10_is_left_out_and_how_to_get_it(command, measured, monkeypatch):
    monkeypatch.setattr(shifted_data, "MNIST_NETWORKS", 1)
    monkeypatch.setattr(shifted_data, "CASES", QUICK_CASES)
    said = command("shift", "--data", "here")
    [line] = [line for line in said.splitlines() if "CIFAR-10" in line]
    assert line.startswith("CIFAR-10 is left out: there is no folder cifar-10-batches-py in here. To include it, get")
    assert "Written to results/shift:" in said


def test_a_line_says_why_letters_and_texts_are_left_out(tmp_path, monkeypatch, capsys):
    def absent(error, *_, **__):
        raise error

    monkeypatch.setattr(letters_trials, "load_letters", partial(absent, OSError("There is no apt-get.")))
    monkeypatch.setattr(text_trials, "load_encoder", partial(absent, ImportError("It is in a package.")))
    monkeypatch.chdir(tmp_path)
    for part in text_trials.PARTS:
        (tmp_path / part).write_text("text,category\nhello,a\n")
    assert benchmark._letters(quick=False) == benchmark._texts(tmp_path, quick=False) == []
    assert capsys.readouterr().out.splitlines() == [
        "UCI's letters are left out. There is no apt-get.",
        "Texts are left out. It is in a package.",
    ]
    assert benchmark._letters(quick=True) == benchmark._texts(None, quick=False) == []
    assert capsys.readouterr().out == ""
    with pytest.raises(FileNotFoundError):
        benchmark._texts(tmp_path / "nowhere", quick=False)
