"""The wheel and the sdist, built and checked as for a release."""

import hashlib
import re
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from hardening.environments import ROOT, Environment, FailedError

LIMIT = 1_500_000  # bytes that a wheel may take
FOR_CLONES = re.compile(rb"extra == '(dev|docs|experiments)'").search


@dataclass(frozen=True)
class Built:
    """What was built, and the hash of its code and requirements."""

    wheel: Path
    sdist: Path
    checked: str  # the outcome of twine check --strict
    code: str


def build(folder: Path) -> Built:
    tools = Environment(sys.executable, folder / "tools")
    tools.pip("install", "--quiet", "build", "twine")
    tools.module("build", "--outdir", str(folder / "dist"), str(ROOT))
    (wheel,), (sdist,) = (folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz")
    try:
        tools.module("twine", "check", "--strict", str(wheel), str(sdist))
        checked = "ok"
    except FailedError as error:
        checked = f"failed: {error}"
    return Built(wheel, sdist, checked, code_hash(wheel))


def code_hash(wheel: Path) -> str:
    """Of all that a user's installation depends on; of METADATA, these are the requirements."""
    hashed = hashlib.sha256()
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(archive.namelist()):
            content = archive.read(name)
            if name.endswith("/METADATA"):
                headers = content.split(b"\n\n")[0].splitlines()
                content = b"\n".join(line for line in headers if line.startswith(b"Requires-") and not FOR_CLONES(line))
            if not name.endswith("/RECORD"):
                hashed.update(name.encode() + content)
    return hashed.hexdigest()[:12]
