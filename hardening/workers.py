"""Tasks in one process of their own, so that a crash, or a task that does not end, is a finding and not the end.

The worker writes where it is to shared memory, and what it finds to a file: both survive it.
"""

import json
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context, parent_process
from multiprocessing.context import SpawnProcess
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

FINDINGS_SHOWN = 20
FIRST = 120.0  # seconds more, to import and compile what is needed


@dataclass
class Finding:
    """A task that failed."""

    kind: str
    index: int
    what: str


@dataclass
class Outcome:
    """What the tasks of one kind came to: how often each result, what failed, the seconds, the largest measurement."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0
    largest: float = 0.0


# A task takes its kind, its number and a folder; it returns one word and a measurement, or raises an AssertionError.
Task = Callable[[str, int, Path], tuple[str, float]]


def run_tasks(task: Task, kind: str, count: int, folder: Path, limit: float) -> Outcome:
    """Run all tasks of a kind, one after the other; ``limit`` is how many seconds one may take."""
    context = get_context("spawn")
    log = folder / f"{kind.replace(' ', '_').replace('/', '_')}.log"
    log.write_text("", encoding="utf-8")
    done, begun, started = context.Value("q", 0), context.Value("q", 0), time.monotonic()
    crashes: list[Finding] = []
    while done.value < count:
        begun.value = 0
        process = context.Process(target=_work, args=(task, kind, count, folder, log, done, begun))
        process.start()
        reason = _watched(process, begun, limit)
        if reason is not None:
            crashes.append(Finding(kind, done.value, reason))
            done.value += 1
    outcome = Outcome(findings=crashes, seconds=time.monotonic() - started)
    outcome.counts["failed"] += len(crashes)
    for line in log.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        if "what" in told:
            outcome.findings.append(Finding(**told))
        else:
            outcome.counts.update(told["counts"])
            outcome.largest = max(outcome.largest, told["largest"])
    return outcome


def _watched(process: SpawnProcess, begun: "Synchronized[int]", limit: float) -> str | None:
    """Wait for the worker; why it ended before its work was done, if it did. Its first task may take ``FIRST`` more."""
    tasks, since = 0, time.monotonic()
    while True:
        process.join(0.2)
        if process.exitcode == 0:
            return None
        if process.exitcode is not None:
            number = -process.exitcode
            return f"crash: {signal.Signals(number).name if number > 0 else f'exit code {process.exitcode}'}"
        if begun.value != tasks:
            tasks, since = begun.value, time.monotonic()
        elif time.monotonic() - since > limit + (FIRST if tasks <= 1 else 0):
            process.kill()
            process.join()
            return f"hang: more than {limit:g} s"


def _work(
    task: Task,
    kind: str,
    count: int,
    folder: Path,
    log: Path,
    done: "Synchronized[int]",
    begun: "Synchronized[int]",
) -> None:
    with log.open("a", encoding="utf-8", buffering=1) as file:
        for index in range(done.value, count):
            if (parent := parent_process()) is not None and not parent.is_alive():
                return  # nobody waits for it any more
            done.value = index
            begun.value += 1
            try:
                word, measured = task(kind, index, folder)
            except AssertionError as error:
                word, measured = "failed", 0.0
                file.write(json.dumps(asdict(Finding(kind, index, str(error)))) + "\n")
            except BaseException:  # whatever it is, it is not what the package promises
                word, measured = "failed", 0.0
                lines = traceback.format_exc().splitlines()
                file.write(json.dumps(asdict(Finding(kind, index, "\n".join(lines[-12:])))) + "\n")
            file.write(json.dumps({"counts": {word: 1}, "largest": measured}) + "\n")
        done.value = count


def listed(findings: list[Finding]) -> str:
    """The findings as lines, for the terminal."""
    lines = [f"{one.kind} {one.index}: {one.what}" for one in findings[:FINDINGS_SHOWN]]
    return "\n".join([*lines, f"... {len(findings)} in all"] if len(findings) > FINDINGS_SHOWN else lines)
