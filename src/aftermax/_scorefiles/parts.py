"""The parts of a folder of score files: which there are, which are done, and whether all are.

A part is one score file. Its predictions are a file of their own, and a note beside them says what they were made of.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aftermax._scorefiles.sources import FORMATS
from aftermax._utils.files import write_text
from aftermax._utils.untrusted import fields

COMPLETE = "_complete.json"  # there if all parts are; programs that read folders of parquet skip names with _ and .
NOTES = "_parts"
HIDDEN = ("_", ".")


@dataclass(frozen=True)
class FileState:
    """By which a file is known again."""

    size: int
    modified: int  # nanoseconds

    @classmethod
    def of(cls, path: str | Path) -> FileState:
        """Of a file as it is now."""
        status = Path(path).stat()
        return cls(status.st_size, status.st_mtime_ns)

    def to_state(self) -> list[int]:
        """Plain values, as for JSON."""
        return [self.size, self.modified]


@dataclass(frozen=True)
class Part:
    """A score file, as it was when the work was planned, and where its predictions go."""

    name: str  # of the predictions, in their folder
    source: str
    out: str
    note: str
    state: FileState  # of the score file
    stamp: str  # a hash of that, the head and the options


def find_parts(source: Path, out: Path, made_by: dict[str, Any]) -> list[Part]:
    """The score files in a folder and the folders in it, in the order of their names.

    ``made_by`` is everything that predictions depend on besides the score file, as plain values.
    """
    source, out = source.resolve(), out.resolve()
    if out == source or source in out.parents or out in source.parents:
        raise ValueError(f"{out} and {source} are inside each other: write the predictions to a folder of their own.")
    found: dict[Path, str] = {}
    for path in sorted(source.rglob("*")):
        suffix = next((one for one in FORMATS if path.name.lower().endswith(one)), None)
        inside = path.relative_to(source)
        if suffix is not None and path.is_file() and not any(one.startswith(HIDDEN) for one in inside.parts):
            found[inside] = suffix
    if not found:
        raise ValueError(f"{source} has no score files: their names should end in {', '.join(FORMATS)}.")
    kinds = sorted(set(found.values()))
    if len(kinds) > 1:
        raise ValueError(f"{source} has score files of several formats, {', '.join(kinds)}: use one folder for each.")
    return [_part(source, out, inside, suffix, made_by) for inside, suffix in found.items()]


def _part(source: Path, out: Path, inside: Path, suffix: str, made_by: dict[str, Any]) -> Part:
    state = FileState.of(source / inside)
    name = f"{inside.as_posix()[: -len(suffix)]}.parquet"
    note = out / NOTES / f"{name}.json"
    text = json.dumps([made_by, inside.as_posix(), state.to_state()], sort_keys=True)
    stamp = hashlib.sha256(text.encode()).hexdigest()
    return Part(name, str(source / inside), str(out / name), str(note), state, stamp)


# ---- what is done ----------------------------------------------------------------------------------------------------


def write_note(part: Part, counts: dict[str, Any]) -> None:
    """Note that the predictions of a part are written; of a part without rows, there are none."""
    written = FileState.of(part.out).to_state() if counts["rows"] else None
    write_text(Path(part.note), json.dumps({"stamp": part.stamp, "written": written, "counts": counts}))


def read_note(part: Part) -> object:
    """The counts of a part that is done; None if it is not, or was done with another head or another score file."""
    try:
        note = fields(json.loads(Path(part.note).read_text("utf-8")), {"stamp", "written", "counts"}, "the note")
        written = None if note["written"] is None else FileState.of(part.out).to_state()
    except (OSError, ValueError):
        return None
    return note["counts"] if note["stamp"] == part.stamp and note["written"] == written else None


def forget(part: Part) -> None:
    """Remove the predictions of a part, first the note on them."""
    for path in (part.note, part.out):
        Path(path).unlink(missing_ok=True)


# ---- the folder of predictions ---------------------------------------------------------------------------------------


def check_folder(out: Path, parts: Sequence[Part]) -> None:
    """Refuse a folder with files that are not predictions of these parts, as they would be taken for some."""
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file: name a folder for the predictions.")
    if not out.exists() or not any(out.iterdir()):
        return
    if not (out / NOTES).is_dir():
        raise FileExistsError(
            f"{out} is not empty, and the files in it are not from 'aftermax predict --dask': name another folder."
        )
    own = {part.name for part in parts}
    inside = {path.relative_to(out) for path in out.rglob("*.parquet")}
    strangers = sorted(
        path.as_posix()
        for path in inside
        if path.as_posix() not in own and not any(one.startswith(HIDDEN) for one in path.parts)
    )
    if strangers:
        raise FileExistsError(
            f"{out} holds {strangers[0]}, for which there is no score file (any more): remove it, or name another "
            "folder."
        )


def begin(out: Path, unfinished: Sequence[Part]) -> None:
    """Prepare the folder for the parts that are not done: from now on it is not complete."""
    (out / NOTES).mkdir(parents=True, exist_ok=True)
    (out / COMPLETE).unlink(missing_ok=True)
    for part in unfinished:
        forget(part)


def finish(out: Path, parts: Sequence[Part], rows: int, made_by: dict[str, Any]) -> None:
    """Say that all parts are done, and remove what workers that died have left unfinished."""
    for path in out.rglob(".*.partial"):
        path.unlink(missing_ok=True)
    content = {"rows": rows, "made_by": made_by, "parts": {part.name: part.stamp for part in parts}}
    write_text(out / COMPLETE, json.dumps(content, indent=1))
