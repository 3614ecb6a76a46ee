"""What a head file says of an estimator's attributes about itself: its gain, its candidates, what was chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from dataclasses import fields as dataclass_fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.untrusted import count, fields, flag, number, one_of, some
from aftermax._wrapped.adapted import AdaptedHead
from aftermax._wrapped.base_heads import innermost
from aftermax._wrapped.decision import DecisionHead
from aftermax.auto.candidates import CORRECTIONS, DESCRIPTIONS, SHARES, Candidate, Candidates, candidate_name
from aftermax.auto.head import AutoHead
from aftermax.auto.kinds import FITTED_HEADS, KIND_OF_TIER
from aftermax.auto.softmax import SoftmaxClassifier
from aftermax.decide.decider import Decider
from aftermax.sph.classifier import SPHClassifier
from aftermax.sph.classifier_cv import SPHClassifierCV
from aftermax.storage._decisions import read_decider, written_decider

GAIN_FIELDS = {"gain", "gain_interval", "gain_prediction_interval", "p_value", "proven"}
CV_FIELDS = GAIN_FIELDS | {"fell_back"}
AUTO_FIELDS = GAIN_FIELDS | {"chosen", "trust", "class_shares", "candidates", "candidates_are_weighted", "weights"}
TIERS = {*DESCRIPTIONS, *CORRECTIONS, *FITTED_HEADS}  # of candidates, those of older files included


class Report(NamedTuple):
    """How an estimator's attributes about itself are written and read, and which kinds of fitted head it may hold."""

    kinds: tuple[str, ...]
    written: Callable[[Any], dict[str, Any]]
    read: Callable[[Any, object], None]


# ---- the gain --------------------------------------------------------------------------------------------------------


def _written_gain(head: Any) -> dict[str, Any]:
    return {
        "gain": head.gain_,
        "gain_interval": head.gain_interval_,
        "gain_prediction_interval": head.gain_prediction_interval_,
        "p_value": head.p_value_,
        "proven": bool(head.proven_),
    }


def _read_gain(head: Any, named: Mapping[str, Any]) -> None:
    head.gain_ = number(named["gain"], "gain")
    head.gain_interval_ = _interval(named["gain_interval"], "gain_interval")
    head.gain_prediction_interval_ = _interval(named["gain_prediction_interval"], "gain_prediction_interval")
    head.p_value_ = number(named["p_value"], "p_value", 0.0, 1.0)
    head.proven_ = flag(named["proven"], "proven")


def _interval(described: object, what: str) -> tuple[float, float]:
    low, high = (number(end, f"an end of {what}") for end in some(described, 2, what))
    return low, high


# ---- SPH -------------------------------------------------------------------------------------------------------------


def _read_sph(head: SPHClassifier, described: object) -> None:
    fields(described, set(), "the report of SPHClassifier")


def _written_cv(head: SPHClassifierCV) -> dict[str, Any]:
    return _written_gain(head) | {"fell_back": bool(head.fell_back_)}


def _read_cv(head: SPHClassifierCV, described: object) -> None:
    named = fields(described, CV_FIELDS, "the report of SPHClassifierCV")
    _read_gain(head, named)
    head.fell_back_ = flag(named["fell_back"], "fell_back")
    fitted: Any = innermost(head.fitted_head_)
    head.best_params_ = dict(fitted.hyperparameters)


# ---- softmax ---------------------------------------------------------------------------------------------------------


def _written_softmax(head: SoftmaxClassifier) -> dict[str, Any]:
    return {"class_shares": head.class_shares_}


def _read_softmax(head: SoftmaxClassifier, described: object) -> None:
    named = fields(described, {"class_shares"}, "the report of SoftmaxClassifier")
    head.class_shares_ = _class_shares(named["class_shares"], len(head.classes_))
    fitted: Any = innermost(head.fitted_head_)
    head.temperature_ = fitted.temperature


# ---- AutoHead --------------------------------------------------------------------------------------------------------


def _written_auto(head: AutoHead) -> dict[str, Any]:
    return _written_gain(head) | {
        "chosen": head.chosen_,
        "trust": head.trust_,
        "class_shares": head.class_shares_,
        "candidates": [asdict(one) for one in head.candidates_.values()],
        "candidates_are_weighted": head.candidates_.weighted,
        "weights": dict(head.weights_),
    }


def _read_auto(head: AutoHead, described: object) -> None:
    named = fields(described, AUTO_FIELDS, "the report of AutoHead")
    _read_gain(head, named)
    head.chosen_, head.trust_ = _chosen(named["chosen"], named["trust"], innermost(head.fitted_head_).kind)
    head.class_shares_ = _class_shares(named["class_shares"], len(head.classes_))
    candidates = [_candidate(one) for one in some(named["candidates"], None, "candidates")]
    chosen = candidate_name(head.chosen_, head.trust_ or 1.0)
    weighted = flag(named["candidates_are_weighted"], "candidates_are_weighted")
    head.candidates_ = Candidates(candidates, chosen, weighted=weighted)
    if len(head.candidates_) < len(candidates) or not {"softmax", chosen} <= set(head.candidates_):
        raise ValueError("candidates has some twice, or lacks softmax or the one that is chosen")
    head.weights_ = {
        one_of(name, {"logits", *TIERS}, "a name in weights"): number(value, "a weight", 0.0)
        for name, value in fields(named["weights"], None, "weights").items()
    }


def _chosen(chosen: object, trust: object, kind: str) -> tuple[str, float]:
    """What predicts, and how far it is trusted, if that is what the fitted head is."""
    name = one_of(chosen, {*DESCRIPTIONS, *FITTED_HEADS}, "chosen")
    if kind != (name if name in FITTED_HEADS else KIND_OF_TIER.get(name, "combination")):
        raise ValueError(f"chosen is {name!r}, but the head is of the kind {kind!r}")
    return name, 0.0 if name == "softmax" and trust == 0 else _trust(trust)


def _trust(described: object) -> float:
    trust = number(described, "trust", 0.0, 1.0)
    if trust != 1 and trust not in SHARES:
        raise ValueError(f"trust is {trust}, which is not known")
    return trust


def _class_shares(described: object, n_classes: int) -> NDArray[np.float64] | None:
    if described is None:
        return None
    return np.array([number(one, "a class share", 0.0) for one in some(described, n_classes, "class_shares")])


def _candidate(described: object) -> Candidate:
    named = fields(described, {one.name for one in dataclass_fields(Candidate)}, "a candidate")
    tier, trust = one_of(named["tier"], TIERS, "the tier of a candidate"), _trust(named["trust"])
    return Candidate(
        name=one_of(named["name"], {candidate_name(tier, trust)}, "the name of a candidate"),
        tier=tier,
        trust=trust,
        error=number(named["error"], "error", 0.0, 1.0),
        gain=number(named["gain"], "gain"),
        gain_interval=_interval(named["gain_interval"], "gain_interval"),
        wins=count(named["wins"], "wins"),
        losses=count(named["losses"], "losses"),
        p_value=number(named["p_value"], "p_value", 0.0, 1.0),
        log_loss=number(named["log_loss"], "log_loss", infinite=True, unknown=True),
        log_loss_p_value=number(named["log_loss_p_value"], "log_loss_p_value", 0.0, 1.0, unknown=True),
    )


REPORTS: dict[type[Any], Report] = {
    SPHClassifier: Report(("sph", AdaptedHead.kind), lambda head: {}, _read_sph),
    SPHClassifierCV: Report(("sph", AdaptedHead.kind), _written_cv, _read_cv),
    SoftmaxClassifier: Report(("softmax", AdaptedHead.kind), _written_softmax, _read_softmax),
    AutoHead: Report(tuple(FITTED_HEADS), _written_auto, _read_auto),
    Decider: Report((DecisionHead.kind,), written_decider, read_decider),
}
