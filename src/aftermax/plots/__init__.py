"""Pictures, as Display classes in scikit-learn's manner. They need the ``plots`` extra (matplotlib)."""

from aftermax.plots.audit import AuditDisplay
from aftermax.plots.pair import ClassPairDisplay
from aftermax.plots.responses import ResponseArrayDisplay
from aftermax.plots.routes import RoutesDisplay
from aftermax.plots.sweep import SweepDisplay

__all__ = ["AuditDisplay", "ClassPairDisplay", "ResponseArrayDisplay", "RoutesDisplay", "SweepDisplay"]
