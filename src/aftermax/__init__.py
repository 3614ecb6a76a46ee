"""The accuracy that softmax leaves on the table: better last steps for trained, frozen classifiers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aftermax.audited import Audit
    from aftermax.auditing import audit
    from aftermax.auto import AutoHead
    from aftermax.fitting import fit
    from aftermax.grids import default_grid
    from aftermax.posthoc import PostHocClassifier
    from aftermax.responses import ResponseArray
    from aftermax.selection import SPHClassifierCV
    from aftermax.sph import SPHClassifier
    from aftermax.storage import load, save
    from aftermax.sweeping import sweep

__all__ = [
    "Audit",
    "AutoHead",
    "PostHocClassifier",
    "ResponseArray",
    "SPHClassifier",
    "SPHClassifierCV",
    "__version__",
    "audit",
    "default_grid",
    "fit",
    "load",
    "save",
    "sweep",
]
__version__ = "0.1.0"

# Loaded on first use: scikit-learn alone takes most of a second to import.
_HOMES = {
    "Audit": "aftermax.audited",
    "AutoHead": "aftermax.auto",
    "PostHocClassifier": "aftermax.posthoc",
    "ResponseArray": "aftermax.responses",
    "SPHClassifier": "aftermax.sph",
    "SPHClassifierCV": "aftermax.selection",
    "audit": "aftermax.auditing",
    "default_grid": "aftermax.grids",
    "fit": "aftermax.fitting",
    "load": "aftermax.storage",
    "save": "aftermax.storage",
    "sweep": "aftermax.sweeping",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'aftermax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
