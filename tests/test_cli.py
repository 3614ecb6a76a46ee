"""The installed command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import aftermax

SCRIPT = Path(sys.executable).with_name("aftermax")


def run(*arguments, **options):
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, **options)


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["demo", "--help"], ["bench", "--help"], ["reproduce", "--help"], ["reproduce", "vmnist", "-h"]],
)
def test_help_is_there_for_every_command(arguments):
    done = run(*arguments, check=True)
    assert "Usage: aftermax" in done.stdout


def test_the_version_is_shown():
    assert run("--version", check=True).stdout == f"aftermax {aftermax.__version__}\n"


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "sys.argv = ['aftermax', '--help']\n"
        "from aftermax.cli import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    print([m for m in ('numpy', 'sklearn', 'numba', 'matplotlib', 'torch', 'pandas') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize("experiment", ["vmnist", "recipes", "choosing"])
def test_an_error_is_one_line_and_exit_code_2(experiment, tmp_path):
    done = run("reproduce", experiment, "--data", "nowhere", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("aftermax: MNIST is not in nowhere: no file train-images-idx3-ubyte[.gz]")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("experiment", ["vmnist", "recipes", "choosing"])
def test_results_are_not_forgotten_before_the_data_is_there(experiment, tmp_path):
    path = tmp_path / "out" / "outcomes.csv"
    path.parent.mkdir()
    path.write_text("results of an hour")
    assert run("reproduce", experiment, "--again", "--out", "out", "--data", "typo", cwd=tmp_path).returncode == 2
    assert path.read_text() == "results of an hour"


def test_a_traceback_is_there_for_those_who_ask(tmp_path):
    done = run("reproduce", "vmnist", "--data", "nowhere", cwd=tmp_path, env=os.environ | {"AFTERMAX_DEBUG": "1"})
    assert "Traceback" in done.stderr
    assert done.returncode != 0


def test_an_unknown_recipe_is_refused_with_those_that_there_are(tmp_path):
    done = run("reproduce", "vmnist", "--recipe", "cake", cwd=tmp_path)
    assert done.returncode == 2
    words = " ".join(done.stderr.replace("│", " ").split())
    assert "'cake' is no recipe: choose from adam, rmsprop" in words


def test_without_typer_the_command_names_what_to_install():
    code = "import sys; sys.modules['typer'] = None; from aftermax.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "aftermax: the command needs typer: pip install 'aftermax[cli]'\n"


def test_the_demo_prints_its_table_and_writes_table_and_pictures(tmp_path):
    done = run("demo", "--out", "out", cwd=tmp_path, check=True)
    table = (tmp_path / "out" / "table.md").read_text()
    assert table in done.stdout
    assert [line.split("|")[1].strip() for line in table.splitlines()[2:]] == ["100", "500", "5,000"]
    for name in ("response-array.png", "routes.png"):
        assert (tmp_path / "out" / name).read_bytes().startswith(b"\x89PNG")
