"""The installed command, run as users run it."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(sys.executable).with_name("aftermax")


def run(*arguments, **options):
    """Run the command; everything it says is text."""
    return subprocess.run([SCRIPT, *map(str, arguments)], capture_output=True, text=True, **options)


def refused(*arguments, **options):
    """What the command says when it refuses: one line, exit code 2, and nothing on standard output."""
    done = run(*arguments, **options)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("aftermax: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr
