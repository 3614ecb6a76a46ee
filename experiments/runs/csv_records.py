"""Records as lines of a CSV file, one for each instance of a dataclass."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from aftermax._utils.files import write_atomically

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Record = TypeVar("Record", bound=DataclassInstance)

PARSERS: dict[str, Callable[[str], Any]] = {"str": str, "int": int, "float": float, "bool": "True".__eq__}


def read_records(kind: type[Record], path: Path) -> list[Record]:
    """Records from a CSV file; an empty list if there is no file."""
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        try:
            return [
                kind(**{field.name: PARSERS[str(field.type)](line[field.name]) for field in fields(kind)})
                for line in csv.DictReader(file)
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path} is damaged or was written by another version ({type(error).__name__}: {error}): remove it, or "
                "start over with --again."
            ) from error


def write_records(records: Sequence[DataclassInstance], path: Path) -> None:
    """Write the CSV file, whole or not at all."""
    with write_atomically(path) as unfinished, unfinished.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(records[0])], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(record) for record in records)
