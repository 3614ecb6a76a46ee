"""Fitted heads as plain values: what JSON can hold, and arrays. And back again, with everything checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.untrusted import Arrays, count, fields, flag, label, number, one_of, some, texts
from aftermax.auto.candidates import IN_WORDS, Candidate, Candidates
from aftermax.auto.head import AutoHead
from aftermax.sph._pooling import pooling_rule
from aftermax.sph.classifier import HYPERPARAMETERS, SPHClassifier
from aftermax.sph.classifier_cv import SPHClassifierCV
from aftermax.sph.response_array import ResponseArray
from aftermax.storage._schema_folded import folded_from_plain, folded_to_plain

Head = AutoHead | SPHClassifier | SPHClassifierCV
KINDS: dict[str, type[Head]] = {kind.__name__: kind for kind in (AutoHead, SPHClassifier, SPHClassifierCV)}
SETTINGS_OF = {
    "SPHClassifier": {*HYPERPARAMETERS, "classes"},
    "SPHClassifierCV": {"grid", "cv", "n_repeats", "alpha", "classes", "random_state", "n_jobs", "progress"},
    "AutoHead": {"cv", "alpha", "class_weight", "classes", "random_state", "n_jobs", "progress"},
}
AS_FITTED = "as fitted"  # the setting ``classes``, if it was given


class Plain(NamedTuple):
    """A head in plain values: numbers (infinite ones too), strings, lists and dicts; and arrays by name."""

    described: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def to_plain(head: Head) -> Plain:
    """A fitted head in plain values."""
    arrays = {"classes": _plain_classes(head.classes_)}
    match head:
        case SPHClassifier():
            fitted = _sph_to_plain(head, arrays)
        case SPHClassifierCV():
            fitted = _cv_to_plain(head, arrays)
        case AutoHead():
            fitted = _auto_to_plain(head, arrays)
    names = getattr(head, "feature_names_in_", None)
    described = {
        "kind": type(head).__name__,
        "settings": _plain_settings(head),
        "classes_are_objects": head.classes_.dtype == object,
        "feature_names": None if names is None else list(map(str, names)),
        "fitted": fitted,
    }
    return Plain(described, arrays)


def from_plain(plain: Plain) -> Head:
    """The head again, fitted. A ValueError says what is wrong with it, if anything is."""
    described = fields(
        plain.described, {"kind", "settings", "classes_are_objects", "feature_names", "fitted"}, "the description"
    )
    kind = one_of(described["kind"], KINDS, "the kind of head")
    arrays = Arrays(plain.arrays)
    classes = arrays.classes("classes", objects=flag(described["classes_are_objects"], "classes_are_objects"))
    head = KINDS[kind](**_settings(described["settings"], kind, classes))
    head.classes_, head.n_features_in_ = classes, len(classes)
    if described["feature_names"] is not None:
        head.feature_names_in_ = texts(described["feature_names"], len(classes), "feature_names")
    match head:
        case SPHClassifier():
            _sph_from_plain(head, described["fitted"], arrays)
        case SPHClassifierCV():
            _cv_from_plain(head, described["fitted"], arrays)
        case AutoHead():
            _auto_from_plain(head, described["fitted"], arrays)
    arrays.all_taken()
    return head


# ---- classes and settings --------------------------------------------------------------------------------------------


def _plain_classes(classes: NDArray[Any]) -> NDArray[Any]:
    """The classes as an array that can be saved; Python strings as numpy's."""
    plain = classes
    if classes.dtype == object and all(isinstance(name, str) for name in classes):
        plain = classes.astype(np.str_)
    if plain.dtype.kind not in "biufUS" or plain.tolist() != classes.tolist():
        raise TypeError(
            f"Classes of type {classes.dtype} cannot be saved: fit the head with strings or whole numbers as labels."
        )
    return plain


def _plain_settings(head: Head) -> dict[str, Any]:
    settings: dict[str, Any] = head.get_params(deep=False)
    if settings["classes"] is not None:
        settings["classes"] = AS_FITTED
    if isinstance(settings.get("random_state"), np.random.RandomState):
        settings["random_state"] = None
    if isinstance(settings.get("class_weight"), Mapping):
        settings["class_weight"] = [list(pair) for pair in settings["class_weight"].items()]
    if settings.get("grid") is not None:
        grid = settings["grid"]
        settings["grid"] = _plain_part(grid) if isinstance(grid, Mapping) else list(map(_plain_part, grid))
    return settings


def _plain_part(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(values) for name, values in part.items()}


def _settings(described: object, kind: str, classes: NDArray[Any]) -> dict[str, Any]:
    """To make a head with. They matter only if it is fitted again, and then they are checked as always."""
    settings = dict(fields(described, SETTINGS_OF[kind], f"the settings of {kind}"))
    if settings["classes"] is not None:
        one_of(settings["classes"], {AS_FITTED}, "the setting classes")
        settings["classes"] = classes.tolist()
    if isinstance(settings.get("class_weight"), list):
        pairs = [some(pair, 2, "a pair of class_weight") for pair in settings["class_weight"]]
        settings["class_weight"] = {label(name, "class_weight"): value for name, value in pairs}
    return settings


# ---- SPH -------------------------------------------------------------------------------------------------------------


def _sph_to_plain(head: SPHClassifier, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    responses, rule = head.response_array_, head._rule
    arrays |= {
        "center": responses.center,
        "left": responses.left,
        "right": responses.right,
        "counts": responses.counts,
        "separation": head.separation_,
        "weights": head.weights_,
        "trusted": head.trusted_,
    }
    return {
        "certainty": head._gate,
        "distance_power": rule.power,
        "veto_distance": rule.veto_distance,
        "veto_count": rule.veto_count,
        "temperature": head.temperature_,
    }


def _sph_from_plain(head: SPHClassifier, described: object, arrays: Arrays) -> None:
    """Fill in what a head with classes lacks. A class without rows has NaN in its row, and is never pooled."""
    names = {"certainty", "distance_power", "veto_distance", "veto_count", "temperature"}
    fitted = fields(described, names, "what SPH was fitted to")
    size = len(head.classes_)
    counts = arrays.take("counts", (size,), np.int64, low=0)
    known = counts > 0
    center = arrays.take("center", (size, size), where=known)
    left, right = (arrays.take(side, (size, size), positive=True, where=known) for side in ("left", "right"))
    head.response_array_ = ResponseArray(center, left, right, counts, head.classes_)
    head.separation_ = arrays.take("separation", (size, size), low=0.0, infinite=True, where=known)
    head.weights_ = arrays.take("weights", (size, size), low=0.0)
    head.trusted_ = arrays.take("trusted", (size,), np.bool_)
    head._gate = number(fitted["certainty"], "certainty", 0.0, 1.0)
    head._rule = pooling_rule(
        head.response_array_,
        head.weights_,
        distance_power=number(fitted["distance_power"], "distance_power", 0.0),
        veto_distance=number(fitted["veto_distance"], "veto_distance", 0.0, infinite=True),
        veto_count=count(fitted["veto_count"], "veto_count", least=1),
    )
    head.temperature_ = number(fitted["temperature"], "temperature", positive=True, infinite=True)


# ---- SPH with settings chosen ----------------------------------------------------------------------------------------


def _cv_to_plain(head: SPHClassifierCV, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    return {
        "best_params": dict(head.best_params_),
        "fell_back": bool(head.fell_back_),
        "gain": head.gain_,
        "gain_interval": head.gain_interval_,
        "p_value": head.p_value_,
        "best_estimator": _sph_to_plain(head.best_estimator_, arrays),
    }


def _cv_from_plain(head: SPHClassifierCV, described: object, arrays: Arrays) -> None:
    names = {"best_params", "fell_back", "gain", "gain_interval", "p_value", "best_estimator"}
    fitted = fields(described, names, "what SPHClassifierCV was fitted to")
    head.best_params_ = dict(fields(fitted["best_params"], set(HYPERPARAMETERS), "best_params"))
    head.fell_back_ = flag(fitted["fell_back"], "fell_back")
    _report_from_plain(head, fitted)
    best = SPHClassifier(**head.best_params_, classes=head.classes)
    for known in ("classes_", "n_features_in_", "feature_names_in_"):
        if hasattr(head, known):
            setattr(best, known, getattr(head, known))
    _sph_from_plain(best, fitted["best_estimator"], arrays)
    head.best_estimator_ = best


def _report_from_plain(head: SPHClassifierCV | AutoHead, fitted: dict[str, Any]) -> None:
    """What the head is worth."""
    head.gain_ = number(fitted["gain"], "gain")
    head.gain_interval_ = _interval(fitted["gain_interval"])
    head.p_value_ = number(fitted["p_value"], "p_value", 0.0, 1.0)


def _interval(described: object) -> tuple[float, float]:
    low, high = (number(end, "an end of gain_interval") for end in some(described, 2, "gain_interval"))
    return low, high


# ---- AutoHead --------------------------------------------------------------------------------------------------------


def _auto_to_plain(head: AutoHead, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    answering: dict[str, Any] | None = None
    if isinstance(head._head, SPHClassifier):
        sph = head._head
        answering = {"settings": _plain_settings(sph), "fitted": _sph_to_plain(sph, arrays)}
    elif head._head is not None:
        answering = folded_to_plain(head._head, arrays)
    return {
        "chosen": head.chosen_,
        "gain": head.gain_,
        "gain_interval": head.gain_interval_,
        "p_value": head.p_value_,
        "candidates": [asdict(one) for one in head.candidates_.values()],
        "candidates_are_weighted": head.candidates_.weighted,
        "weights": dict(head.weights_),
        "temperature": head._temperature,
        "width_of_features": head._width,
        "head": answering,
    }


def _auto_from_plain(head: AutoHead, described: object, arrays: Arrays) -> None:
    names = {"chosen", "gain", "gain_interval", "p_value", "candidates", "candidates_are_weighted", "weights"}
    fitted = fields(described, names | {"temperature", "width_of_features", "head"}, "what AutoHead was fitted to")
    chosen = one_of(fitted["chosen"], {"softmax", "combination", "sph"}, "chosen")
    candidates = [_candidate(one) for one in some(fitted["candidates"], None, "candidates")]
    weighted = flag(fitted["candidates_are_weighted"], "candidates_are_weighted")
    head.candidates_ = Candidates(candidates, chosen, weighted=weighted)
    if len(head.candidates_) < len(candidates) or not {"softmax", chosen} <= set(head.candidates_):
        raise ValueError("candidates has some twice, or lacks softmax or the one that is chosen")
    _report_from_plain(head, fitted)
    weights = fields(fitted["weights"], None, "weights")
    head.weights_ = {
        one_of(name, {"logits", *IN_WORDS}, "a name in weights"): number(value, "a weight", 0.0)
        for name, value in weights.items()
    }
    head._temperature = number(fitted["temperature"], "temperature", positive=True)
    width = fitted["width_of_features"]
    head._width = None if width is None else count(width, "width_of_features", least=1)
    if chosen == "sph":
        head._head = _sph_of_auto(fitted["head"], arrays, len(head.classes_))
    elif chosen == "combination":
        head._head = folded_from_plain(fitted["head"], arrays, len(head.classes_), head._width)
    else:
        one_of(fitted["head"], {None}, "the head of softmax")
        head._head = None
    head.chosen_ = chosen


def _candidate(described: object) -> Candidate:
    names = {"name", "error", "gain", "gain_interval", "wins", "losses", "log_loss", "p_value"}
    one = fields(described, names, "a candidate")
    return Candidate(
        name=one_of(one["name"], IN_WORDS, "the name of a candidate"),
        error=number(one["error"], "error", 0.0, 1.0),
        gain=number(one["gain"], "gain"),
        gain_interval=_interval(one["gain_interval"]),
        wins=count(one["wins"], "wins"),
        losses=count(one["losses"], "losses"),
        log_loss=number(one["log_loss"], "log_loss", infinite=True, unknown=True),
        p_value=number(one["p_value"], "p_value", 0.0, 1.0),
    )


def _sph_of_auto(described: object, arrays: Arrays, size: int) -> SPHClassifier:
    """SPH inside AutoHead: its classes are the column numbers."""
    parts = fields(described, {"settings", "fitted"}, "the head of AutoHead")
    classes = np.arange(size)
    sph = SPHClassifier(**_settings(parts["settings"], "SPHClassifier", classes))
    sph.classes_, sph.n_features_in_ = classes, size
    _sph_from_plain(sph, parts["fitted"], arrays)
    return sph
