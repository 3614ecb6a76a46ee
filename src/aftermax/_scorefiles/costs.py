"""A cost matrix from a CSV file."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.labels import labels_to_text
from aftermax._utils.files import existing_file
from aftermax.decide.costs import as_costs, costs_by_name

LAYOUT = (
    "the first line has the decisions, and each further line a true class and the cost of each decision, as "
    "'true,ham,spam', 'ham,0,10', 'spam,1,0'"
)


def read_costs(path: Path, classes: NDArray[Any]) -> NDArray[np.float64]:
    """The costs in the order of the classes; rows and columns of the file are named after these, in any order."""
    with existing_file(path).open(newline="", encoding="utf-8-sig") as file:
        text = file.read()
    separator = max(",;\t", key=text.partition("\n")[0].count)
    cells = [[cell.strip() for cell in line] for line in csv.reader(io.StringIO(text), delimiter=separator)]
    lines = [line for line in cells if any(line)]
    if len(lines) < 2 or len({len(line) for line in lines}) > 1:
        raise ValueError(f"{path} is not a table of costs: {LAYOUT}.")
    numbers = [[_number(cell.replace(",", "."), path) for cell in line[1:]] for line in lines[1:]]  # decimal commas
    try:
        values = costs_by_name(numbers, [line[0] for line in lines[1:]], lines[0][1:], labels_to_text(classes))
        return as_costs(values, classes)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _number(cell: str, path: Path) -> float:
    try:
        return float(cell)
    except ValueError as error:
        raise ValueError(f"{path} has {cell!r} where a cost should be: {LAYOUT}.") from error
