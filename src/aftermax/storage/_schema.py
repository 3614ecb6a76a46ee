"""What a head file of format 3 says of an estimator: its parameters, its report, its classes and its fitted head."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.kept_samples import KeptSamples
from aftermax._heads.protocol import InputShape, State
from aftermax._heads.reference import Reference
from aftermax._priors.adaptation import Adaptation
from aftermax._priors.labelled import LabelledSummary
from aftermax._utils.untrusted import Arrays, count, fields, flag, label, number, one_of, plain, shown, some, texts
from aftermax.answers.kinds import KINDS, LOGITS
from aftermax.answers.pairs import MAX_SCORE
from aftermax.answers.scores import AnswerFormat
from aftermax.auto.head import AutoHead
from aftermax.auto.kinds import FITTED_HEADS
from aftermax.auto.softmax import SoftmaxClassifier
from aftermax.decide.decider import Decider
from aftermax.sph.classifier import SPHClassifier
from aftermax.sph.classifier_cv import SPHClassifierCV
from aftermax.sph.hyperparameters import HYPERPARAMETERS
from aftermax.storage._reports import REPORTS

Head = AutoHead | SPHClassifier | SPHClassifierCV | SoftmaxClassifier | Decider
ESTIMATORS: dict[str, type[Head]] = {
    one.__name__: one for one in (AutoHead, SPHClassifier, SPHClassifierCV, SoftmaxClassifier, Decider)
}
COLUMN_FIELDS = {"classes_are_objects", "feature_names", "features_width"}
FIELDS = {"estimator", "parameters", "report", "reference", "head"} | COLUMN_FIELDS
BY_CLASS = ("class_weight", "class_prior")  # parameters that may be dicts with the classes as keys: lists of pairs
ONE_LOGIT = "one_logit"  # an optional field: whether the head takes one logit, the log-odds of the second class
LABELLED = "labelled"  # an optional field: what adapt_priors needs of the labelled samples
KEPT = "kept"  # an optional field: how many samples a head that can be updated has kept, of how many
ADAPTATION = "adaptation"  # an optional field: what adapt_priors found
ANSWERS = "answers"  # an optional field: how answers become logits, if the head was fitted on answers
AS_FITTED = "as fitted"  # the parameters ``classes`` and ``costs``, if they were given
COSTS = "costs"  # the array of a Decider's costs


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
        **({} if head.answer_format_ is None else {ANSWERS: head.answer_format_._asdict()}),
        **({} if head.adaptation_ is None else {ADAPTATION: head.adaptation_.to_state()}),
        "report": REPORTS[type(head)].written(head),
        "reference": None if head.reference_ is None else head.reference_.to_state(),
        "head": {"kind": fitted.kind, **state.values},
    }
    arrays = {"classes": _plain_classes(head.classes_), **state.arrays}
    costs = getattr(head, "costs_", None)
    if costs is not None:
        arrays[COSTS] = costs
    if head.labelled_summary_ is not None:
        values[LABELLED], its_arrays = head.labelled_summary_.to_state()
        arrays |= its_arrays
    if head.kept_samples_ is not None:
        values[KEPT], kept_arrays = head.kept_samples_.to_state()
        arrays |= kept_arrays
    return State(values, arrays)


def from_content(content: State) -> Head:
    """The estimator again, fitted. A ValueError says what is wrong, if anything is."""
    one_logit = flag(content.values.pop(ONE_LOGIT, False), ONE_LOGIT)
    answers, labelled, adaptation, kept = (
        content.values.pop(name, None) for name in (ANSWERS, LABELLED, ADAPTATION, KEPT)
    )
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
    head.answer_format_ = None if answers is None else _answer_format(answers)
    width = described["features_width"]
    head.features_width_ = None if width is None else count(width, "features_width", least=1)
    reference = described["reference"]
    head.reference_ = None if reference is None else Reference.from_state(reference, len(classes))
    if isinstance(head, Decider):
        head.costs_ = None if head.costs is None else arrays.take(COSTS, (len(classes),) * 2)
        head.costs = head.costs_
    report = REPORTS[type(head)]
    values = dict(fields(described["head"], None, "the head"))
    kind = one_of(values.pop("kind", None), report.kinds, "the kind of head")
    shape = InputShape(classes, head.features_width_)
    head.fitted_head_ = FITTED_HEADS[kind].from_state(values, arrays, shape)
    report.read(head, described["report"])
    if labelled is not None:
        head.labelled_summary_ = LabelledSummary.from_state(labelled, arrays, len(classes))
    if kept is not None:
        head.kept_samples_ = KeptSamples.from_state(kept, arrays, len(classes))
    if adaptation is not None:
        head.adaptation_ = Adaptation.from_state(adaptation, classes)
    arrays.all_taken()
    return head


def _answer_format(described: object) -> AnswerFormat:
    named = fields(described, set(AnswerFormat._fields), "the note about answers")
    kind = one_of(named["kind"], KINDS, "the kind of answers")
    most = MAX_SCORE if kind == LOGITS else 0.0
    return AnswerFormat(kind, number(named["floor"], "the floor", -MAX_SCORE, most))


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
    if not isinstance(parameters.get("cv"), Integral | None):
        parameters["cv"] = None
    for name in BY_CLASS:
        if isinstance(parameters.get(name), Mapping):
            parameters[name] = [list(pair) for pair in parameters[name].items()]
    if not isinstance(parameters.get("class_prior"), list | None):
        parameters["class_prior"] = np.asarray(parameters["class_prior"]).tolist()
    if isinstance(head, Decider):
        parameters |= _plain_decider(head)
    grid = parameters.get("grid")
    if grid is not None:
        parameters["grid"] = _plain_part(grid) if isinstance(grid, Mapping) else list(map(_plain_part, grid))
    return parameters


def _plain_decider(head: Decider) -> dict[str, Any]:
    """The parameters of a Decider that are no plain values. A metric that is a callable is not saved."""
    inner = head.head
    return {
        "costs": None if head.costs is None else AS_FITTED,
        "metric": head.metric if isinstance(head.metric, str) else None,
        "head": None if inner is None else {"estimator": type(inner).__name__, "parameters": _plain_parameters(inner)},
    }


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
    if parameters.get("costs") is not None:
        one_of(parameters["costs"], {AS_FITTED}, "the parameter costs")
    if parameters.get("head") is not None:
        inner = fields(parameters["head"], {"estimator", "parameters"}, "the parameter head")
        kind = ESTIMATORS[one_of(inner["estimator"], set(ESTIMATORS) - {estimator.__name__}, "the inner estimator")]
        parameters["head"] = kind(**_parameters(inner["parameters"], kind, classes))
    for name in BY_CLASS:
        given = parameters.get(name)
        if not isinstance(given, list | str | None):
            raise ValueError(f"the parameter {name} is {shown(given)}, which is not possible")
        if isinstance(given, list) and not any(isinstance(one, Real) for one in given):
            pairs = [some(pair, 2, f"a pair of {name}") for pair in given]
            parameters[name] = {label(key, name): plain(value, name) for key, value in pairs}
        elif isinstance(given, list):
            parameters[name] = [plain(one, name) for one in given]
    if parameters.get("grid") is not None:
        _check_grid(parameters["grid"])
    for name in set(parameters) - {"classes", "head", "grid", *BY_CLASS}:
        plain(parameters[name], f"the parameter {name}")
    return parameters


def _check_grid(grid: object) -> None:
    """Refuse what is not a grid of SPH's hyperparameters."""
    for part in [grid] if isinstance(grid, dict) else some(grid, None, "the parameter grid"):
        for name, values in fields(part, None, "a part of the parameter grid").items():
            one_of(name, HYPERPARAMETERS, "a hyperparameter in grid")
            for value in some(values, None, f"{name} in grid"):
                plain(value, f"{name} in grid")
