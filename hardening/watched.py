"""What a call may not do: warn of what is not ours, open other files, run code, take much memory."""

import resource
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FORBIDDEN = ("exec", "pickle.find_class", "os.", "subprocess.", "socket.", "shutil.", "ctypes.", "urllib.")
ALLOWED = ("os.listdir", "os.scandir", "os.fwalk", "os.putenv")
ADDRESS_SPACE = 6 * 2**30  # more than this fails in the worker, and not on the machine

_seen: list[str] | None = None  # events while someone watches
_file = ""


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _seen is None or event in ALLOWED:
        return
    if event == "open":
        if str(arguments[0]) != _file and not _is_source(str(arguments[0])):
            _seen.append(f"opens {arguments[0]!r}")
    elif event == "exec":
        if not _is_source(arguments[0].co_filename):
            _seen.append(f"runs {arguments[0]!r}")
    elif event.startswith(FORBIDDEN):
        _seen.append(f"{event} {arguments!r}"[:200])


def _is_source(path: str) -> bool:
    """Whether this is a module that is imported on first use, or what every process may read."""
    zones = "/zoneinfo/"  # of the system: a table may hold times
    return path.endswith((".py", ".pyc", ".so")) or path.startswith(("<frozen", "/proc/self")) or zones in path


def install() -> None:
    """Begin: once in a process, as a hook stays for good."""
    sys.addaudithook(_hook)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


@contextmanager
def nothing_else(file: Path | None) -> Iterator[None]:
    """Within this block only ``file`` is opened, nothing is run, and every warning is a UserWarning of aftermax."""
    global _seen, _file
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _seen, _file = [], str(file)
        try:
            yield
        finally:
            events, _seen = _seen, None
    assert not events, "; ".join(events[:3])
    others = [f"{one.category.__name__}: {one.message}" for one in caught if not _is_ours(one)]
    assert not others, f"warns: {others[0]}"


def _is_ours(warning: warnings.WarningMessage) -> bool:
    ours = warning.category in (UserWarning, FutureWarning)
    return ours or warning.category.__name__ == "DataConversionWarning"  # which scikit-learn wants of its classifiers


def reset_peak() -> int:
    """Forget the peak of this process's memory; the bytes that it has now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def peak() -> int:
    """The most bytes that the process had since then."""
    return _status("VmHWM")


def _status(name: str) -> int:
    with open("/proc/self/status", "rb") as file:
        for line in file:
            if line.startswith(name.encode()):
                return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {name}")
