"""``python -m hardening installs``: the wheel and the sdist, installed as users do, in empty virtual environments.

Each case is a row of results/hardening/installs.csv. What went well with the same code is not done again, so that a run
that was interrupted goes on.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from hardening.distributions import LIMIT, Built, build
from hardening.environments import ROOT, Environment, FailedError
from hardening.install_cases import Case, cases
from hardening.report import read, write

SMOKE = Path(__file__).parent / "smoke"
# Without these, pip would try for half an hour to compile what has no wheel for a Python that is new.
COMPILED = (
    "--only-binary=numpy,scipy,scikit-learn,numba,llvmlite,pyarrow,matplotlib,onnx,onnxruntime,torch,tokenizers,jaxlib,"
    "h5py,ml_dtypes,optree"
)
MINIMUM = ROOT / "constraints-minimum.txt"
ABOUT = "Written by `make installs`: the wheel in empty virtual environments, each with a smoke run."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m hardening installs", description=__doc__)
    parser.add_argument(
        "--python", action="append", default=[], help="another Python to try; may be given several times"
    )
    pythons = [sys.executable, *parser.parse_args(arguments).python]
    with tempfile.TemporaryDirectory(prefix="aftermax-installs-") as folder:
        built = build(Path(folder))
        rows = _distribution_rows(built)
        done = {_key(row): row for row in read("installs") if row["outcome"] == "ok" and row["code"] == built.code}
        for case in cases(pythons):
            row = done.pop(_key(_row(case, built)), None) or _tried(case, built, Path(folder))
            rows.append(row)
            print(f"{row['what']}, Python {row['python']}, {row['versions']}: {row['outcome']}", flush=True)
            write("installs", [*rows, *(row for row in done.values() if row["python"])], ABOUT)
    print("\n" + write("installs", rows, ABOUT))
    sys.exit(any(row["outcome"].startswith("failed") for row in rows))


def _distribution_rows(built: Built) -> list[dict[str, str]]:
    size = built.wheel.stat().st_size
    outcome = "ok" if size <= LIMIT else f"failed: more than {LIMIT:,} bytes"
    what = {
        f"wheel: {size:,} bytes (at most {LIMIT:,})": outcome,
        f"sdist: {built.sdist.stat().st_size:,} bytes": "ok",
        "twine check --strict": built.checked,
    }
    return [_cells(name, built, outcome=outcome) for name, outcome in what.items()]


def _tried(case: Case, built: Built, folder: Path) -> dict[str, str]:
    row = _row(case, built)
    place = Path(tempfile.mkdtemp(dir=folder))
    try:
        environment = Environment(case.python, place / "one")
        row["outcome"] = _outcome(case, built, environment, row)
    except FailedError as error:
        missing = "Could not find a version" in str(error)
        row["outcome"] = f"not to be had: {error}" if missing else f"failed: {error}"
    finally:
        shutil.rmtree(place)
    return row


def _outcome(case: Case, built: Built, environment: Environment, row: dict[str, str]) -> str:
    """Install, check, use; the row gets versions and seconds on the way."""
    if case.needs_torch and not _has_torch_for_cpus(environment):
        return "not tried: PyPI's torch for this Python comes with CUDA, which is gigabytes"
    before, start = environment.versions(), environment.seconds
    constraint = ["--constraint", str(MINIMUM)] if case.oldest else []
    environment.pip("install", "--quiet", COMPILED, *constraint, case.requirement(built), *case.with_packages)
    row["install seconds"] = f"{environment.seconds - start:.0f}"
    installed = environment.versions()
    shown = [name for name in case.shown if name in installed and name not in before]
    row["installed"] = ", ".join(f"{name} {installed[name]}" for name in shown)
    environment.pip("check")
    start = environment.seconds
    for script in case.smoke:
        try:
            environment.script(SMOKE / f"{script}.py")
        except FailedError as error:
            raise FailedError(f"{script}.py: {error}") from error
    row["smoke seconds"] = f"{environment.seconds - start:.0f}"
    return "ok"


def _has_torch_for_cpus(environment: Environment) -> bool:
    """Whether pip finds a build without CUDA: elsewhere than on Linux, all are."""
    if sys.platform != "linux":
        return True
    return "+cpu" in environment.pip("install", "--dry-run", "--no-deps", "torch==2.13.0")


def _row(case: Case, built: Built) -> dict[str, str]:
    return _cells(case.what, built, case.python_version, "oldest" if case.oldest else "newest")


def _cells(what: str, built: Built, python: str = "", versions: str = "", outcome: str = "") -> dict[str, str]:
    return {
        "what": what,
        "python": python,
        "versions": versions,
        "installed": "",
        "install seconds": "",
        "smoke seconds": "",
        "outcome": outcome,
        "code": built.code,
    }


def _key(row: dict[str, str]) -> tuple[str, ...]:
    return row["what"], row["python"], row["versions"]
