"""``aftermax reproduce``, for one release: it says where the experiments are now."""

from __future__ import annotations


def reproduce() -> None:
    """The experiments are in the repository, no longer in the package."""
    raise ValueError(
        "the experiments are no longer part of the package: clone the repository and run python -m experiments vmnist"
    )
