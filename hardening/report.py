"""How the results are written: a CSV file and a Markdown table."""

import csv
from pathlib import Path

FOLDER = Path("results/hardening")


def write(rows: list[dict[str, str]], name: str, folder: Path = FOLDER) -> str:
    """Write the rows, which all have the same keys, as CSV and as a Markdown table, and return the latter."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(row.values()) + " |" for row in rows]
    text = "\n".join(lines) + "\n"
    (folder / f"{name}.md").write_text(text)
    return text


def read(name: str, folder: Path = FOLDER) -> list[dict[str, str]]:
    """The rows that an earlier run wrote, if there are any."""
    path = folder / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
