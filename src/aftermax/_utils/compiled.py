"""How inner loops are compiled. Importing this module imports numba, so import it on first use only."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Compile with numba, and cache the machine code on disk if numba finds a folder it can write to.

    With numpy's error model x / 0 is inf, as in numpy, instead of an exception. Without that branch the loops over
    units can be vectorised. Further ``options`` are numba's.
    """
    options |= {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # numba has no folder that it can write to
        return njit(**options)(function)


def is_cached(function: Any) -> bool:
    """Whether the compiled code of this function's module is on disk, or cannot be there."""
    folder = function.stats.cache_path
    return folder is None or any(Path(folder).glob("*.nbi"))
