"""An option with a value that may be left out, which typer does not have: --dask [SCHEDULER]."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand

OPTION, LOCAL = "--dask", "local"
ADDRESS = re.compile(r"[a-z]+://.+|[^/\\]+:[0-9]+|local")


class CommandWithAddress(TyperCommand):
    """A command whose option --dask is followed by the address of a scheduler, or by nothing."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the command, with an address for a --dask that has none."""
        return super().parse_args(ctx, with_address(args))


def with_address(arguments: list[str]) -> list[str]:
    """The arguments, with ``local`` after a --dask that no address follows.

    Examples
    --------
    >>> from aftermax._cli.optional_address import with_address
    >>> with_address(["--dask", "head.npz", "scores"])
    ['--dask', 'local', 'head.npz', 'scores']
    >>> with_address(["head.npz", "scores", "--dask", "10.0.0.1:8786"])
    ['head.npz', 'scores', '--dask', '10.0.0.1:8786']
    """
    filled: list[str] = []
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        filled.append(argument)
        if argument == OPTION and not ADDRESS.fullmatch(following):
            filled.append(LOCAL)
    return filled
