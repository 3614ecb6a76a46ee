"""Pictures, as Display classes in scikit-learn's manner. They need the ``plots`` extra (matplotlib)."""

from aftermax.plots.audit import AuditDisplay
from aftermax.plots.certainty import CertaintyDisplay
from aftermax.plots.class_pair import ClassPairDisplay
from aftermax.plots.confusion import ConfusionChangeDisplay
from aftermax.plots.gain_by_class import GainByClassDisplay
from aftermax.plots.reliability import ReliabilityDisplay
from aftermax.plots.response_array import ResponseArrayDisplay
from aftermax.plots.risk_coverage import RiskCoverageDisplay
from aftermax.plots.routes import RoutesDisplay
from aftermax.plots.sweep import SweepDisplay
from aftermax.plots.weights import WeightsDisplay

__all__ = [
    "AuditDisplay",
    "CertaintyDisplay",
    "ClassPairDisplay",
    "ConfusionChangeDisplay",
    "GainByClassDisplay",
    "ReliabilityDisplay",
    "ResponseArrayDisplay",
    "RiskCoverageDisplay",
    "RoutesDisplay",
    "SweepDisplay",
    "WeightsDisplay",
]
