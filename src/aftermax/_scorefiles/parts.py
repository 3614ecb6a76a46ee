"""The parts of a folder of score files: which there are, which are done, and whether all are.

A part is one score file. Its predictions are a file of their own, and a note beside them says what they were made of.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from aftermax._scorefiles.folder_files import HIDDEN
from aftermax._utils.files import remove_abandoned, write_text
from aftermax._utils.untrusted import fields

COMPLETE = "_complete.json"  # there if all parts are; programs that read folders of parquet skip names with _ and .
NOTES = "_parts"


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


def plan_parts(source: Path, out: Path, files: dict[Path, str], made_by: dict[str, Any]) -> list[Part]:
    """The parts of a folder, from its score files and their formats.

    ``made_by`` is everything that predictions depend on besides the score file, as plain values.
    """
    parts = [_part(source, out, inside, suffix, made_by) for inside, suffix in files.items()]
    _check_names(parts)
    return parts


def _check_names(parts: Sequence[Part]) -> None:
    """Refuse parts whose predictions or notes would be one file, or one a file and the other one's folder."""
    taken: dict[str, Part] = {}
    for part in parts:
        other = taken.setdefault(part.name, part)
        if other is not part:
            raise ValueError(
                f"{other.source} and {part.source} would have the same file of predictions, {part.name}: rename one."
            )
    for part in parts:
        for folder in map(str, PurePosixPath(part.name).parents):
            other = taken.get(folder, taken.get(folder.removesuffix(".json"), part))
            if other is not part:
                raise ValueError(
                    f"The predictions of {other.source} would be a file called {other.name}, and those of "
                    f"{part.source} in a folder called {folder}: rename one."
                )


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
    try:
        written = FileState.of(part.out).to_state() if counts["rows"] else None
    except FileNotFoundError as error:
        raise ValueError(f"{part.out} was removed by another program: run the command again.") from error
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


def not_complete(out: Path) -> None:
    """From now on the folder is not complete."""
    (out / COMPLETE).unlink(missing_ok=True)


def begin(out: Path, unfinished: Sequence[Part]) -> None:
    """Prepare the folder for the parts that are not done; what another run has done by now is left."""
    (out / NOTES).mkdir(parents=True, exist_ok=True)
    for part in unfinished:
        if read_note(part) is None:
            forget(part)
    not_complete(out)  # again, as another run may have ended meanwhile


def finish(out: Path, parts: Sequence[Part], rows: int, made_by: dict[str, Any]) -> None:
    """Say that all parts are done, if they are, and remove what workers that died have left unfinished."""
    remove_abandoned(out)
    for part in parts:
        if read_note(part) is None:
            not_complete(out)
            raise OSError(
                f"The predictions of {part.source} were changed or removed by another program, so {out} is not "
                "complete: run the command again."
            )
    content = {"rows": rows, "made_by": made_by, "parts": {part.name: part.stamp for part in parts}}
    write_text(out / COMPLETE, json.dumps(content, indent=1))
