"""What is installed where: the list of cases."""

import subprocess
from dataclasses import dataclass
from functools import cache

from hardening.distributions import Built

CORE = ("numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl")
# The packages of each extra that the table shows; for clones, there are too many.
USERS = {
    "cli": ("typer", "pyarrow"),
    "plots": ("matplotlib",),
    "torch": ("torch",),
    "huggingface": ("torch", "transformers"),
    "keras": ("keras",),
    "onnx": ("onnx", "onnxruntime"),
    "dask": ("dask", "distributed"),
}
CLONES = {"experiments": ("pandas", "river"), "docs": ("mkdocs-material", "mkdocstrings"), "dev": ("pytest", "mypy")}
TORCH = "torch==2.13.0"
# What else it takes: a PyTorch that there is for CPUs (also with the oldest of the others, as its own old builds for
# Linux are gigabytes), and a backend for Keras.
BESIDE = dict.fromkeys(("torch", "huggingface", "experiments", "dev"), TORCH) | {"keras": "jax"}


@dataclass(frozen=True)
class Case:
    """One empty environment."""

    what: str
    python: str
    extras: tuple[str, ...] = ()
    oldest: bool = False
    sdist: bool = False

    @property
    def python_version(self) -> str:
        return _version(self.python)

    @property
    def needs_torch(self) -> bool:
        return any("torch" in package for package in self.with_packages)

    @property
    def with_packages(self) -> list[str]:
        return sorted({BESIDE[extra] for extra in self.extras if extra in BESIDE})

    @property
    def shown(self) -> list[str]:
        beside = [package.split("==")[0] for package in self.with_packages]
        of_extras = [package for extra in self.extras for package in (USERS | CLONES)[extra]]
        return list(dict.fromkeys([*CORE, *of_extras, *beside]))

    @property
    def smoke(self) -> tuple[str, ...]:
        return self.extras or ("core", "missing")

    def requirement(self, built: Built) -> str:
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        return f"{built.sdist if self.sdist else built.wheel}{extras}"


def cases(pythons: list[str]) -> list[Case]:
    """What is most likely to fail comes first; of the last Python each extra alone: some may not be there yet."""
    first, *others = pythons
    found = [Case("core", python) for python in pythons]
    found += [Case("core, from the sdist", first, sdist=True), Case("core", first, oldest=True)]
    light = tuple(name for name in USERS if BESIDE.get(name) != TORCH)
    found += [Case("all extras but torch and huggingface", python, light) for python in others[:-1]]
    found += [Case("all extras", first, tuple(USERS), oldest=True), *_each(first)]
    found += [case for python in others[-1:] for case in _each(python)]
    return [*found, Case("all extras", first, tuple(USERS)), *(_for_clones(name, first) for name in CLONES)]


def _for_clones(name: str, python: str) -> Case:
    return Case(f"extra {name} (for clones)", python, (name,))


def _each(python: str) -> list[Case]:
    return [Case(f"extra {name}", python, (name,)) for name in USERS]


@cache
def _version(python: str) -> str:
    code = "import platform; print(platform.python_version())"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
