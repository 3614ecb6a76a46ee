"""A classifier of scikit-learn as a fitted head: it predicts, and cannot be saved or exported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.formula import ArrayOperations, Constants, Plan
from aftermax._heads.protocol import Inputs, InputShape, State
from aftermax._utils.text import listed
from aftermax._utils.untrusted import Arrays
from aftermax._utils.validation import compute_ready


@dataclass(frozen=True)
class ClassifierHead:
    """Any fitted classifier with ``predict_proba`` on logits; it knows some or all of the classes of the columns."""

    kind: ClassVar[str] = "classifier"
    classifier: Any
    columns: tuple[int, ...]  # of the classifier's own classes
    n_classes: int

    @classmethod
    def of(cls, classifier: Any, classes: NDArray[Any]) -> Self:
        """From a fitted classifier, whose classes may be fewer than those of the columns."""
        numbers = {name: j for j, name in enumerate(classes.tolist())}
        own = np.asarray(classifier.classes_).tolist()
        unknown = [name for name in own if name not in numbers]
        if unknown:
            raise ValueError(
                f"{type(classifier).__name__} predicts {listed(unknown)}, not among the classes "
                f"({listed(classes.tolist())})."
            )
        return cls(classifier, tuple(numbers[name] for name in own), len(classes))

    @property
    def uses_features(self) -> bool:
        """Whether the classifier takes features besides the logits."""
        return "features" in signature(self.classifier.predict_proba).parameters

    def predict(self, inputs: Inputs) -> NDArray[np.int64]:
        """The most probable class."""
        return np.asarray(self.predict_proba(inputs).argmax(axis=1))

    def predict_proba(self, inputs: Inputs) -> NDArray[np.float64]:
        """The classifier's probabilities, 0 for classes that it does not know."""
        out = np.zeros((len(inputs[0]), self.n_classes))
        features = {"features": inputs[1]} if len(inputs) > 1 and self.uses_features else {}
        out[:, list(self.columns)] = self.classifier.predict_proba(compute_ready(inputs[0]), **features)
        return out

    def to_state(self) -> State:
        """Refused: it is not aftermax that knows what the classifier consists of."""
        self._refuse("saved")

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Arrays, shape: InputShape) -> Self:
        """Refused: no file holds such a head."""
        raise ValueError("it holds a classifier, which no head file can")

    def formula(self) -> tuple[Plan, dict[str, NDArray[Any]]]:
        """Refused, as :meth:`to_state`."""
        self._refuse("exported")

    @staticmethod
    def evaluate(plan: Plan, ops: ArrayOperations, constants: Constants, inputs: Sequence[Any]) -> tuple[Any, Any]:
        """Refused: there is no formula."""
        raise TypeError("A classifier has no formula.")

    def _refuse(self, what: str) -> NoReturn:
        raise TypeError(
            f"A Decider with a {type(self.classifier).__name__} cannot be {what}: use a head of aftermax, such as "
            "AutoHead() or SoftmaxClassifier()."
        )
