"""Griffe extension that turns the Sphinx roles of docstrings, such as :class:`~aftermax.AutoHead`, into links."""

import re
from typing import Any

import griffe

ROLE = re.compile(r":\w+:`~?([\w.]+)`")


def _link(role: re.Match[str]) -> str:
    name = role[1].removeprefix("aftermax.")
    return f"[`{name}`][{role[1]}]" if role[1].startswith("aftermax.") else f"`{name}`"


class Roles(griffe.Extension):
    """Replaces the roles in the docstring of every object."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Replace the roles in the docstring of one object."""
        if obj.docstring:
            text = ROLE.sub(_link, obj.docstring.value)
            # With an ordinary hyphen it would be taken for a subtraction.
            obj.docstring.value = text.replace("path-like", "path\N{NON-BREAKING HYPHEN}like")
