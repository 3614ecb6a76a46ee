"""The accuracy that softmax leaves on the table: better last steps for trained, frozen classifiers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aftermax._audit.result import Audit
    from aftermax._audit.run import audit
    from aftermax._check.result import Check
    from aftermax._check.run import check
    from aftermax._priors.adaptation import Adaptation
    from aftermax._wrapped.adapt import adapt_priors
    from aftermax.answers.scores import TopKScores
    from aftermax.answers.top_k import scores_from_top_k
    from aftermax.auto.fit import fit
    from aftermax.auto.head import AutoHead
    from aftermax.auto.softmax import SoftmaxClassifier
    from aftermax.decide.decider import Decider
    from aftermax.posthoc.classifier import PostHocClassifier
    from aftermax.sph.classifier import SPHClassifier
    from aftermax.sph.classifier_cv import SPHClassifierCV
    from aftermax.sph.grid import default_grid
    from aftermax.sph.response_array import ResponseArray
    from aftermax.sph.sweep import sweep
    from aftermax.storage.head_files import load, save
    from aftermax.unlabelled.batch_calibration import batch_calibration

__all__ = [
    "Adaptation",
    "Audit",
    "AutoHead",
    "Check",
    "Decider",
    "PostHocClassifier",
    "ResponseArray",
    "SPHClassifier",
    "SPHClassifierCV",
    "SoftmaxClassifier",
    "TopKScores",
    "__version__",
    "adapt_priors",
    "audit",
    "batch_calibration",
    "check",
    "default_grid",
    "fit",
    "load",
    "save",
    "scores_from_top_k",
    "sweep",
]
__version__ = "0.1.0"

# Loaded on first use: scikit-learn alone takes most of a second to import.
_HOMES = {
    "Adaptation": "aftermax._priors.adaptation",
    "Audit": "aftermax._audit.result",
    "AutoHead": "aftermax.auto.head",
    "Check": "aftermax._check.result",
    "Decider": "aftermax.decide.decider",
    "PostHocClassifier": "aftermax.posthoc.classifier",
    "ResponseArray": "aftermax.sph.response_array",
    "SPHClassifier": "aftermax.sph.classifier",
    "SPHClassifierCV": "aftermax.sph.classifier_cv",
    "SoftmaxClassifier": "aftermax.auto.softmax",
    "TopKScores": "aftermax.answers.scores",
    "adapt_priors": "aftermax._wrapped.adapt",
    "audit": "aftermax._audit.run",
    "batch_calibration": "aftermax.unlabelled.batch_calibration",
    "check": "aftermax._check.run",
    "default_grid": "aftermax.sph.grid",
    "fit": "aftermax.auto.fit",
    "load": "aftermax.storage.head_files",
    "save": "aftermax.storage.head_files",
    "scores_from_top_k": "aftermax.answers.top_k",
    "sweep": "aftermax.sph.sweep",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'aftermax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
