"""The ``aftermax`` command. It needs the ``cli`` extra (typer)."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command; an error is one line and exit code 2, or all of it where ``AFTERMAX_DEBUG`` is set."""
    try:
        if find_spec("typer") is None:
            raise ImportError("the command needs typer: pip install 'aftermax[cli]'")
        from aftermax.cli.app import app

        app()
    except (ImportError, OSError, ValueError) as error:
        if os.environ.get("AFTERMAX_DEBUG"):
            raise
        print(f"aftermax: {error}", file=sys.stderr)
        sys.exit(2)
