"""How inner loops are compiled. Importing this module imports numba, so it is imported on first use."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Any:
    """Compile, and keep the result on disk where there is a place for it; without one, compile anew each time.

    numpy's error model: x / 0 is inf, as in numpy, and not an exception; it lets the loops over units be vectorised.
    """
    try:
        return njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # no folder that numba may write to
        return njit(nogil=True, error_model="numpy")(function)


def is_cached(function: Any) -> bool:
    """Whether the compiled code of this function's module is on disk, or has no place there."""
    folder = function.stats.cache_path
    return folder is None or any(Path(folder).glob("*.nbi"))
