"""What a head file says of a Decider: which rule decides, and what its decisions cost out-of-fold."""

from __future__ import annotations

from dataclasses import asdict
from dataclasses import fields as dataclass_fields
from typing import Any

import numpy as np

from aftermax._abstention.record import Abstention
from aftermax._utils.untrusted import count, fields, flag, number, one_of, some
from aftermax.decide.choice import RULES
from aftermax.decide.decider import Decider
from aftermax.decide.outcome import Outcome

FIELDS = {"rule", "chosen", "class_shares", "outcome", "abstention"}
INTERVALS = ("improvement_interval", "improvement_over_plain_interval")
P_VALUES = ("p_value", "p_value_over_plain")


def written_decider(head: Decider) -> dict[str, Any]:
    """The report of a Decider."""
    outcome = None if head.outcome_ is None else asdict(head.outcome_)
    return {
        "rule": head.rule_,
        "chosen": head.chosen_,
        "class_shares": head.class_shares_,
        "outcome": outcome,
        "abstention": None if head.abstention_ is None else head.abstention_.to_state(),
    }


def read_decider(head: Decider, described: object) -> None:
    """Set what :func:`written_decider` wrote."""
    named = fields(described, FIELDS, "the report of Decider")
    head.rule_ = one_of(named["rule"], RULES, "the rule")
    head.chosen_ = _text(named["chosen"], "chosen")
    shares = named["class_shares"]
    head.class_shares_ = None
    if shares is not None:
        size = len(head.classes_)
        head.class_shares_ = np.array([number(one, "a class share", 0.0) for one in some(shares, size, "class_shares")])
    head.outcome_ = None if named["outcome"] is None else _outcome(named["outcome"])
    head.abstention_ = None if named["abstention"] is None else Abstention.from_state(named["abstention"])
    promised = None if head.abstention_ is None else head.abstention_.threshold
    if promised != head.fitted_head_.threshold:
        raise ValueError(f"the threshold is {head.fitted_head_.threshold}, but {promised} in what is promised of it")


def _outcome(described: object) -> Outcome:
    named = fields(described, {one.name for one in dataclass_fields(Outcome)}, "the outcome")
    values: dict[str, Any] = {
        name: number(named[name], name)
        for name in ("softmax", "plain", "decided", "improvement", "improvement_over_plain")
    }
    for name in INTERVALS:
        low, high = (number(end, f"an end of {name}") for end in some(named[name], 2, name))
        values[name] = (low, high)
    values |= {name: number(named[name], name, 0.0, 1.0) for name in P_VALUES}
    candidates = fields(named["candidates"], None, "the candidates of the outcome")
    return Outcome(
        objective=_text(named["objective"], "the objective"),
        is_cost=flag(named["is_cost"], "is_cost"),
        rule=one_of(named["rule"], RULES, "the rule"),
        candidates={one_of(name, RULES, "a rule"): number(value, "a candidate") for name, value in candidates.items()},
        rows=count(named["rows"], "rows"),
        groups=None if named["groups"] is None else count(named["groups"], "groups"),
        **values,
    )


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{what} is {value!r}: a text is needed")
    return value
