"""The kinds of fitted head, by name: to add one, add its class here."""

from aftermax._heads.protocol import FittedHead
from aftermax._heads.softmax import SoftmaxHead
from aftermax._many.fitting import DISCRIMINANTS
from aftermax._many.head import ManyClassesHead
from aftermax._residual.head import ResidualHead
from aftermax.sph.fitted import FittedSPH

FITTED_HEADS: dict[str, type[FittedHead]] = {
    head.kind: head for head in (SoftmaxHead, FittedSPH, ResidualHead, ManyClassesHead)
}
# Which kind of head the tiers are that have no kind of their own.
KIND_OF_TIER = {DISCRIMINANTS: ManyClassesHead.kind}
