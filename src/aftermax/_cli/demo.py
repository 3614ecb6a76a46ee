"""``aftermax demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Folder for the table and the figures.")] = Path(
        "aftermax-demo"
    ),
) -> None:
    """Fit heads to real networks, offline, in about a minute.

    The networks' outputs ship with the package.
    """
    from aftermax._demo import run

    run(out)
