"""The accuracy that softmax leaves on the table: better last steps for trained, frozen classifiers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aftermax.responses import ResponseArray
    from aftermax.sph import SPHClassifier

__all__ = ["ResponseArray", "SPHClassifier", "__version__"]
__version__ = "0.1.0"

# Loaded on first use: scikit-learn alone takes most of a second to import.
_HOMES = {"ResponseArray": "aftermax.responses", "SPHClassifier": "aftermax.sph"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'aftermax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
