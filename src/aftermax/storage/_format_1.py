"""Head files of format 1, as aftermax wrote them until November 2026: brought to format 2 when they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from aftermax._heads.protocol import State
from aftermax._utils.untrusted import fields, one_of, some

HYPERPARAMETERS = (  # as they were then
    "certainty",
    "window_low",
    "window_high",
    "center",
    "min_separation",
    "weight_power",
    "veto_distance",
    "veto_count",
    "min_gain",
    "distance_power",
)
SPH_FIELDS = {"certainty", "distance_power", "veto_distance", "veto_count", "temperature"}
CV_FIELDS = {"best_params", "fell_back", "gain", "gain_interval", "p_value", "best_estimator"}
REPORT_FIELDS = {"gain", "gain_interval", "p_value", "candidates", "candidates_are_weighted", "weights"}
AUTO_FIELDS = REPORT_FIELDS | {"chosen", "temperature", "width_of_features", "head"}
# What arrays of a combination were called, after "logits_" or "features_".
RENAMED = {"center": "mean", "axes": "components", "reach": "exponents", "offsets": "intercepts"}


def upgrade(content: State) -> State:
    """The same head as format 2 has it. What the values are is checked afterwards, as for every file."""
    names = {"kind", "settings", "classes_are_objects", "feature_names", "fitted"}
    old = fields(content.values, names, "the description")
    estimator = one_of(old["kind"], PARTS, "the kind of head")
    parameters = fields(old["settings"], None, "the settings")
    values, arrays = PARTS[estimator](old["fitted"], parameters, content.arrays)
    new = {
        "estimator": estimator,
        "parameters": parameters,
        "classes_are_objects": old["classes_are_objects"],
        "feature_names": old["feature_names"],
        "features_width": None,
    }
    return State(new | values, arrays)


Arrays = dict[str, NDArray[Any]]
Parts = tuple[dict[str, Any], Arrays]


def _sph(fitted: object, parameters: Mapping[str, Any], arrays: Arrays) -> Parts:
    return {"report": {}, "head": _sph_head(fitted, parameters, 1.0)}, arrays


def _sph_head(fitted: object, parameters: Mapping[str, Any], softmax_temperature: object) -> dict[str, Any]:
    old = fields(fitted, SPH_FIELDS, "what SPH was fitted to")
    hyperparameters = {name: parameters[name] for name in HYPERPARAMETERS if name in parameters}
    used = {name: old[name] for name in HYPERPARAMETERS if name in old}
    return {
        "kind": "sph",
        "hyperparameters": hyperparameters | used,
        "temperature": old["temperature"],
        "softmax_temperature": softmax_temperature,
    }


def _cv(fitted: object, parameters: Mapping[str, Any], arrays: Arrays) -> Parts:
    old = dict(fields(fitted, CV_FIELDS, "what SPHClassifierCV was fitted to"))
    best = fields(old.pop("best_params"), set(HYPERPARAMETERS), "best_params")
    head = _sph_head(old.pop("best_estimator"), best, 1.0)
    return {"report": old, "head": head}, arrays


def _auto(fitted: object, parameters: Mapping[str, Any], arrays: Arrays) -> Parts:
    old = fields(fitted, AUTO_FIELDS, "what AutoHead was fitted to")
    report = {name: old[name] for name in REPORT_FIELDS}
    chosen = one_of(old["chosen"], {"softmax", "combination", "sph"}, "chosen")
    if chosen == "sph":
        inner = fields(old["head"], {"settings", "fitted"}, "the head of AutoHead")
        settings = fields(inner["settings"], None, "the settings of SPH")
        head = _sph_head(inner["fitted"], settings, old["temperature"])
    elif chosen == "combination":
        head, arrays = _combination(old["head"], arrays)
    else:
        one_of(old["head"], {None}, "the head of softmax")
        head = {"kind": "softmax", "temperature": old["temperature"]}
    return {"report": report, "head": head, "features_width": old["width_of_features"]}, arrays


def _combination(described: object, arrays: Arrays) -> Parts:
    old = fields(described, {"slope", "looks"}, "the head of AutoHead")
    terms = []
    for look in some(old["looks"], None, "looks"):
        term = dict(fields(look, {"source", "depth", "gaussian_weight", "gaussian_floor"}, "a look"))
        term["clip_depth"] = term.pop("depth")
        terms.append(term)
    return {"kind": "combination", "slope": old["slope"], "terms": terms}, {
        _renamed(name): array for name, array in arrays.items()
    }


def _renamed(name: str) -> str:
    source, _, part = name.partition("_")
    return f"{source}_{RENAMED.get(part, part)}" if source in ("logits", "features") else name


PARTS = {"SPHClassifier": _sph, "SPHClassifierCV": _cv, "AutoHead": _auto}
