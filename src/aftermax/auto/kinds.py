"""The kinds of fitted head, by name: to add one, add its class here."""

from aftermax._heads.protocol import FittedHead
from aftermax._many.fitting import DISCRIMINANTS
from aftermax._many.head import ManyClassesHead
from aftermax._wrapped.adapted import AdaptedHead
from aftermax._wrapped.base_heads import BASE_HEADS
from aftermax._wrapped.decision import DecisionHead

FITTED_HEADS: dict[str, type[FittedHead]] = BASE_HEADS | {head.kind: head for head in (AdaptedHead, DecisionHead)}
# Which kind of head the tiers are that have no kind of their own.
KIND_OF_TIER = {DISCRIMINANTS: ManyClassesHead.kind}
