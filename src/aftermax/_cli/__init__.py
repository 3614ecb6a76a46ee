"""The ``aftermax`` command. It needs the ``cli`` extra (typer)."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from contextlib import suppress
from importlib.util import find_spec
from types import FrameType
from typing import NoReturn, TextIO

INTERRUPTED = 130
PATIENCE = 2.0  # seconds for tidying up after Ctrl-C
LEFT_CLEAN = "interrupted; nothing unfinished is left behind."
# Advice that is given in Python's words where this is called from Python.
IN_THE_COMMANDS_WORDS = {
    "pass numpy.log(numpy.clip(p, 1e-12, None))": "add --log",
    "with classes=[...]": "with --classes",
    "drop classes=": "drop --classes",
    "logits=...": "--logits-from",
    "features=...": "--features-from",
    "Save the head again with aftermax.save": "Fit the head again with 'aftermax fit'",
}


def script() -> None:
    """What is installed: the command, and after an error no waiting for anything that is still at work.

    pyarrow reads ahead in threads of its own, which would bring Python down as it shuts down.
    """
    try:
        main()
    except SystemExit as exiting:
        if exiting.code in (None, 0):
            raise
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os._exit(exiting.code if isinstance(exiting.code, int) else 1)


def main() -> NoReturn:
    """Run the command; an error is one line and exit code 2, or all of it where ``AFTERMAX_DEBUG`` is set."""
    warnings.showwarning = _show_warning
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        code = _run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:  # whoever reads, as ``head`` does, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except Exception as error:
        if os.environ.get("AFTERMAX_DEBUG"):
            raise
        _tell(_described(error))
        code = 2
    if code == INTERRUPTED:
        _tell(LEFT_CLEAN)
    sys.exit(code)


def _run() -> int:
    if find_spec("typer") is None:
        raise ImportError("the command needs typer: pip install 'aftermax[cli]'")
    import typer

    from aftermax._cli.app import app

    try:
        return int(app(standalone_mode=False) or 0)
    except typer.Abort as aborted:
        if isinstance(aborted.__cause__, EOFError):  # typer takes it for the end of what a user types
            raise aborted.__cause__ from None
        return INTERRUPTED


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Tidy up and leave; also if threads are at work, which would be waited for otherwise."""
    leaving = threading.Timer(PATIENCE, _leave)
    leaving.daemon = True
    leaving.start()
    raise KeyboardInterrupt


def _leave() -> None:
    _tell(LEFT_CLEAN)
    os._exit(INTERRUPTED)


def _described(error: Exception) -> str:
    if hasattr(error, "format_message"):  # of the command line itself
        path = getattr(getattr(error, "ctx", None), "command_path", "aftermax")
        message = error.format_message().replace("Value error, ", "").rstrip(".")
        return f"{message}. See '{path} --help'."
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, ImportError | OSError | TypeError | ValueError | MemoryError):
        return str(error) or type(error).__name__
    return f"unexpected {type(error).__name__}: {error}. AFTERMAX_DEBUG=1 shows where; please report it."


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _tell(f"warning: {message}")


def _tell(text: str) -> None:
    """One line on standard error."""
    for python, command in IN_THE_COMMANDS_WORDS.items():
        text = text.replace(python, command)
    print(f"aftermax: {' '.join(text.split())}", file=sys.stderr)
