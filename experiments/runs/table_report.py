"""The report of an experiment that has one table, one figure and a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aftermax._utils.files import write_text
from experiments.plotting import save
from experiments.runs import provenance

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_report(out: Path, introduction: str, table: str, verdict: str, figure: Figure, caption: str) -> str:
    """Write table.md, verdict.md, gain.png, gain.pdf and report.md to ``out``; the table and the verdict as text."""
    write_text(out / "table.md", table)
    write_text(out / "verdict.md", verdict)
    save(figure, out / "gain")
    text = f"{table}\n{verdict}"
    write_text(
        out / "report.md", "\n".join([introduction, provenance.sentence(out), text, f"![{caption}](gain.png)\n"])
    )
    return text
