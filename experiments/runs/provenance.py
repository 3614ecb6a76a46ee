"""Under which conditions results were made: only under the same ones may more be added to them."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import aftermax
from aftermax._utils.files import write_text
from aftermax.sph.grid import Grid, grid_blocks
from experiments.networks.mnist_networks import ROWS, import_torch
from experiments.networks.recipes import RECIPES

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "torch")
CURE = "start over with --again, or write to another folder with --out"
WHAT_WAS_TRIED = ("recipe", "methods", "settings_tried")
# The files that numbers depend on.
HEADS = (
    "calibration counting grids kernels labels paired pooling responses selection sph sweep_kernels sweeping threads "
    "validation"
)
EXPERIMENT = "datasets methods models networks recipes vmnist"


def conditions(
    recipe: str,
    methods: Sequence[str],
    grid: Grid,
    *,
    packages: Sequence[str] = PACKAGES,
    sources: Sequence[Path] = (),
) -> dict[str, Any]:
    """Everything that the numbers depend on, besides the seeds, which are in the results.

    The code is that of ``sources``; if not given, of SPH and vMNIST.
    """
    return {
        "recipe": json.loads(json.dumps({"name": recipe, **asdict(RECIPES[recipe])})),
        "methods": list(methods),
        "settings_tried": _digest(repr(grid_blocks(grid)).encode()),
        "validation_rows": ROWS,
        "test_rows": ROWS,
        "processor": f"{platform.machine()}, {import_torch().backends.cpu.get_cpu_capability()}",
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "aftermax": aftermax.__version__,
        "code": _digest(*(path.read_bytes() for path in sources or _sources())),
    }


def _sources() -> list[Path]:
    package = Path(aftermax.__file__).parent
    names = [*HEADS.split(), *(f"experiments/{name}" for name in EXPERIMENT.split())]
    return [package / f"{name}.py" for name in names]


def _digest(*contents: bytes) -> str:
    return hashlib.sha256(b"".join(contents)).hexdigest()[:16]


def write_conditions(path: Path, now: dict[str, Any]) -> None:
    """Write down the conditions of a run that begins."""
    write_text(path, json.dumps(now, indent=2) + "\n")


def check_conditions(path: Path, now: dict[str, Any], *, only_what_was_tried: bool) -> None:
    """See that results that are there already were made under the same conditions.

    Where none are to be added, it is enough that the same things were tried.
    """
    if not path.is_file():
        raise ValueError(
            f"There are results in {path.parent}, but no {path.name} that says how they were made: {CURE}."
        )
    try:
        then = json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}): {CURE}.") from error
    names = WHAT_WAS_TRIED if only_what_was_tried else tuple(now)
    changed = [f"{name} was {then.get(name)}, is {now[name]}" for name in names if then.get(name) != now[name]]
    if changed:
        raise ValueError(
            f"The results in {path.parent} were made under other conditions ({'; '.join(changed)}): {CURE}."
        )
