"""The command and its subcommands. Heavy modules are imported only when a subcommand runs."""

from __future__ import annotations

from typing import Annotated

import typer

from aftermax import __version__
from aftermax._cli.adapt import adapt
from aftermax._cli.audit import audit
from aftermax._cli.check import check
from aftermax._cli.demo import demo
from aftermax._cli.export import export
from aftermax._cli.fit import fit
from aftermax._cli.optional_address import CommandWithAddress
from aftermax._cli.predict import predict
from aftermax._cli.reproduce import reproduce
from aftermax._cli.warm import warm

app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help takes a quarter of the time
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, audit, fit, predict, check, adapt, export, warm):
    app.command(cls=CommandWithAddress if command is predict else None)(command)
app.command(
    hidden=True,
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(reproduce)


def _print_version(requested: bool) -> None:
    if requested:
        print(f"aftermax {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """The accuracy that softmax leaves on the table.

    Score files hold the logits of a trained, frozen classifier: audit them, fit a head on them, and predict with the
    head in place of softmax.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())
