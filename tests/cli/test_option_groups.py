"""Options that several commands share."""

import inspect
from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from aftermax._cli.option_groups import with_option_groups


@dataclass(frozen=True)
class Colours:
    red: Annotated[int, typer.Option("--red")] = 1
    blue: Annotated[int, typer.Option("--blue")] = 2


@with_option_groups
def paint(wall: str, *, coats: int = 1, colours: Colours) -> None:
    """Paint a wall."""
    print(wall, coats, colours)


def test_each_field_of_a_group_is_an_option_of_the_command():
    assert list(inspect.signature(paint).parameters) == ["wall", "coats", "red", "blue"]
    app = typer.Typer()
    app.command()(paint)
    done = CliRunner().invoke(app, ["north", "--blue", "5", "--coats", "3"])
    assert done.stdout == "north 3 Colours(red=1, blue=5)\n"
    assert "Paint a wall." in CliRunner().invoke(app, ["--help"]).stdout
