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

from aftermax._cli.streams import prepare_streams
from aftermax._utils.text import shortened, visible

INTERRUPTED = 130
CLEANUP_SECONDS = 2.0  # after Ctrl-C
MAX_LETTERS = 2000  # of a message
INTERRUPTED_MESSAGE = "interrupted; no unfinished file is left behind."


def script() -> None:
    """The installed script. After an error it exits without waiting for threads.

    pyarrow reads ahead in its own threads, which would crash Python as it shuts down.
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
    """Run the command. An error is one line and exit code 2, or a traceback if ``AFTERMAX_DEBUG`` is set."""
    prepare_streams()
    warnings.showwarning = _show_warning
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        code = _run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:  # the reader, such as ``head``, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except Exception as error:
        if os.environ.get("AFTERMAX_DEBUG"):
            raise
        _print_line(_describe(error))
        code = 2
    if code == INTERRUPTED:
        _print_line(INTERRUPTED_MESSAGE)
    sys.exit(code)


def _run() -> int:
    if find_spec("typer") is None:
        raise ImportError("the command needs typer: pip install 'aftermax[cli]'")
    import typer

    from aftermax._cli.app import app

    try:
        return int(app(standalone_mode=False) or 0)
    except typer.Abort as aborted:
        if isinstance(aborted.__cause__, EOFError):  # which typer takes for the end of the user's input
            raise aborted.__cause__ from None
        return INTERRUPTED


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Clean up and exit. A timer ends the process if threads are still running, which Python would wait for."""
    timer = threading.Timer(CLEANUP_SECONDS, _exit_now)
    timer.daemon = True
    timer.start()
    raise KeyboardInterrupt


def _exit_now() -> None:
    _print_line(INTERRUPTED_MESSAGE)
    os._exit(INTERRUPTED)


def _describe(error: Exception) -> str:
    if hasattr(error, "format_message"):  # an error of typer: wrong commands or options
        path = getattr(getattr(error, "ctx", None), "command_path", "aftermax")
        message = error.format_message().replace("Value error, ", "")  # which newer versions add
        message = message.replace("?.", "?")
        return f"{message}{'' if message.endswith(('.', '?')) else '.'} See '{path} --help'."
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        detail = f" ({error})" if str(error) else ""
        return f"memory is not enough for these scores{detail}: use fewer rows, or float32 in an .npy or .npz file."
    if isinstance(error, ImportError | OSError | TypeError | ValueError):
        return str(error) or type(error).__name__
    return f"unexpected {type(error).__name__}: {error}. Set AFTERMAX_DEBUG=1 to see where; please report it."


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _print_line(f"warning: {message}")


def _print_line(text: str) -> None:
    """Print one line on standard error."""
    line = visible(" ".join(shortened(text, MAX_LETTERS).split()))
    with suppress(OSError):  # standard error is full or gone, and there is nowhere else to say it
        print(f"aftermax: {line}", file=sys.stderr)
