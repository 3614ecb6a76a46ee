"""The installed command: help, completion, errors and interruptions."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import aftermax
from aftermax import sweep
from aftermax.data import Scores, load_vmnist
from helpers.command import SCRIPT, refused, run, run_here
from helpers.samples import make_samples

COMMANDS = ["demo", "audit", "fit", "predict", "check", "adapt", "export", "warm"]


@pytest.mark.parametrize("arguments", [["--help"], *([name, "-h"] for name in COMMANDS)])
def test_help_is_there_for_every_command(arguments):
    done = run(*arguments, check=True)
    assert done.stdout.startswith(f"Usage: {' '.join(['aftermax', *arguments[:-1]])} ")
    assert "bool" not in done.stdout
    assert done.stderr == ""


def test_without_a_command_help_lists_every_command():
    listed = run(check=True).stdout.split("Commands:\n")[1]
    assert [line.split()[0] for line in listed.splitlines()] == COMMANDS
    assert "..." not in listed


def test_the_version_is_shown():
    assert run("--version", check=True).stdout == f"aftermax {aftermax.__version__}\n"


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "sys.argv = ['aftermax', '--help']\n"
        "from aftermax._cli import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    heavy = 'numpy', 'sklearn', 'scipy', 'numba', 'matplotlib', 'torch', 'pandas', 'pyarrow', 'onnx', 'rich'\n"
        "    print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_help_is_fast():
    """In seconds of processor time, which a busy machine hardly changes."""
    resource = pytest.importorskip("resource")

    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def best(*arguments):
        times = []
        for _ in range(7):
            before = used()
            subprocess.run(arguments, capture_output=True, check=True)
            times.append(used() - before)
        return min(times)

    assert best(SCRIPT, "--help") < 25 * best(sys.executable, "-c", "pass")  # 8 where it was measured, in 0.1 s


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["audti"], "aftermax: No such command 'audti'"),
        (["audit", "--htlm", "x"], "aftermax: No such option"),
        (["audit"], "aftermax: Missing argument 'SCORES'. See 'aftermax audit --help'."),
        (["fit", "scores.csv"], "aftermax: Missing option"),
        (["audit", "scores.csv", "--head", "svc"], "aftermax: Invalid value for '--head': 'svc' is not one of 'auto'"),
        (["audit", "scores.csv", "--jobs", "0"], "aftermax: Invalid value for '--jobs': "),
        (["audit", "scores.csv", "--seed", "x"], "aftermax: Invalid value for '--seed'"),
        (["predict", "head.npz", "scores.csv"], "aftermax: head.npz is not there."),
        (["demo", "--out"], "aftermax: Option '--out' requires an argument"),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(arguments, words, tmp_path):
    assert refused(*arguments, cwd=tmp_path).startswith(words)


def test_the_error_for_a_misspelled_command_is_a_sentence_that_names_the_help():
    message = refused("exprot")
    assert message.endswith(" See 'aftermax --help'.\n")
    assert "?." not in message


@pytest.mark.parametrize(("shell", "own"), [("bash", "COMP_WORDS"), ("zsh", "#compdef"), ("fish", "commandline -cp")])
def test_shells_can_complete_commands_and_options(shell, own):
    asked = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # else it is for the shell that the tests run in
    script = run("--show-completion", shell, check=True, env=os.environ | asked).stdout
    assert "_AFTERMAX_COMPLETE" in script
    assert own in script


@pytest.mark.parametrize(
    ("words", "expected"),
    [("aftermax au", "audit"), ("aftermax audit --ht", "--html"), ("aftermax audit --head ", "sph")],
)
def test_completion_knows_commands_options_and_values(words, expected):
    asked = {"_AFTERMAX_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert expected in run(env=os.environ | asked).stdout.split()


def interrupt(process, library):
    """Press Ctrl-C once the process has loaded a library; its exit code, its output, and the seconds it took."""
    while library not in Path(f"/proc/{process.pid}/maps").read_text():
        assert process.poll() is None
        time.sleep(0.1)
    time.sleep(1)
    start = time.perf_counter()
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=300)
    return process.returncode, *output, time.perf_counter() - start


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="Linux lists the libraries of a process")
@pytest.mark.parametrize(
    ("arguments", "library"),
    [(["audit", "-", "--html", "report.html"], "arrow"), (["fit", "s.npz", "-o", "h.npz"], "llvm")],
)
def test_ctrl_c_is_one_line_and_exit_code_130_and_nothing_is_left(arguments, library, tmp_path):
    logits, labels = make_samples(n_samples=100_000)  # minutes of work
    np.savez(tmp_path / "s.npz", logits=logits, labels=labels)
    process = subprocess.Popen(
        [SCRIPT, *arguments],
        stdin=-1,
        stdout=-1,
        stderr=-1,
        cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background process ignores it
    )
    process.stdin.write(b"a,b,label\n1,2,a\n")
    process.stdin.flush()
    code, out, err, seconds = interrupt(process, library)
    assert code == 130
    assert out == b""
    assert err.endswith(b"aftermax: interrupted; no unfinished file is left behind.\n")
    assert seconds < 60  # about 2 on an idle machine; the work takes minutes
    assert [path.name for path in tmp_path.iterdir()] == ["s.npz"]


def test_a_closed_pipe_is_not_an_error():
    started = subprocess.Popen([SCRIPT, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    started.stdout.close()
    assert started.stderr.read() == b""
    assert started.wait(timeout=120) == 1
    started.stderr.close()


def test_without_pyarrow_tables_name_what_to_install(tmp_path):
    (tmp_path / "scores.csv").write_text("a,b,label\n1,2,a\n2,1,b\n")
    code = (
        "import sys; sys.modules['pyarrow'] = None; sys.argv = ['aftermax', 'audit', 'scores.csv']\n"
        "from aftermax._cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "aftermax: .csv and .parquet files need pyarrow: pip install 'aftermax[cli]'\n"


def test_an_unexpected_error_is_one_line_too(tmp_path):
    code = (
        "import sys; sys.argv = ['aftermax', 'demo']; import aftermax._demo\n"
        "aftermax._demo.run = lambda folder: {}['x']\n"
        "from aftermax._cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "aftermax: unexpected KeyError: 'x'. Set AFTERMAX_DEBUG=1 to see where; please report it.\n"


def test_aftermax_debug_shows_the_traceback(tmp_path):
    done = run("audit", "nowhere.csv", cwd=tmp_path, env=os.environ | {"AFTERMAX_DEBUG": "1"})
    assert "Traceback" in done.stderr
    assert done.returncode != 0


def test_without_typer_the_command_names_what_to_install():
    code = "import sys; sys.modules['typer'] = None; from aftermax._cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "aftermax: the command needs typer: pip install 'aftermax[cli]'\n"


def test_the_demo_prints_its_table_and_writes_table_and_figures(tmp_path, monkeypatch):
    """On some samples of one of its three networks, to save time."""
    monkeypatch.setattr("aftermax._demo.SHIPPED", (500,))
    whole = load_vmnist(500)
    monkeypatch.setattr("aftermax._demo.load_vmnist", lambda _: type(whole)(*(part[:500] for part in whole)))
    done = run_here("demo", "--out", "out", cwd=tmp_path, check=True)
    table = (tmp_path / "out" / "table.md").read_text()
    assert table in done.stdout
    error = np.mean(whole.test_logits[:500].argmax(axis=1) != whole.test_labels[:500])
    heads, _, line = ([cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines())
    assert line[:2] == ["500", f"{100 * error:.1f} %"]
    assert heads[2:5] == [
        "fewer errors: SPH, best on test (looks at its labels)",
        "SPH, chosen honestly",
        "AutoHead",
    ]
    some = Scores(*(part[:500] for part in whole))
    best = sweep(some.val_logits, some.val_labels, eval_logits=some.test_logits, eval_labels=some.test_labels)
    assert line[2] == f"{100 * best['gain'].max():+.1f} %"
    assert "looks at their labels" in done.stdout.split("|")[0]
    for name in ("response-array.png", "routes.png"):
        assert (tmp_path / "out" / name).read_bytes().startswith(b"\x89PNG")
