"""Kills and circumstances: ``kill -9`` at random moments of commands that write, and what machines do to them.

After a kill, what has its final name must be what was there before, or the whole result; the same command again must
give the whole result, to the byte, and leave no unfinished file. Every other kill comes as soon as an unfinished file
appears, the others at a random moment.
"""

import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hardening import report, seeds
from hardening.circumstances import CIRCUMSTANCES

SEED = 4
ROOT = Path(__file__).parents[1]
OLD = b"what was there before"
CLASSES = "abcd"
COMMIT = re.compile(rb"commit [0-9a-f]{40}(-dirty)?")
COMMANDS = {  # what is run in a folder with the inputs, and what it writes; the last is an experiment of a minute
    "fit -o": (["-m", "aftermax", "fit", "scores.csv", "-o", "out/head.npz"], ["head.npz"]),
    "predict -o": (["-m", "aftermax", "predict", "head.npz", "new.csv", "-o", "out/predicted.csv"], ["predicted.csv"]),
    "audit --html": (["-m", "aftermax", "audit", "scores.csv", "--html", "out/report.html"], ["report.html"]),
    "experiment": (
        ["-m", "experiments", "abstention", "--quick", "--jobs", "1", "--out", "{folder}/out"],
        ["outcomes.csv", "procedures.md", "report.md", "summary.md", "verdict.md", "worlds.md"],
    ),
}


def run(count: int | None = None, minutes: float | None = None) -> str:
    """Kill ``count`` times in all, and then try every circumstance; ``minutes`` is not used."""
    total, started, rows, failures = count or 52, time.monotonic(), [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder)
        for what in COMMANDS:
            row, found = _killed(what, folder, max(1, total // len(COMMANDS)))
            rows.append(row)
            failures += found
            print(row, *found, sep="\n", flush=True)
        for what, circumstance in CIRCUMSTANCES.items():
            error = _outcome(circumstance, folder)
            rows.append({"what": what, "times": 1, "unfinished": 0, "whole before": 0, "failures": int(bool(error))})
            failures += [f"{what}: {error}"] if error else []
            print(rows[-1], error, flush=True)
    rules = " ".join((__doc__ or "").partition("\n\n")[2].split())
    about = (
        f"`python -m hardening kills --count {total}`: {len(failures)} failures in {time.monotonic() - started:,.0f} s."
        f" {rules}\n\n"
        '"Unfinished" counts the kills after which an unfinished file was left, which the next run removed; "whole '
        'before" those that came after the result was whole. The other circumstances are described in '
        "hardening/circumstances.py."
    )
    return f"{report.write('kills', rows, about)}\n" + "\n".join(failures)


def _outcome(circumstance: Callable[[Path], str | None], folder: Path) -> str | None:
    """What is wrong; a word in brackets if this machine cannot try it."""
    try:
        return circumstance(folder)
    except AssertionError as error:
        return str(error) or "failed"


def write_inputs(folder: Path, n_new: int = 60_000) -> None:
    """A head, labelled scores, and many more to predict."""
    for name, n_samples in (("scores", 300), ("new", n_new)):
        logits, labels = seeds.samples(n_samples, len(CLASSES))
        lines = [
            f"{','.join(map(repr, row))},{CLASSES[label]}" for row, label in zip(logits.tolist(), labels, strict=True)
        ]
        (folder / f"{name}.csv").write_text("\n".join([",".join([*CLASSES, "label"]), *lines, ""]))
    start(COMMANDS["fit -o"][0], folder).wait()
    shutil.copy(folder / "out" / "head.npz", folder / "head.npz")


def start(arguments: list[str], folder: Path, **options: object) -> subprocess.Popen[bytes]:
    """Start a command; experiments run in the repository, as ``python -m experiments`` is not installed."""
    (folder / "out").mkdir(exist_ok=True)
    place = ROOT if "experiments" in arguments else folder
    words = [word.format(folder=folder) for word in arguments]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | options
    return subprocess.Popen([sys.executable, *words], cwd=place, **pipes)


def _killed(what: str, folder: Path, times: int) -> tuple[dict[str, object], list[str]]:
    arguments, names = COMMANDS[what]
    counts: Counter[str] = Counter()
    failures: list[str] = []
    expected, seconds = _undisturbed(arguments, folder, names)
    moments = random.Random(SEED)
    for turn in range(times):
        shutil.rmtree(folder / "out")
        (folder / "out").mkdir()
        before = OLD if turn % 3 == 0 and what != "experiment" else None
        if before:
            (folder / "out" / names[0]).write_bytes(before)
        after = moments.uniform(0, seconds)
        _kill(arguments, folder, after, at_unfinished=turn % 2 == 0)
        counts["unfinished"] += any((folder / "out").glob(".*partial"))
        found = {name: _content(folder / "out" / name) for name in names}
        counts["whole before"] += found == expected
        wrong = [name for name in names if found[name] not in (None, before, expected[name])]
        if wrong and not (what == "experiment" and _are_whole_lines(found, expected, wrong)):
            failures.append(f"{what}, killed after {after:.2f} s: {', '.join(wrong)} is not whole")
        again, seconds = _undisturbed(arguments, folder, names)
        left = [path.name for path in (folder / "out").glob(".*partial")]
        if again != expected or left:
            failures.append(f"{what}, run again after a kill: {left or 'another result'}")
    return {"what": f"{what}, killed", "times": times, **_counted(counts), "failures": len(failures)}, failures


def _counted(counts: Counter[str]) -> dict[str, object]:
    return {name: counts[name] for name in ("unfinished", "whole before")}


def _undisturbed(arguments: list[str], folder: Path, names: list[str]) -> tuple[dict[str, bytes | None], float]:
    """What the command writes if nothing happens to it, and how long that takes."""
    started = time.monotonic()
    start(arguments, folder).wait()
    return {name: _content(folder / "out" / name) for name in names}, time.monotonic() - started


def _kill(arguments: list[str], folder: Path, after: float, *, at_unfinished: bool) -> None:
    """Kill the command after so many seconds or, if asked for, when an unfinished file is seen."""
    process, started = start(arguments, folder), time.monotonic()
    while process.poll() is None:
        late = time.monotonic() - started > after
        if (not at_unfinished and late) or (at_unfinished and any((folder / "out").glob(".*partial"))):
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.0005)
    process.wait()


def _are_whole_lines(found: dict[str, bytes | None], expected: dict[str, bytes | None], wrong: list[str]) -> bool:
    """An experiment keeps what it has measured so far: the first lines of its table, each of them whole."""
    for name in wrong:
        lines, whole = found[name] or b"", expected[name] or b""
        if not (name.endswith(".csv") and lines.endswith(b"\n") and whole.startswith(lines)):
            return False
    return True


def _content(path: Path) -> bytes | None:
    """The content of a file, but for the commit that an experiment's report names: work may go on beside this run."""
    return COMMIT.sub(b"commit", path.read_bytes()) if path.exists() else None
