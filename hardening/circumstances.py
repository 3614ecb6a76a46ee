"""What machines do to commands that write: each function says what is wrong afterwards, or None."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

AFTERMAX = [sys.executable, "-m", "aftermax"]
FIT = [*AFTERMAX, "fit", "scores.csv", "-o"]
PREDICT = [*AFTERMAX, "predict", "head.npz", "new.csv", "-o"]
AUDIT = [*AFTERMAX, "audit", "scores.csv", "--html"]
NOBODY = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]  # root without root's right to write anywhere
OLD = "what was there before"
Done = subprocess.CompletedProcess[str]


def run(arguments: list[str], folder: Path, **options: object) -> Done:
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True, **options)


def check_refused(done: Done, *words: str) -> None:
    """Exit code 2 and one line on standard error that says so."""
    told = done.stderr.strip().splitlines()
    assert done.returncode == 2, f"exit code {done.returncode}: {done.stderr[-500:]}"
    assert len([line for line in told if "warning:" not in line]) == 1, f"more than a line: {done.stderr[-500:]}"
    missing = [word for word in words if word not in told[-1]]
    assert not missing, f"{missing} is not in: {told[-1]}"
    assert "unexpected" not in done.stderr, told[-1]


def check_nothing_new(folder: Path, *names: str) -> None:
    """Nothing but these files, and each as it was."""
    found = sorted(path.name for path in folder.iterdir())
    assert found == sorted(names), f"there are {found}"
    for name in names:
        assert (folder / name).read_text() == OLD, f"{name} was replaced"


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of 64 kB, of which most are in use."""
    place = folder / "small"
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], check=True)
    try:
        (place / "filler").write_text(OLD)
        (place / "ballast").write_bytes(bytes(56_000))
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def full_disk(folder: Path) -> str | None:
    """The error names the file, nothing unfinished is left, and the old file is as it was."""
    if os.geteuid() != 0:
        return "(not tried: only root can mount)"
    for command, name in ((FIT, "head.npz"), (PREDICT, "out.csv"), (PREDICT, "out.parquet"), (AUDIT, "report.html")):
        with small_disk(folder) as place:
            (place / name).write_text(OLD)
            done = run([*command, f"small/{name}"], folder)
            check_refused(done, name, "No space left")
            (place / "ballast").unlink()
            check_nothing_new(place, "filler", name)
    return None


def no_permission(folder: Path) -> str | None:
    """Of a folder, and of a file that is to be read."""
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return "(not tried: root may write anywhere, and setpriv is not there)"
    without = NOBODY if os.geteuid() == 0 else []
    closed = folder / "closed"
    closed.mkdir(exist_ok=True)
    closed.chmod(0o555)
    for command, name in ((FIT, "head.npz"), (PREDICT, "out.csv"), (AUDIT, "report.html")):
        check_refused(run([*without, *command, f"closed/{name}"], folder), name, "permission")
    check_nothing_new(closed)
    secret = folder / "secret.csv"
    shutil.copy(folder / "scores.csv", secret)
    secret.chmod(0)
    check_refused(run([*without, *AFTERMAX, "audit", "secret.csv"], folder), "secret.csv", "not readable")
    return None


def output_is_a_folder(folder: Path) -> str | None:
    """It is named, and stays empty."""
    for command, name in ((FIT, "head.npz"), (PREDICT, "out.csv"), (AUDIT, "report.html")):
        place = folder / "folder" / name
        place.mkdir(parents=True, exist_ok=True)
        check_refused(run([*command, f"folder/{name}"], folder), name)
        check_nothing_new(place)
    return None


def interrupted(folder: Path) -> str | None:
    """Ctrl-C, early and late: exit code 130 with no file, or the whole one if it came just after that was written."""
    for command, name in ((FIT, "head.npz"), (PREDICT, "out.csv")):
        run([*command, f"whole-{name}"], folder)
        for seconds in (0.5, 1.0, 2.0, 4.0):
            place = folder / "interrupted"
            place.mkdir()
            process = subprocess.Popen([*command, f"interrupted/{name}"], cwd=folder, stderr=subprocess.PIPE, text=True)
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            _, told = process.communicate()
            check_interrupted(process.returncode, told, place, folder / f"whole-{name}")
            shutil.rmtree(place)
    return None


def check_interrupted(code: int, told: str, place: Path, whole: Path) -> None:
    """Exit code 0 or that of an interrupt; the one file that may be there is the whole one, and after 0 it must be."""
    assert code in (0, 130, -signal.SIGINT), f"exit code {code}: {told[-300:]}"
    left = [path.name for path in place.iterdir()]
    if left or code == 0:
        assert len(left) == 1, f"exit code {code}, and there are {left}"
        assert (place / left[0]).read_bytes() == whole.read_bytes(), f"{left} is not whole; exit code {code}"


def closed_pipe(folder: Path) -> str | None:
    """The reader goes after a line: no traceback."""
    command = f"{sys.executable} -m aftermax predict head.npz new.csv 2>told.txt | head -n 1"
    done = run(["bash", "-o", "pipefail", "-c", command], folder)
    told = (folder / "told.txt").read_text()
    assert done.stdout.startswith("predicted"), done.stdout[:200]
    assert "Traceback" not in told, told[-500:]
    assert "unexpected" not in told, told[-500:]
    return None


def no_home(folder: Path) -> str | None:
    """HOME names a folder that is not there, and numba is told of no other."""
    environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
    done = run([*PREDICT, "homeless.csv"], folder, env=environment | {"HOME": "/nowhere/at/all"})
    assert done.returncode == 0, done.stderr[-500:]
    return None


def read_only_cache(folder: Path) -> str | None:
    """numba may not write to its folder: the code is compiled for this process."""
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return "(not tried: root may write anywhere, and setpriv is not there)"
    cache = folder / "cache"
    cache.mkdir(exist_ok=True)
    cache.chmod(0o555)
    without = NOBODY if os.geteuid() == 0 else []
    done = run([*without, *PREDICT, "cacheless.csv"], folder, env=os.environ | {"NUMBA_CACHE_DIR": str(cache)})
    assert done.returncode == 0, done.stderr[-500:]
    assert (folder / "cacheless.csv").stat().st_size > 0
    return None


def two_writers(folder: Path) -> str | None:
    """Two processes write one file, three times: it is one of the two results, and nothing unfinished is left."""
    place = folder / "two"
    place.mkdir(exist_ok=True)
    whole = {}
    for column in ("", "--probabilities"):
        run([*PREDICT, f"two/alone{column}.csv", *([column] if column else [])], folder)
        whole[column] = (place / f"alone{column}.csv").read_bytes()
    for _ in range(3):
        commands = [[*PREDICT, "two/out.csv", *([column] if column else [])] for column in whole]
        processes = [subprocess.Popen(one, cwd=folder, stderr=subprocess.DEVNULL) for one in commands]
        codes = [process.wait() for process in processes]
        assert codes == [0, 0], f"exit codes {codes}"
        assert (place / "out.csv").read_bytes() in whole.values(), "neither result"
        left = sorted(path.name for path in place.iterdir())
        assert left == ["alone--probabilities.csv", "alone.csv", "out.csv"], f"there are {left}"
    return None


CIRCUMSTANCES: dict[str, Callable[[Path], str | None]] = {
    "full disk": full_disk,
    "no permission": no_permission,
    "output is a folder": output_is_a_folder,
    "Ctrl-C": interrupted,
    "closed pipe": closed_pipe,
    "no home": no_home,
    "read-only cache": read_only_cache,
    "two processes, one output": two_writers,
}
