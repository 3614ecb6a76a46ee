"""UCI's Letter Recognition data: 20,000 printed letters, each described by 16 numbers from 0 to 15; 26 classes.

The R package mlbench has them, and Debian has that as r-cran-mlbench. Where it is not installed, apt-get fetches it,
which needs no rights; nothing of it is run.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.files import write_atomically

PACKAGE = "r-cran-mlbench"
FILE = Path("usr/lib/R/site-library/mlbench/data/LetterRecognition.rda")
TABLE, CLASS = "LetterRecognition", "lettr"


class Letters(NamedTuple):
    """Numbers in [0, 1], a line for each letter; labels 0 to 25."""

    features: NDArray[np.float32]
    labels: NDArray[np.int64]


def load_letters(kept: Path) -> Letters:
    """The letters, from Debian's package or from the folder ``kept``; if they are in neither, they are fetched now."""
    try:
        import pyreadr
    except ImportError as error:
        raise ImportError("Files of R are read with pyreadr: pip install --editable '.[experiments]'") from error
    installed, own = "/" / FILE, kept / FILE.name
    if not installed.is_file() and not own.is_file():
        with write_atomically(own) as unfinished:
            unfinished.write_bytes(fetch())
    path = installed if installed.is_file() else own
    try:
        table = pyreadr.read_r(str(path))[TABLE]
        codes = table.pop(CLASS).cat.codes
    except (KeyError, AttributeError, pyreadr.LibrdataError, pyreadr.PyreadrError) as error:
        raise ValueError(
            f"{path} is damaged or does not hold {TABLE} ({error}): remove it, it is fetched again."
        ) from error
    return Letters(table.to_numpy(dtype=np.float32) / 15, codes.to_numpy(dtype=np.int64))


def fetch() -> bytes:
    """The file, from a package that apt-get downloads."""
    with TemporaryDirectory() as folder:
        try:
            _run("apt-get", "download", PACKAGE, folder=folder)
            [archive] = Path(folder).glob("*.deb")
            _run("dpkg-deb", "--extract", archive.name, ".", folder=folder)
        except FileNotFoundError as error:
            raise OSError(f"They are in Debian's {PACKAGE}, and there is no {error.filename} to fetch it.") from error
        except subprocess.CalledProcessError as error:
            raise OSError(f"{error.cmd[0]} could not fetch Debian's {PACKAGE}: {error.stderr.strip()}") from error
        return (Path(folder) / FILE).read_bytes()


def _run(*command: str, folder: str) -> None:
    subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
