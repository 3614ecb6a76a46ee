"""Pieces of source files from npm packages and from an installed Python package: one piece of each file.

The class of a file follows from the end of its name. As there is one piece of each file, pieces are independent but for
what files of one package share, such as a licence at their top.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import files
from pathlib import Path, PurePosixPath

import numpy as np

from experiments.vendor.packages import FOLDER, Package, fetch, files_in
from experiments.vendor.pieces import Pieces

PACKAGES = (
    Package("react-native", "0.76.5"),  # C++, Java, JavaScript, Kotlin, Objective-C, XML
    Package("expo-modules-core", "2.0.0"),  # Kotlin, Swift
    Package("@capacitor/ios", "8.5.2"),  # Swift
    Package("@openzeppelin/contracts", "5.7.0"),  # Solidity, JSON
    Package("bootstrap", "5.3.8"),  # SCSS
    Package("google-proto-files", "5.0.3"),  # protocol buffers
    Package("exiftool-vendored.pl", "13.59.3"),  # Perl
    Package("bs-platform", "9.0.2"),  # OCaml
    Package("@wordpress/block-library", "11.1.0"),  # CSS, JSON, Markdown, PHP
    Package("bullmq", "6.7.0"),  # Lua
    Package("element-plus", "2.14.8"),  # CSS, SCSS, TypeScript
    Package("@stdlib/blas", "0.4.1"),  # C, Fortran, Markdown
    Package("@stdlib/math", "0.4.1"),  # C, Markdown
)
PYTHON = "scikit-learn"  # the version is that of run.json
# Headers (.h) are left out, as they may be of C, C++ or Objective-C.
# fmt: off
TYPES = {
    "c": "c", "cc": "cpp", "cpp": "cpp", "css": "css", "f": "fortran", "java": "java", "js": "javascript",
    "json": "json", "jsx": "javascript", "kt": "kotlin", "lua": "lua", "m": "objectivec", "md": "markdown",
    "mjs": "javascript", "ml": "ocaml", "mli": "ocaml", "mm": "objectivec", "php": "php", "pl": "perl", "pm": "perl",
    "proto": "proto", "py": "python", "scss": "scss", "sol": "solidity", "swift": "swift", "ts": "typescript",
    "xml": "xml",
}
# fmt: on
FILES_OF_A_TYPE = 600
FILES_OF_A_PACKAGE = 250  # of one type: files of one package are alike
LONGEST_LINE = 400  # a file with longer lines is minified, or data


def line_pieces(lines: int, known: list[str], folder: Path = FOLDER) -> Pieces:
    """A piece of so many lines of each file, from a random place; the class is the type of the file."""
    rng = np.random.default_rng(0)
    by_type: dict[str, set[str]] = {}
    for contents in _sources(folder):
        for kind, texts in _texts(contents, known).items():
            by_type.setdefault(kind, set()).update(_some(texts, FILES_OF_A_PACKAGE, rng))
    pieces = Pieces([], [])
    for kind, found in sorted(by_type.items()):
        for text in _some(found, FILES_OF_A_TYPE, rng):
            pieces.texts.append(piece_of(text, lines, rng))
            pieces.labels.append(kind)
    return pieces


def _sources(folder: Path) -> Iterator[Iterable[tuple[str, bytes]]]:
    """The files of each package, by name and content."""
    for package in PACKAGES:
        yield files_in(fetch(package, folder))
    yield ((path.as_posix(), path.read_binary()) for path in files(PYTHON) or [] if path.suffix == ".py")


def _texts(contents: Iterable[tuple[str, bytes]], known: list[str]) -> dict[str, set[str]]:
    """The texts of files of known types; copies of a file count once."""
    texts: dict[str, set[str]] = {}
    for name, content in contents:
        kind = TYPES.get(PurePosixPath(name).suffix[1:], "")
        if kind in known and (text := readable(content)):
            texts.setdefault(kind, set()).add(text)
    return texts


def _some(texts: set[str], count: int, rng: np.random.Generator) -> list[str]:
    """At most so many of them, at random."""
    ordered = sorted(texts)
    return [ordered[place] for place in rng.permutation(len(ordered))[:count]]


def readable(content: bytes) -> str:
    """The lines of a file that are not blank; empty if it is minified, or not UTF-8."""
    try:
        lines = [line for line in content.decode().splitlines() if line.strip()]
    except UnicodeDecodeError:
        return ""
    return "" if any(len(line) > LONGEST_LINE for line in lines) else "\n".join(lines)


def piece_of(text: str, count: int, rng: np.random.Generator) -> str:
    """So many lines in a row, from a random place; the whole text if it is shorter."""
    lines = text.split("\n")
    start = int(rng.integers(max(len(lines) - count, 0) + 1))
    return "\n".join(lines[start : start + count])
