"""What a head file of format 2 says of an estimator: its parameters, its report, its classes and its fitted head."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.protocol import InputShape, State
from aftermax._utils.untrusted import Arrays, count, fields, flag, label, number, one_of, some, texts
from aftermax.auto.candidates import DESCRIPTIONS, Candidate, Candidates
from aftermax.auto.head import AutoHead
from aftermax.auto.kinds import FITTED_HEADS
from aftermax.sph.classifier import SPHClassifier
from aftermax.sph.classifier_cv import SPHClassifierCV

Head = AutoHead | SPHClassifier | SPHClassifierCV
ESTIMATORS: dict[str, type[Head]] = {one.__name__: one for one in (AutoHead, SPHClassifier, SPHClassifierCV)}
FIELDS = {"estimator", "parameters", "classes_are_objects", "feature_names", "features_width", "report", "head"}
ONE_LOGIT = "one_logit"  # an optional field: whether the head takes one logit, the log-odds of the second class
AS_FITTED = "as fitted"  # the parameter ``classes``, if it was given


def to_content(head: Head) -> State:
    """A fitted estimator as plain values and arrays."""
    fitted = head.fitted_head_
    state = fitted.to_state()
    names = getattr(head, "feature_names_in_", None)
    values = {
        "estimator": type(head).__name__,
        "parameters": _plain_parameters(head),
        "classes_are_objects": head.classes_.dtype == object,
        "feature_names": None if names is None else list(map(str, names)),
        "features_width": head.features_width_,
        **({ONE_LOGIT: True} if head.n_features_in_ == 1 else {}),
        "report": REPORTS[type(head)].written(head),
        "head": {"kind": fitted.kind, **state.values},
    }
    return State(values, {"classes": _plain_classes(head.classes_), **state.arrays})


def from_content(content: State) -> Head:
    """The estimator again, fitted. A ValueError says what is wrong, if anything is."""
    one_logit = flag(content.values.pop(ONE_LOGIT, False), ONE_LOGIT)
    described = fields(content.values, FIELDS, "the description")
    name = one_of(described["estimator"], ESTIMATORS, "the estimator")
    arrays = Arrays(content.arrays)
    classes = arrays.classes("classes", objects=flag(described["classes_are_objects"], "classes_are_objects"))
    head = ESTIMATORS[name](**_parameters(described["parameters"], ESTIMATORS[name], classes))
    if one_logit and len(classes) != 2:
        raise ValueError(f"one_logit is true, but there are {len(classes)} classes")
    head.classes_, head.n_features_in_ = classes, 1 if one_logit else len(classes)
    if described["feature_names"] is not None:
        head.feature_names_in_ = texts(described["feature_names"], head.n_features_in_, "feature_names")
    width = described["features_width"]
    head.features_width_ = None if width is None else count(width, "features_width", least=1)
    report = REPORTS[type(head)]
    values = dict(fields(described["head"], None, "the head"))
    kind = one_of(values.pop("kind", None), report.kinds, "the kind of head")
    shape = InputShape(classes, head.features_width_)
    head.fitted_head_ = FITTED_HEADS[kind].from_state(values, arrays, shape)
    report.read(head, described["report"])
    arrays.all_taken()
    return head


# ---- classes and parameters ------------------------------------------------------------------------------------------


def _plain_classes(classes: NDArray[Any]) -> NDArray[Any]:
    """The classes as an array that can be saved; Python strings as numpy's."""
    plain = classes
    if classes.dtype == object and all(isinstance(name, str) for name in classes):
        plain = classes.astype(np.str_)
    if plain.dtype.kind not in "biufUS" or plain.tolist() != classes.tolist():
        raise TypeError(
            f"Classes of type {classes.dtype} cannot be saved: fit the head with strings or integers as labels."
        )
    return plain


def _plain_parameters(head: Head) -> dict[str, Any]:
    parameters: dict[str, Any] = head.get_params(deep=False)
    if parameters["classes"] is not None:
        parameters["classes"] = AS_FITTED
    if isinstance(parameters.get("random_state"), np.random.RandomState):
        parameters["random_state"] = None
    if isinstance(parameters.get("class_weight"), Mapping):
        parameters["class_weight"] = [list(pair) for pair in parameters["class_weight"].items()]
    grid = parameters.get("grid")
    if grid is not None:
        parameters["grid"] = _plain_part(grid) if isinstance(grid, Mapping) else list(map(_plain_part, grid))
    return parameters


def _plain_part(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(values) for name, values in part.items()}


def _parameters(described: object, estimator: type[Head], classes: NDArray[Any]) -> dict[str, Any]:
    """To construct the estimator with. They matter only if it is fitted again, and ``fit`` checks them as always.

    A parameter that is missing has its default: it was added to aftermax after the file was written.
    """
    parameters = dict(fields(described, None, f"the parameters of {estimator.__name__}"))
    unknown = sorted(set(parameters) - set(estimator().get_params(deep=False)))
    if unknown:
        raise ValueError(f"{estimator.__name__} has no parameter {', '.join(map(repr, unknown[:5]))}")
    if parameters.get("classes") is not None:
        one_of(parameters["classes"], {AS_FITTED}, "the parameter classes")
        parameters["classes"] = classes.tolist()
    if isinstance(parameters.get("class_weight"), list):
        pairs = [some(pair, 2, "a pair of class_weight") for pair in parameters["class_weight"]]
        parameters["class_weight"] = {label(name, "class_weight"): value for name, value in pairs}
    return parameters


# ---- reports ---------------------------------------------------------------------------------------------------------


class Report(NamedTuple):
    """How an estimator's attributes about itself are written and read, and which kinds of fitted head it may hold."""

    kinds: tuple[str, ...]
    written: Callable[[Any], dict[str, Any]]
    read: Callable[[Any, object], None]


def _written_gain(head: Any) -> dict[str, Any]:
    return {"gain": head.gain_, "gain_interval": head.gain_interval_, "p_value": head.p_value_}


def _read_gain(head: Any, named: Mapping[str, Any]) -> None:
    head.gain_ = number(named["gain"], "gain")
    head.gain_interval_ = _interval(named["gain_interval"])
    head.p_value_ = number(named["p_value"], "p_value", 0.0, 1.0)


def _interval(described: object) -> tuple[float, float]:
    low, high = (number(end, "an end of gain_interval") for end in some(described, 2, "gain_interval"))
    return low, high


def _read_sph(head: SPHClassifier, described: object) -> None:
    fields(described, set(), "the report of SPHClassifier")


def _written_cv(head: SPHClassifierCV) -> dict[str, Any]:
    return _written_gain(head) | {"fell_back": bool(head.fell_back_)}


def _read_cv(head: SPHClassifierCV, described: object) -> None:
    named = fields(described, {"gain", "gain_interval", "p_value", "fell_back"}, "the report of SPHClassifierCV")
    _read_gain(head, named)
    head.fell_back_ = flag(named["fell_back"], "fell_back")
    head.best_params_ = dict(head.fitted_head_.hyperparameters)


def _written_auto(head: AutoHead) -> dict[str, Any]:
    return _written_gain(head) | {
        "candidates": [asdict(one) for one in head.candidates_.values()],
        "candidates_are_weighted": head.candidates_.weighted,
        "weights": dict(head.weights_),
    }


def _read_auto(head: AutoHead, described: object) -> None:
    names = {"gain", "gain_interval", "p_value", "candidates", "candidates_are_weighted", "weights"}
    named = fields(described, names, "the report of AutoHead")
    _read_gain(head, named)
    head.chosen_ = head.fitted_head_.kind
    candidates = [_candidate(one) for one in some(named["candidates"], None, "candidates")]
    weighted = flag(named["candidates_are_weighted"], "candidates_are_weighted")
    head.candidates_ = Candidates(candidates, head.chosen_, weighted=weighted)
    if len(head.candidates_) < len(candidates) or not {"softmax", head.chosen_} <= set(head.candidates_):
        raise ValueError("candidates has some twice, or lacks softmax or the one that is chosen")
    head.weights_ = {
        one_of(name, {"logits", *DESCRIPTIONS}, "a name in weights"): number(value, "a weight", 0.0)
        for name, value in fields(named["weights"], None, "weights").items()
    }


def _candidate(described: object) -> Candidate:
    names = {"name", "error", "gain", "gain_interval", "wins", "losses", "log_loss", "p_value"}
    named = fields(described, names, "a candidate")
    return Candidate(
        name=one_of(named["name"], {*DESCRIPTIONS, *FITTED_HEADS}, "the name of a candidate"),
        error=number(named["error"], "error", 0.0, 1.0),
        gain=number(named["gain"], "gain"),
        gain_interval=_interval(named["gain_interval"]),
        wins=count(named["wins"], "wins"),
        losses=count(named["losses"], "losses"),
        log_loss=number(named["log_loss"], "log_loss", infinite=True, unknown=True),
        p_value=number(named["p_value"], "p_value", 0.0, 1.0),
    )


REPORTS: dict[type[Head], Report] = {
    SPHClassifier: Report(("sph",), lambda head: {}, _read_sph),
    SPHClassifierCV: Report(("sph",), _written_cv, _read_cv),
    AutoHead: Report(tuple(FITTED_HEADS), _written_auto, _read_auto),
}
