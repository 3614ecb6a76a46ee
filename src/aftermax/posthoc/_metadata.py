"""Which part of a PostHocClassifier gets which metadata, with scikit-learn's metadata routing and without it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

from aftermax._utils.text import listed, shortened

_IT = {"sample_weight": "it", "groups": "them"}


def routing_enabled() -> bool:
    """Whether scikit-learn's metadata routing is enabled."""
    return bool(get_config()["enable_metadata_routing"])


def metadata_router(owner: Any, head: Any, estimator: Any, cv: Any) -> MetadataRouter:
    """Route metadata to the head and, if the estimator is fitted here (it is not None), to it and to the splitter."""
    to_head = MethodMapping()
    for name in ("fit", "predict", "predict_proba"):
        to_head.add(caller=name, callee=name)
    router = MetadataRouter(owner=owner).add(head=head, method_mapping=to_head)
    if estimator is not None:
        router.add(estimator=estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        router.add(splitter=cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
    return router


def route(owner: Any, caller: str, params: dict[str, Any]) -> Bunch:
    """Return the metadata of each part's methods. Without metadata routing there must be none."""
    if routing_enabled():
        return process_routing(owner, caller, **params)
    if params:
        raise TypeError(
            f"{caller} got {listed(list(params))}, which is passed on to the parts with metadata routing only: "
            "sklearn.set_config(enable_metadata_routing=True)."
        )
    return Bunch(estimator=Bunch(fit={}), splitter=Bunch(split={}), head=Bunch(fit={}, predict={}, predict_proba={}))


def route_fit(
    owner: Any,
    head: Any,
    estimator: Any,
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None,
    params: dict[str, Any],
) -> Bunch:
    """Return the metadata of each part for ``fit``.

    Without metadata routing, weights go to all parts that take them, and groups to the head and the splitter.
    ``estimator`` is None if it is not fitted here.
    """
    passed = {"sample_weight": sample_weight, "groups": groups}
    given = {name: values for name, values in passed.items() if values is not None}
    for name, values in given.items():
        if np.asarray(values).ndim == 0:
            raise ValueError(f"{name} is {shortened(repr(values), 40)}: pass an array with a value for each sample.")
    if routing_enabled():
        return route(owner, "fit", params | given)
    routed = route(owner, "fit", params)
    for name, values in given.items():
        if not has_fit_parameter(head, name):
            raise TypeError(
                f"{type(head).__name__}.fit takes no {name}: leave {_IT[name]} out, or the head, for AutoHead()."
            )
        routed.head.fit[name] = np.asarray(values)
    if groups is not None:
        routed.splitter.split["groups"] = np.asarray(groups)
    if sample_weight is not None and estimator is not None:
        _route_weights(routed, estimator, np.asarray(sample_weight))
    return routed


def _route_weights(routed: Bunch, estimator: Any, weights: NDArray[Any]) -> None:
    """Weights for the estimator, if it takes them."""
    if has_fit_parameter(estimator, "sample_weight"):
        routed.estimator.fit["sample_weight"] = weights
        return
    warnings.warn(
        f"{type(estimator).__name__}.fit takes no sample_weight: the head weights the samples, the model does not. "
        "Metadata routing can pass weights to a step of a pipeline.",
        UserWarning,
        stacklevel=4,
    )
