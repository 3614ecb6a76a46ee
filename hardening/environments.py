"""Empty virtual environments: made, filled by pip, asked for versions, and thrown away."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[1]
# Nothing of this process may reach into an environment: neither the clone's source nor its compiled code.
PRIVATE = ("PYTHONPATH", "PYTHONHOME", "NUMBA_CACHE_DIR", "VIRTUAL_ENV", "KERAS_BACKEND", "MPLBACKEND")


class FailedError(Exception):
    """A step failed; the message is its last words."""


class Environment:
    """A virtual environment that holds pip alone, and a folder to work in beside it."""

    def __init__(self, python: str, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        self.seconds = 0.0
        self._run([python, "-m", "venv", str(folder / "env")])
        scripts = "Scripts" if sys.platform == "win32" else "bin"
        self.python = folder / "env" / scripts / "python"

    def pip(self, *arguments: str) -> str:
        return self._run([str(self.python), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments])

    def module(self, *arguments: str) -> str:
        return self._run([str(self.python), "-m", *arguments])

    def script(self, path: Path) -> str:
        """Run a script isolated (-I): neither its folder nor the working directory is searched for modules."""
        return self._run([str(self.python), "-I", str(path)])

    def versions(self) -> dict[str, str]:
        return {
            package["name"].lower(): package["version"] for package in json.loads(self.pip("list", "--format=json"))
        }

    def _run(self, command: list[str]) -> str:
        start = perf_counter()
        kept = {name: value for name, value in os.environ.items() if name not in PRIVATE}
        done = subprocess.run(command, cwd=self.work, env=kept, capture_output=True, text=True, check=False)
        self.seconds += perf_counter() - start
        if done.returncode:
            raise FailedError(_last_words(done.stderr or done.stdout))
        return done.stdout


def _last_words(output: str) -> str:
    """The last line that is no hint of pip, short enough for a table."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines or ["no output"]
    return re.sub(r"\s*\|\s*", " / ", errors[-1])[:200]
