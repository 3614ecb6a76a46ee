"""``run.json``: how the results beside it were made. A run is resumed only if nothing of that has changed.

Its entries are

- ``experiment`` and ``command``: what was run;
- ``settings``: what was measured; ``seeds``: where the random numbers come from;
- ``commit``: the commit of the repository, with ``-dirty`` if the code had changes that were not committed;
- ``code``: a digest of the source files that the numbers depend on;
- ``versions`` and ``processor``;
- ``added`` and ``redone``, if some methods were measured later, or again: which, and with which commit and code;
- ``more``, if some tasks were measured later: which, and with which commit, code, versions and processor.

Results that were made before there was such a record have no ``commit`` but ``committed_in``, the commit that added
their numbers to the repository, and a ``note``.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import aftermax
from aftermax._utils.files import write_text
from aftermax.sph.grid import Grid, default_grid, grid_blocks
from experiments.networks.mnist_networks import HELD_OUT, import_torch
from experiments.networks.recipes import RECIPES

NAME = "run.json"
ROOT = Path(__file__).parents[2]
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "torch")
# Folders of the package that no number depends on.
NO_NUMBERS = ("_audit", "_cli", "_demo.py", "_scorefiles", "bridges", "plots", "report", "scorefiles", "storage")
WHAT_TO_DO = "start over with --again, or write to another folder with --out"

Provenance = dict[str, Any]


def current(
    experiment: str, settings: dict[str, Any], seeds: str, code: Sequence[str], packages: Sequence[str] = ()
) -> Provenance:
    """The provenance of a run that begins now.

    Parameters
    ----------
    experiment : str
        The name of its command.
    settings : dict
        What is measured, as JSON can hold it.
    seeds : str
        Where the random numbers come from.
    code : sequence of str
        The files and folders of ``experiments`` that the numbers depend on.
    packages : sequence of str, default=()
        Packages that the numbers depend on, besides those that every experiment uses.
    """
    return {
        "experiment": experiment,
        "command": command_line() or f"{experiment}, called from Python",
        "settings": json.loads(json.dumps(settings)),
        "seeds": seeds,
        "commit": commit(),
        "code": code_digest(code),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in (*PACKAGES, *packages)},
            "aftermax": aftermax.__version__,
        },
        "processor": f"{platform.machine()}, {import_torch().backends.cpu.get_cpu_capability()}",
    }


def network_settings(recipe: str, methods: Sequence[str], grid: Grid | None = None) -> dict[str, Any]:
    """Settings of experiments on networks of a recipe; without a grid of hyperparameters, the default one is meant."""
    return {
        "recipe": {"name": recipe, **asdict(RECIPES[recipe])},
        "methods": list(methods),
        "hyperparameter_grid": digest(repr(grid_blocks(default_grid() if grid is None else grid)).encode()),
        "validation_samples": HELD_OUT,
        "test_samples": HELD_OUT,
    }


def command_line() -> str | None:
    """The command that was typed; None if this is not ``python -m experiments``."""
    if Path(sys.argv[0]).parent.name != "experiments":
        return None
    return shlex.join(["python", "-m", "experiments", *sys.argv[1:]])


def commit() -> str | None:
    """The current commit, with ``-dirty`` if the code has changes that are not in it; None outside of a clone."""
    try:
        head = _git("rev-parse", "HEAD")
        changes = _git("status", "--porcelain", "--", "src", "experiments")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}-dirty" if changes else head


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def code_digest(code: Iterable[str]) -> str:
    """A digest of the package's source files and of these files and folders of ``experiments``."""
    package = Path(aftermax.__file__).parent
    heads = [path for path in sorted(package.rglob("*.py")) if path.relative_to(package).parts[0] not in NO_NUMBERS]
    ours = [ROOT / "experiments" / name for name in code]
    files = [file for path in ours for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    return digest(*(path.read_bytes() for path in (*heads, *files)))


def digest(*contents: bytes) -> str:
    """The first 16 characters of a SHA-256."""
    return hashlib.sha256(b"".join(contents)).hexdigest()[:16]


def read(folder: Path) -> Provenance:
    """The provenance of the results in a folder."""
    path = folder / NAME
    if not path.is_file():
        raise ValueError(f"There are results in {folder}, but no {NAME} that says how they were made: {WHAT_TO_DO}.")
    try:
        content: Provenance = {"settings": {}, "versions": {}} | json.loads(path.read_text())
        return content
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged ({error}): {WHAT_TO_DO}.") from error


def write(folder: Path, provenance: Provenance) -> None:
    """Write the provenance of the results in a folder."""
    write_text(folder / NAME, json.dumps(provenance, indent=2) + "\n")


def check(
    folder: Path, then: Provenance, now: Provenance, methods: Iterable[str], *, adding: bool, redoing: bool = False
) -> None:
    """Raise an error if the results in a folder were made in another way than it would be done now.

    Where no results are added, the same settings are enough. Where some methods are measured again, the code may have
    changed.

    Parameters
    ----------
    folder : Path
        Where the results are.
    then, now : dict
        How they were made, and how it would be done now.
    methods : iterable of str
        The methods that are to be measured: each with the code that measured it before.
    adding : bool
        Whether anything is to be measured.
    redoing : bool, default=False
        Whether some methods are to be measured again.
    """
    pairs = {name: (then["settings"].get(name), value) for name, value in now["settings"].items()}
    if adding:
        pairs |= {name: (then["versions"].get(name), value) for name, value in now["versions"].items()}
        pairs["processor"] = then.get("processor"), now["processor"]
        if not redoing:
            codes = [_code_of(method, then) for method in methods] or [then.get("code")]
            pairs["code"] = next((code for code in codes if code != now["code"]), now["code"]), now["code"]
    changed = [f"{name} was {before}, is {after}" for name, (before, after) in pairs.items() if before != after]
    if changed:
        raise ValueError(f"The results in {folder} were made in another way ({'; '.join(changed)}): {WHAT_TO_DO}.")


def _code_of(method: str, made: Provenance) -> str | None:
    """The digest of the code that a method was last measured with."""
    later = [entry for entry in (*made.get("added", []), *made.get("redone", [])) if method in entry["methods"]]
    code: str | None = (later[-1] if later else made).get("code")
    return code


def new_methods(then: Provenance, now: Provenance) -> list[str]:
    """The methods that there are now and were not then; none if others have gone or changed places."""
    before, after = (made["settings"].get("methods", []) for made in (then, now))
    kept = [name for name in after if name in before]
    return [name for name in after if name not in before] if kept == before else []


def with_added(then: Provenance, methods: Sequence[str], now: Provenance) -> Provenance:
    """The provenance of results to which some methods are added now."""
    settings = then["settings"] | {"methods": now["settings"]["methods"]}
    return then | {"settings": settings, "added": [*then.get("added", []), _entry(methods, now)]}


def with_redone(then: Provenance, methods: Sequence[str], now: Provenance) -> Provenance:
    """The provenance of results of which some methods are measured again now."""
    return then | {"redone": [*then.get("redone", []), _entry(methods, now)]}


def without(made: Provenance, names: Sequence[str]) -> Provenance:
    """The provenance without some of its settings."""
    return made | {"settings": {name: value for name, value in made["settings"].items() if name not in names}}


def with_more(then: Provenance, keys: Sequence[Sequence[Any]], now: Provenance) -> Provenance:
    """The provenance of results to which whole tasks are added now, in another way than the others were measured."""
    made = {name: now[name] for name in ("commit", "code", "versions", "processor")}
    entries, added = list(then.get("more", [])), [list(key) for key in keys]
    if entries and all(entries[-1][name] == made[name] for name in made):  # a run that was stopped is resumed
        before = entries.pop()["tasks"]
        added = [*before, *(key for key in added if key not in before)]
    return then | {"more": [*entries, {"tasks": added, **made}]}


def _entry(methods: Sequence[str], now: Provenance) -> dict[str, Any]:
    return {"methods": list(methods), "commit": now["commit"], "code": now["code"]}


def sentence(folder: Path) -> str:
    """Which commit and which settings made the results in a folder, for the reports; empty if that is not known."""
    if not (folder / NAME).is_file():
        return ""
    made = read(folder)
    if made.get("commit"):
        text = f"Measured with commit {made['commit']}"
    elif made.get("committed_in"):
        text = f"Measured before the commit was recorded; the numbers were committed in {made['committed_in']}"
    else:
        text = "Measured outside of a clone, so the commit is not known"
    for what, entries in (("added", made.get("added", [])), ("measured again", made.get("redone", []))):
        for entry in entries:
            text += f"; {', '.join(entry['methods'])} {what}"
            text += f" with commit {entry['commit']}" if entry.get("commit") else " later"
    for entry in made.get("more", []):
        text += f"; tasks measured later: {len(entry['tasks'])}, with commit {entry['commit']} on {entry['processor']}"
    note = f" {made['note']}" if made.get("commit") and made.get("note") else ""
    return f"{text}. The settings, versions and processor are in [{NAME}]({NAME}).{note}\n"
