"""Whether matplotlib is installed: it is an extra."""

from __future__ import annotations


def check_matplotlib() -> None:
    """Name the extra to install, if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'aftermax[plots]'") from error
