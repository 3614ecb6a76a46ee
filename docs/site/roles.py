"""Docstrings name things as Sphinx does, :class:`~aftermax.AutoHead`; on the site these become links."""

import re
from typing import Any

import griffe

ROLE = re.compile(r":\w+:`~?([\w.]+)`")


def _link(role: re.Match[str]) -> str:
    name = role[1].removeprefix("aftermax.")
    return f"[`{name}`][{role[1]}]" if role[1].startswith("aftermax.") else f"`{name}`"


class Roles(griffe.Extension):
    """Rewrites the docstring of every object."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """One object's docstring."""
        if obj.docstring:
            text = ROLE.sub(_link, obj.docstring.value)
            obj.docstring.value = text.replace("path-like", "path\N{NON-BREAKING HYPHEN}like")  # no subtraction
