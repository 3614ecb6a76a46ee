"""Options that several commands share, defined once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """A command for typer in which each dataclass among the parameters stands for the options that are its fields.

    typer reads the options of a command from the signature of its function.
    """
    groups: dict[str, Any] = {}
    parameters: list[Parameter] = []
    for parameter in signature(command, eval_str=True).parameters.values():
        if is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            parameters += signature(groups[parameter.name], eval_str=True).parameters.values()
        else:
            parameters.append(parameter)

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    keyword_only = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = Signature(keyword_only)  # type: ignore[attr-defined]
    return run
