"""``aftermax demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Folder for the table and the pictures.")] = Path(
        "aftermax-demo"
    ),
) -> None:
    """A real, offline run in under a minute.

    On networks that ship with the package.
    """
    from aftermax._demo import run

    run(out)
