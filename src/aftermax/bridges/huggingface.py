"""Hugging Face: the logits of a pipeline, and a pipeline with a fitted head. Needs the ``huggingface`` extra."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence, Sized
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

try:
    import torch
    from torch import Tensor, nn
    from transformers import AudioClassificationPipeline, ImageClassificationPipeline, TextClassificationPipeline
except ImportError as error:
    raise ImportError("Heads in pipelines need transformers and torch: pip install 'aftermax[huggingface]'") from error

from aftermax._utils.progress import Progress
from aftermax._utils.text import listed
from aftermax._utils.validation import as_logits
from aftermax.bridges._collect_logits import as_array, concatenated
from aftermax.bridges._formula import Formula, formula_of
from aftermax.bridges._torch_layer_features import LayersFeatures
from aftermax.bridges._torch_run import in_eval_mode
from aftermax.bridges.torch import Head

__all__ = ["PipelineLogits", "attach", "pipeline_logits"]

PIPELINES = (TextClassificationPipeline, ImageClassificationPipeline, AudioClassificationPipeline)
NOT_ONE_OF_SEVERAL = {
    "multi_label_classification": "a sample may have several labels",
    "regression": "its outputs are not classes",
}


class PipelineLogits(NamedTuple):
    """Logits and features of a pipeline's inputs, in their order."""

    logits: NDArray[Any]  # (n_samples, n_classes), or (n_samples, 1) of a binary model with one logit
    classes: NDArray[Any] | None  # the model's label of each column; None of a model with one logit
    features: NDArray[Any] | None  # (n_samples, n_features); None if no layer was named


def pipeline_logits(
    pipeline: Any,
    inputs: Iterable[Any],
    *,
    layer: str | Sequence[str] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> PipelineLogits:
    """Run a pipeline once over its inputs and collect the logits of its model.

    The model runs in eval mode and without gradients.

    Parameters
    ----------
    pipeline : transformers.Pipeline
        A pipeline for text, image or audio classification.
    inputs : iterable
        Texts, images or whatever else the pipeline takes, one for each sample.
    layer : str or list of str, default=None
        Also collect features from the layer of this name, as :func:`~aftermax.bridges.torch.collect_logits` does. For
        BERT and DistilBERT, ``layer="classifier"`` is the last hidden layer; for RoBERTa, ``"classifier.out_proj"``.
    progress : bool, default=None
        Whether to show a progress bar. If None, only on a terminal, and only if it takes longer than two seconds.
    **options
        Passed to the pipeline, such as ``batch_size=32`` or ``truncation=True``.

    Returns
    -------
    PipelineLogits
        ``logits``, ``classes`` (the model's ``id2label``, in the order of the columns) and ``features``.

    Examples
    --------
    >>> import aftermax
    >>> from aftermax.bridges.huggingface import pipeline_logits
    >>> from transformers import pipeline
    >>> classifier = pipeline("text-classification", model="your/model")  # doctest: +SKIP
    >>> scores = pipeline_logits(classifier, texts, batch_size=32)  # doctest: +SKIP
    >>> head = aftermax.fit(scores.logits, labels, classes=scores.classes)  # doctest: +SKIP
    """
    classes = _labels_of(pipeline)
    if isinstance(inputs, str | dict):
        raise TypeError("inputs is a single sample: pass a list of samples.")
    logits: list[NDArray[Any]] = []
    features: list[NDArray[Any]] = []

    def record(batch_logits: Tensor, of_layers: list[Tensor]) -> Tensor:
        logits.append(as_array(batch_logits))
        features.extend([np.hstack([as_array(values) for values in of_layers])] if of_layers else [])
        return batch_logits

    recording = _with_forward(pipeline, layer, record)
    n_samples = len(inputs) if isinstance(inputs, Sized) else None
    with Progress("Running the model", n_samples, progress) as bar:
        for _ in recording((one for one in inputs), **options):  # a generator: the pipeline takes it for many samples
            bar.step()
    if not logits:
        raise ValueError("There are no inputs: pass at least one sample. (A generator can be used only once.)")
    all_logits = concatenated(logits, "logits")
    as_logits(all_logits, strict=False)  # warns of probabilities; one logit stays one column
    return PipelineLogits(all_logits, classes, concatenated(features, "features") if features else None)


def attach(pipeline: Any, head: Any, *, layer: str | Sequence[str] | None = None) -> Any:
    """Attach a fitted head to a pipeline: a copy with the predictions and the probabilities of the head.

    The copy is a pipeline of the same class. It takes the same arguments (``top_k``, ``batch_size``, ``truncation``
    and so on), returns the same format, with the model's own labels, and shares the model, which is not changed.
    ``save_pretrained`` saves the model only: save the head with :func:`aftermax.save`.

    The model runs in eval mode. Scores are probabilities, in float32 for texts; with ``function_to_apply="none"`` they
    are log-probabilities. As from the pipeline itself, a model with one logit gets the probability of the second class.

    Parameters
    ----------
    pipeline : transformers.Pipeline
        A pipeline for text, image or audio classification. It is not changed.
    head : AutoHead, SPHClassifier or SPHClassifierCV
        A head that was fitted on the logits of the pipeline's model. Its classes are the model's labels or their
        numbers, in the order of the model's ``id2label``.
    layer : str or list of str, default=None
        The layer that features were collected from, if the head was fitted with features. Then do not use the pipeline
        in several threads.

    Returns
    -------
    transformers.Pipeline
        The copy with the head.

    Examples
    --------
    >>> import aftermax
    >>> from aftermax.bridges.huggingface import attach
    >>> from transformers import pipeline
    >>> classifier = pipeline("text-classification", model="your/model")  # doctest: +SKIP
    >>> better = attach(classifier, aftermax.load("head.npz"))  # doctest: +SKIP
    >>> better("Shares fell after the bank raised its rates.")  # doctest: +SKIP
    [{'label': 'finance', 'score': 0.93}]
    """
    labels = _labels_of(pipeline)
    formula = formula_of(head)
    _check_classes(formula, labels)
    if layer is None and formula.width is not None:
        raise ValueError(
            f"This head was fitted with {formula.width} features: name the layer that they are from, "
            "attach(pipeline, head, layer=...)."
        )
    if layer is not None and formula.width is None:
        raise ValueError("This head was fitted without features: leave out layer, attach(pipeline, head).")
    return _with_forward(pipeline, layer, partial(_apply_head, Head(formula).eval()))


def _apply_head(head: Head, logits: Tensor, features: list[Tensor]) -> Tensor:
    """Logits whose softmax, or sigmoid if there is one, is what the head predicts."""
    with torch.inference_mode():
        logs: Tensor = head(logits, features or None)
        return logs if logits.shape[1] > 1 else logs[:, 1:] - logs[:, :1]


# ---- between a pipeline's model and what it makes of the logits ------------------------------------------------------


def _with_forward(pipeline: Any, layer: Any, process: Callable[[Tensor, list[Tensor]], Tensor]) -> Any:
    """A copy of a pipeline that goes on with what ``process`` returns for the logits and features of a batch."""
    if layer is not None and not isinstance(pipeline.model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module to have layers, got {type(pipeline.model).__name__}.")
    changed = copy.copy(pipeline)
    changed.forward = _Forward(pipeline, LayersFeatures(pipeline.model, layer), process)
    return changed


class _Forward:
    """In place of a pipeline's ``forward``, which runs the model on a batch and returns its outputs on the CPU."""

    def __init__(
        self, pipeline: Any, layers: LayersFeatures, process: Callable[[Tensor, list[Tensor]], Tensor]
    ) -> None:
        self.pipeline, self.layers, self.process = pipeline, layers, process

    def __call__(self, model_inputs: Any, **options: Any) -> Any:
        model = self.pipeline.model
        with self.layers, in_eval_mode(model) if isinstance(model, nn.Module) else nullcontext():
            outputs = self.pipeline.forward(model_inputs, **options)
        logits = outputs["logits"]
        features = [values.cpu() for values in self.layers.of_last_batch(logits)]
        outputs["logits"] = self.process(logits, features)
        return outputs


# ---- checks ----------------------------------------------------------------------------------------------------------


def _labels_of(pipeline: Any) -> NDArray[Any] | None:
    """The label of each column of the logits; None if there is a single column."""
    if not isinstance(pipeline, PIPELINES):
        raise TypeError(f"pipeline is a {type(pipeline).__name__}: {_instead(pipeline)}")
    if isinstance(vars(pipeline).get("forward"), _Forward):
        raise ValueError("This pipeline has a head already: pass the one that the head was attached to.")
    config: Any = pipeline.model.config
    reason = NOT_ONE_OF_SEVERAL.get(getattr(config, "problem_type", None) or "")
    if reason is not None:
        raise ValueError(
            f"The model's config has problem_type={config.problem_type!r}: {reason}, and a head predicts one of "
            "several classes."
        )
    labels = [config.id2label[number] for number in range(config.num_labels)]
    return np.array(labels) if len(labels) > 1 else None


def _instead(pipeline: Any) -> str:
    if type(pipeline).__name__.startswith("ZeroShot"):
        return (
            "its classes are those of each call. Choose candidate_labels once, and fit a head on "
            "aftermax.scores_from_top_k(answers), where answers is what the pipeline returns for a list of texts."
        )
    if isinstance(pipeline, nn.Module):
        return (
            "pass transformers.pipeline('text-classification', model=model, tokenizer=tokenizer), or use "
            "aftermax.bridges.torch.collect_logits(model, loader)."
        )
    return "pass one of transformers for text-classification, image-classification or audio-classification."


def _check_classes(formula: Formula, labels: NDArray[Any] | None) -> None:
    """Check that the head's columns are those of the model."""
    n_columns = 1 if labels is None else len(labels)
    if formula.logits_width != n_columns:
        raise ValueError(
            f"The head was fitted on logits with {formula.logits_width} columns, but the model has {n_columns}: pass "
            "the pipeline with the model that it was fitted on."
        )
    if labels is None:
        return
    classes = formula.classes.tolist()
    if classes in (labels.tolist(), list(range(n_columns))):
        return
    both = f"The head's classes are {listed(classes)}, but the model's labels are {listed(labels.tolist())}"
    if sorted(map(str, classes)) == sorted(map(str, labels)):
        raise ValueError(
            f"{both}, in this order. So the head took columns for those of other classes: fit it again with "
            "classes=scores.classes, where scores is what pipeline_logits returns."
        )
    raise ValueError(
        f"{both}. Fit the head on these labels, with classes=scores.classes, where scores is what pipeline_logits "
        f"returns, or on their numbers 0 to {n_columns - 1}. Or name the model's labels, if the head's classes are in "
        "their order: pipeline.model.config.id2label = dict(enumerate(head.classes_.tolist()))."
    )
