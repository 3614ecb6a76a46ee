"""Head files of format 2, from before AutoHead trusted corrections in part: brought to format 3 when they are read.

Then a head was accepted or not, by a test of errors and log loss together; what it was accepted by counts as proof. Its
one interval was that of the gain on as many new samples, and stands for both intervals now.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aftermax._heads.protocol import State
from aftermax._utils.untrusted import fields, flag, some

CV_FIELDS = {"gain", "gain_interval", "p_value", "fell_back"}
AUTO_FIELDS = {"gain", "gain_interval", "p_value", "candidates", "candidates_are_weighted", "weights"}


def upgrade(content: State) -> State:
    """The same head as format 3 has it. What the values are is checked afterwards, as for every file."""
    values = fields(content.values, None, "the description")
    report, head = (fields(values.get(name), None, f"the {name}") for name in ("report", "head"))
    if values.get("estimator") == "SPHClassifierCV":
        report = _cv(report)
    elif values.get("estimator") == "AutoHead":
        report = _auto(report, head.get("kind"))
    return State(values | {"report": report, "reference": None}, content.arrays)


def _cv(report: Mapping[str, Any]) -> dict[str, Any]:
    old = fields(report, CV_FIELDS, "the report of SPHClassifierCV")
    return old | _gain(old, kept_softmax=flag(old["fell_back"], "fell_back"))


def _auto(report: Mapping[str, Any], kind: object) -> dict[str, Any]:
    old = fields(report, AUTO_FIELDS, "the report of AutoHead")
    candidates = [fields(one, None, "a candidate") for one in some(old["candidates"], None, "candidates")]
    unknown = float("nan")
    return (
        old
        | _gain(old, kept_softmax=kind == "softmax")
        | {
            "chosen": kind,
            "trust": 0.0 if kind == "softmax" else 1.0,
            "class_shares": None,
            "candidates": [
                one | {"tier": one.get("name"), "trust": 1.0, "log_loss_p_value": unknown} for one in candidates
            ],
        }
    )


def _gain(old: Mapping[str, Any], *, kept_softmax: bool) -> dict[str, Any]:
    """What is promised: nothing if softmax is kept, where the gain used to be that of the best candidate."""
    gain, interval = (0.0, [0.0, 0.0]) if kept_softmax else (old["gain"], old["gain_interval"])
    return {
        "gain": gain,
        "gain_interval": interval,
        "gain_prediction_interval": interval,
        "proven": not kept_softmax,
    }
