"""The report of an experiment that has one table, one figure and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aftermax._utils.files import write_text
from experiments.plotting import save
from experiments.runs import provenance
from experiments.runs.runner import Keyed

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


def unfinished(records: Sequence[Keyed], wanted: int) -> str:
    """A sentence, if there are results of some networks only; otherwise empty."""
    networks = len({record.key for record in records})
    if networks >= wanted:
        return ""
    return f"\n**This run is not finished: {networks} of {wanted} networks.** The same command adds the others.\n"
