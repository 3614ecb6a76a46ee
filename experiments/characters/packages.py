"""The recogniser from PyPI and fonts from Debian: fetched once, never installed, so that no code in them runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from aftermax._utils.files import write_atomically

FOLDER = Path("build/characters")
WHEEL = "rapidocr-onnxruntime==1.4.4"
MODEL = "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"


def fetch_model(folder: Path = FOLDER) -> Path:
    """The recogniser's ONNX file, from the folder or else from PyPI."""
    path = folder / Path(MODEL).name
    if not path.is_file():
        # The network alone is used, so it does not matter what else the package needs, nor which Python.
        pip = (sys.executable, "-m", "pip", "download", "--no-deps", "--ignore-requires-python", "--quiet", WHEEL)
        with TemporaryDirectory() as unpacked:
            _run(*pip, folder=unpacked, what=f"the recogniser {WHEEL} from PyPI")
            [wheel] = Path(unpacked).glob("*.whl")
            with ZipFile(wheel) as archive, write_atomically(path) as unfinished:
                unfinished.write_bytes(archive.read(MODEL))
    return path


def fetch_font(package: str, file: str, folder: Path = FOLDER) -> Path:
    """A font's file in a Debian package: where it is installed, or from the folder, or else from Debian."""
    installed, own = Path("/usr/share/fonts/truetype", file), folder / "fonts" / Path(file).name
    if not installed.is_file() and not own.is_file():
        with TemporaryDirectory() as unpacked:
            _run("apt-get", "download", package, folder=unpacked, what=f"the font {package} from Debian")
            [archive] = Path(unpacked).glob("*.deb")
            _run("dpkg-deb", "--extract", archive.name, ".", folder=unpacked, what=f"{archive.name} unpacked")
            with write_atomically(own) as unfinished:
                unfinished.write_bytes(Path(unpacked, *installed.parts[1:]).read_bytes())
    return installed if installed.is_file() else own


def _run(*command: str, folder: str, what: str) -> None:
    try:
        subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except FileNotFoundError as error:
        raise OSError(f"The experiment needs {what}, and there is no {command[0]} to fetch it.") from error
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or ["no reason given"])[-1]
        tool = "pip" if "pip" in command else command[0]
        raise OSError(f"The experiment needs {what}, and {tool} failed: {reason}") from error
