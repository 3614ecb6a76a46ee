"""The compiled loops of SPH as plain Python, so that a change of one is in what runs, without compiling anything anew.

They compute what numba's code does: x / 0 is inf, as is what overflows, and log(0) is -inf.
"""

from collections.abc import Callable
from functools import wraps
from types import SimpleNamespace
from typing import Any

import numpy as np

from aftermax._utils import compiled

MATH = SimpleNamespace(log=np.log, exp=np.exp, sqrt=np.sqrt)


def interpret_loops(package: str = "aftermax.sph") -> None:
    """From now on, the loops of modules of this package that are imported are not compiled."""
    compile_it = compiled.compiled

    def chosen(function: Callable[..., Any], **options: Any) -> Any:
        if function.__module__.startswith(package):
            return _as_numpy(function)
        return compile_it(function, **options)

    compiled.compiled = chosen


def _as_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    function.__globals__["math"] = MATH

    @wraps(function)
    def loop(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*(np.float64(value) if type(value) is float else value for value in arguments))

    return loop
