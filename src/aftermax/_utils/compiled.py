"""How inner loops are compiled. Importing this module imports numba, so import it on first use only."""

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache

LOOPS: list[Any] = []  # all that are imported so far


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Compile with numba, and cache the machine code on disk if numba finds a folder it can write to.

    With numpy's error model x / 0 is inf, as in numpy, instead of an exception. Without that branch the loops over
    units can be vectorised. Further ``options`` are numba's.
    """
    options |= {"nogil": True, "error_model": "numpy"}
    try:
        loop = njit(cache=True, **options)(function)
        cache: Any = _Cache
        loop._cache = cache(function)  # noqa: SLF001  # numba has no other way to name a cache
    except RuntimeError:  # numba has no folder that it can write to
        loop = njit(**options)(function)
    LOOPS.append(loop)
    return loop


class _Cache(FunctionCache):
    """numba's cache, which is only there to save time: what cannot be read or written is compiled anew.

    Otherwise one damaged file, as after a disk was full, would stop every run.
    """

    told = False

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled code; None if there is none that can be read."""
        numbas: Any = super()  # which has no types
        try:
            return numbas.load_overload(signature, target)
        except Exception:  # whatever unpickling a damaged file raises
            with suppress(OSError):
                numbas.flush()
            return None

    def save_overload(self, signature: Any, compiled_code: Any) -> None:
        """Keep the compiled code, if that is possible."""
        numbas: Any = super()
        try:
            numbas.save_overload(signature, compiled_code)
        except Exception as error:
            if not _Cache.told:
                _Cache.told = True
                warnings.warn(
                    f"Compiled code cannot be kept in {self.cache_path} ({error}), so that every process compiles it "
                    "again: make room there, or set NUMBA_CACHE_DIR to another folder.",
                    UserWarning,
                    stacklevel=2,
                )


def is_cached(function: Any) -> bool:
    """Whether the compiled code of this function's module is on disk, or cannot be there."""
    folder = function.stats.cache_path
    return folder is None or any(Path(folder).glob("*.nbi"))


def cache_folder() -> Path | None:
    """The folder below which all loops are kept; None if there is a loop for which numba can write to none."""
    folders = [loop.stats.cache_path for loop in LOOPS]
    return None if None in folders else Path(os.path.commonpath(folders))


class _Note(event.Listener):
    """One line, on a terminal only, when a loop is about to be compiled: nobody should wait without knowing why."""

    told = False

    def on_start(self, started: Any) -> None:
        loop = started.data["dispatcher"]
        if self.told or not any(loop is one for one in LOOPS) or sys.stderr is None or not sys.stderr.isatty():
            return
        self.told = True
        when = "once on this machine; 'aftermax warm' does it beforehand"
        if loop.stats.cache_path is None:
            when = "in every process, as numba can write to no folder: set NUMBA_CACHE_DIR to one that you can write to"
        print(f"aftermax: compiling, {when}.", file=sys.stderr)

    def on_end(self, ended: Any) -> None:
        """Nothing more to say."""


_note = _Note()
event.register("numba:compile", _note)  # type: ignore[no-untyped-call]  # numba has no types


def compilation_is_announced() -> None:
    """No note is needed: the user has been told."""
    _note.told = True
