"""Standard input, output and error, if the shell has closed one of them or a terminal cannot show every character."""

from __future__ import annotations

import io
import os
import sys
from typing import Any, NoReturn


class Closed(io.TextIOBase):
    """A stream that was closed before the command began: an error says so when it is used."""

    def __init__(self, message: str) -> None:
        self.message = message

    def write(self, text: str) -> NoReturn:
        """Refused."""
        raise OSError(self.message)

    @property
    def buffer(self) -> NoReturn:
        """Refused."""
        raise OSError(self.message)


INPUT_CLOSED = "standard input is closed: leave it open, or name a file."
OUTPUT_CLOSED = "standard output is closed, so nothing can be printed: leave it open, or name a file with -o."


def prepare_streams() -> None:
    """Make all three usable, as far as they can be.

    Python has None for a closed stream, and ``print(..., file=None)`` prints on standard output.
    """
    _reserve_descriptors()
    streams: Any = sys
    if sys.stdin is None:
        streams.stdin = Closed(INPUT_CLOSED)
    if sys.stdout is None:
        streams.stdout = Closed(OUTPUT_CLOSED)
    if sys.stderr is None:
        streams.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # to the end of the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _reserve_descriptors() -> None:
    """Let no file that is opened later have the number of a closed stream: libraries print messages there."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
