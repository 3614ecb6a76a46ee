"""What AutoHead, SPHClassifier and SPHClassifierCV share: checked input, one fitted head, and its predictions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags

from aftermax._heads.kept_samples import KeptSamples
from aftermax._heads.reference import Reference
from aftermax._priors.adaptation import Adaptation
from aftermax._priors.labelled import LabelledSummary
from aftermax._utils.labelled_samples import LabelledSamples, labelled_samples
from aftermax._utils.labels import check_column_order
from aftermax._utils.validation import as_features, as_logits
from aftermax.answers.scores import AnswerFormat, TopKScores, warn_if_untold


class HeadEstimator(ClassifierMixin, BaseEstimator):
    """A classifier on logits that predicts with the fitted head it holds."""

    _fits_any_precision: ClassVar[bool] = False  # whether fit takes many logits in float16 and float32 as they are
    fitted_head_: Any  # a FittedHead
    classes_: NDArray[Any]
    features_width_: int | None = None
    reference_: Reference | None = None
    answer_format_: AnswerFormat | None = None
    labelled_summary_: LabelledSummary | None = None
    adaptation_: Adaptation | None = None
    kept_samples_: KeptSamples | None = None

    def _checked(self, X: ArrayLike, y: ArrayLike) -> LabelledSamples:
        """Logits and labels, checked. It sets ``classes_``, ``reference_`` and what is known of the columns.

        The logits are finite and in float64. If they are many and ``_fits_any_precision``, they are X itself, not
        copied, in float16, float32 or float64: see :mod:`aftermax._utils.large`.
        """
        samples = labelled_samples(X, y, self.classes, self, any_precision=self._fits_any_precision, stacklevel=5)
        self.classes_, self.reference_ = samples.classes, Reference.of(samples.logits)
        self.answer_format_ = self.labelled_summary_ = self.adaptation_ = self.kept_samples_ = None
        if isinstance(X, TopKScores):
            self.answer_format_ = X.format
            warn_if_untold(X, samples.codes, stacklevel=4)
        return samples

    def _inputs(self, X: ArrayLike, features: ArrayLike | None = None) -> list[NDArray[Any]]:
        """Logits and features, if there are any, checked. Called by what users call: warnings point at their line."""
        if isinstance(X, TopKScores) and hasattr(self, "fitted_head_"):
            self._check_answers(X.format)
        logits = as_logits(X, self, reset=False, stacklevel=4)
        if not hasattr(self, "feature_names_in_"):  # else scikit-learn has compared the columns with these
            check_column_order(getattr(X, "columns", None), self.classes_)
        width = self.features_width_
        if features is not None and width is None:
            raise ValueError("This head was fitted without features: pass logits only.")
        if features is None and width is not None and self.fitted_head_.uses_features:
            raise ValueError(f"This head was fitted with features: pass those of these samples too ({width} columns).")
        return [logits] if features is None else [logits, as_features(features, len(logits), width)]

    def _check_answers(self, given: AnswerFormat) -> None:
        """Refuse answers that were not read as those that the head was fitted on."""
        own = self.answer_format_
        if own is not None and given != own:
            raise ValueError(
                f"These answers were read as {given.kind} with floor {given.floor:g}, those that the head was fitted "
                f"on as {own.kind} with floor {own.floor:g}: read them with scores_from_top_k(answers, like=head)."
            )

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Logits, as given to :meth:`fit`.
        """
        inputs = self._inputs(X)
        return np.asarray(self.classes_[self.fitted_head_.predict(inputs)])

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Calibrated probabilities of the classes; the largest is always at the class that :meth:`predict` gives.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Logits, as given to :meth:`fit`.
        """
        inputs = self._inputs(X)
        return np.asarray(self.fitted_head_.predict_proba(inputs))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_head_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Columns that are not the responses to one class each, as in scikit-learn's own checks, predict poorly.
        tags.classifier_tags.poor_score = True
        return tags
