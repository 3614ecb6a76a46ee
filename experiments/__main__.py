"""``python -m experiments``: an error is one line and exit code 2, or a traceback where ``AFTERMAX_DEBUG`` is set."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command."""
    try:
        from experiments.commands import app

        app(prog_name="python -m experiments")
    except (ImportError, OSError, ValueError) as error:
        if os.environ.get("AFTERMAX_DEBUG"):
            raise
        print(f"experiments: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
