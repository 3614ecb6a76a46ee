"""The program that ``python -m experiments`` runs; the modules beside this one add their commands to it."""

from __future__ import annotations

import typer

app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def experiments(context: typer.Context) -> None:
    """Run an experiment, from the raw data to tables and figures.

    If it is interrupted, the same command resumes it.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())
