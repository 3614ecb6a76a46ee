"""A progress bar."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

DELAY = 2.0  # seconds before anything is shown
REFRESH = 0.2  # seconds between two updates
WIDTH = 30


class Progress:
    """A bar on standard error with the time left, for use in a ``with`` statement.

    Parameters
    ----------
    what : str
        Name of the work, shown before the bar.
    total : int or None
        Number of steps. If None, only the number of steps that are done is shown.
    shown : bool or None, default=None
        Whether to show the bar. If None, it is shown on a terminal only, after two seconds.
    """

    def __init__(self, what: str, total: int | None, shown: bool | None = None) -> None:
        self.what, self.total = what, total
        self.done = 0
        terminal = sys.stderr is not None and sys.stderr.isatty()
        self.shown = terminal if shown is None else shown and sys.stderr is not None
        self.start = time.monotonic()
        self.next_update = self.start + (DELAY if shown is None else 0.0)
        self._length = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._length:
            self._write("")

    def step(self, steps: int = 1) -> None:
        """Count one more step, or several."""
        self.done += steps
        now = time.monotonic()
        if not self.shown or now < self.next_update:
            return
        self.next_update = now + REFRESH
        if self.total is None:
            self._write(f"{self.what}: {self.done:,} done")
            return
        filled = WIDTH * self.done // self.total
        left = (now - self.start) / self.done * (self.total - self.done)
        bar = "━" * filled + "─" * (WIDTH - filled)
        self._write(f"{self.what} {bar} {100 * self.done // self.total:3} %, {self._duration(left)} left")

    def _write(self, text: str) -> None:
        """Replace the line. Terminals that cannot show the characters of the bar get ASCII ones."""
        encoding = getattr(sys.stderr, "encoding", None) or "ascii"
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            text = text.replace("━", "#").replace("─", ".")
        sys.stderr.write("\r" + text.ljust(self._length) + ("" if text else "\r"))
        sys.stderr.flush()
        self._length = len(text)

    @staticmethod
    def _duration(seconds: float) -> str:
        return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
