"""How the results are written: a table as CSV and as Markdown, with a line about the run above the latter."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

FOLDER = Path("results/hardening")


def write(name: str, rows: Sequence[Mapping[str, object]], about: str, folder: Path = FOLDER) -> str:
    """Write the rows, which have the same keys, and return the Markdown text."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = list(rows[0])
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    lines = [about, "", f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += [f"| {' | '.join(_shown(row[one]) for one in columns)} |" for row in rows]
    text = "\n".join(lines) + "\n"
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return text


def read(name: str, folder: Path = FOLDER) -> list[dict[str, str]]:
    """The rows that an earlier run wrote, if there are any."""
    path = folder / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|")
