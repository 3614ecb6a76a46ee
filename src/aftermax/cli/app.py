"""The command and its subcommands: what there is, and nothing heavy imported until it is asked for."""

from __future__ import annotations

from typing import Annotated

import typer

from aftermax import __version__
from aftermax.cli.bench import bench
from aftermax.cli.demo import demo
from aftermax.cli.reproduce import app as reproduce

app = typer.Typer(
    help="The accuracy that softmax leaves on the table.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(bench)
app.add_typer(reproduce, name="reproduce")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"aftermax {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """The accuracy that softmax leaves on the table."""
