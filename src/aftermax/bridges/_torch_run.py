"""Run a frozen PyTorch model on one batch of inputs, in eval mode; errors name what in the batch does not fit."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import nn


@contextmanager
def in_eval_mode(model: nn.Module) -> Iterator[None]:
    """Put every module in eval mode, and afterwards back in the mode that it was in."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        for module, _ in modes:
            module.training = False
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def run(model: nn.Module, inputs: Any, number: int) -> Any:
    """The model's output for the inputs of a batch: a tensor, a list of arguments, or a dictionary of them by name."""
    args, kwargs = _arguments(model, inputs, number)
    try:
        return model(*args, **kwargs)
    except Exception as error:
        names = _not_tensors(inputs)
        if not names:
            raise
        raise TypeError(
            f"The model fails on batch {number}, in which {', '.join(names)} is no tensor ({type(error).__name__}: "
            f"{error}). Pass tensors; for a text model of Hugging Face, tokenize the texts and pass a DataLoader with "
            "collate_fn=DataCollatorWithPadding(tokenizer)."
        ) from error


def _arguments(model: nn.Module, inputs: Any, number: int) -> tuple[list[Any], dict[str, Any]]:
    if not isinstance(inputs, dict):
        return (inputs if isinstance(inputs, list) else [inputs]), {}
    known = _parameters_of(model)
    unknown = [name for name in inputs if name not in known]
    if unknown and len(inputs) == 1:
        return list(inputs.values()), {}  # a single input may have any name
    if unknown and not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values()):
        raise ValueError(
            f"Batch {number} has {', '.join(map(repr, unknown))}, but the model takes only "
            f"{', '.join(map(repr, known))}. Leave out what it does not take: collect_logits(model, ({{name: "
            f"batch[name] for name in batch if name not in {unknown}}} for batch in loader))."
        )
    return [], inputs


def _parameters_of(model: nn.Module) -> Mapping[str, inspect.Parameter]:
    """The parameters of a model's forward; of one without a signature, such as a scripted model, any."""
    try:
        return inspect.signature(model.forward).parameters
    except (TypeError, ValueError):
        return {"any": inspect.Parameter("any", inspect.Parameter.VAR_KEYWORD)}


def _not_tensors(inputs: Any) -> list[str]:
    """The names of inputs that are texts or numbers, or lists of them."""
    named = {repr(name): values for name, values in inputs.items()} if isinstance(inputs, dict) else {"inputs": inputs}
    lists = {name: values if isinstance(values, list) else [values] for name, values in named.items()}
    return [name for name, values in lists.items() if any(isinstance(value, str | int | list) for value in values)]
