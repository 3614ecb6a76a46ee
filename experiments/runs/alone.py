"""Work in a process of its own, so that its memory and processor time are its own too. For Linux, as it reads /proc."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

LOOK_EVERY = 0.5  # seconds


@dataclass(frozen=True)
class Stopped:
    """Work that took longer than it was allowed to: processor seconds and peak memory until then."""

    seconds: float
    gigabytes: float


def alone(work: Callable[..., Any], *arguments: Any, most_seconds: float = float("inf")) -> Any:
    """What ``work`` returns in a new process, or Stopped after so many processor seconds; its errors are raised."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, work, arguments))
    process.start()
    sender.close()
    try:
        while not receiver.poll(LOOK_EVERY):
            if (seconds := processor_seconds(process.pid)) > most_seconds:
                return Stopped(seconds, peak_gigabytes(process.pid))
        ok, result = _received(receiver, process)
    finally:
        process.kill()
        process.join()
    if not ok:
        raise result
    return result


def _received(receiver: Connection, process: Any) -> tuple[bool, Any]:
    try:
        return receiver.recv()  # type: ignore[no-any-return]
    except EOFError:
        process.join()
        raise MemoryError(f"The process ended with exit code {process.exitcode}: did it run out of memory?") from None


def _send(sender: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        sender.send((True, work(*arguments)))
    except Exception as error:
        sender.send((False, error))


def _end_with_parent() -> None:
    """Nobody would read what is sent: a run that is killed leaves no work behind."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


# ---- /proc -----------------------------------------------------------------------------------------------------------


def forget_peak() -> None:
    """Begin anew with the peak memory of this process."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_gigabytes(process: int | str | None = "self") -> float:
    """The largest memory that a process had, in units of 10^9 bytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    [kilobytes] = [line.split()[1] for line in lines if line.startswith("VmHWM:")] or ["0"]
    return int(kilobytes) * 1024 / 1e9


def processor_seconds(process: int | str | None = "self") -> float:
    """The processor time of a process, of the kernel's work for it too."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
