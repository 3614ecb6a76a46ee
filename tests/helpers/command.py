"""Run the command: the installed script or, faster, in this process."""

import contextlib
import io
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from unittest import mock

from aftermax._cli import main

SCRIPT = Path(sys.executable).with_name("aftermax")


def run(*arguments, **options):
    """Run the installed script; its output is text."""
    return subprocess.run([SCRIPT, *map(str, arguments)], capture_output=True, text=True, **options)


class Pipe(io.BytesIO):
    """Standard input that cannot seek."""

    def seekable(self):
        return False


def run_here(*arguments, cwd=".", input="", check=False):
    """Run the command in this process, which is a second faster; its output is text."""
    argv = ["aftermax", *map(str, arguments)]
    stdin = io.TextIOWrapper(io.BufferedReader(Pipe(input.encode())))
    out, err = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
    code, interrupt = 0, signal.getsignal(signal.SIGINT)
    with (
        contextlib.chdir(cwd),
        warnings.catch_warnings(),
        mock.patch.multiple(sys, argv=argv, stdin=stdin, stdout=out, stderr=err),
        mock.patch.object(sys.modules["__main__"], "__package__", None),  # or typer shows pytest's name
    ):
        warnings.simplefilter("default")
        warnings.filterwarnings("ignore", "'click.", DeprecationWarning)  # what older versions of typer use
        try:
            main()
        except SystemExit as exited:
            code = exited.code
        finally:
            signal.signal(signal.SIGINT, interrupt)
    output = [stream.buffer.getvalue().decode() for stream in (out, err)]
    assert not check or code == 0, output
    return subprocess.CompletedProcess(argv, code, *output)


def refused(*arguments, **options):
    """The error message of a command that is refused: one line, exit code 2, and nothing on standard output."""
    done = run_here(*arguments, **options)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("aftermax: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr
