"""Text for Markdown, where names that users have chosen are always escaped."""

from __future__ import annotations

import html
import re

from aftermax._utils.text import visible

# What could begin or end markup inside of a line; an underscore within a word, as in class_prior, could not.
MARKUP = re.compile(r"[\\`*\[\]|~$#]|(?<![^\W_])_|_(?![^\W_])")


def escaped(text: object) -> str:
    """One line of text that Markdown shows as it is, whatever is in it; it must not be the start of a line.

    Entities rather than backslashes: each kind of Markdown has its own list of what a backslash escapes, and a table is
    divided at every ``|`` before anything else is read.

    Examples
    --------
    >>> from aftermax.report._markdown import escaped
    >>> print(escaped("a|b <b>new_york</b>\\n"))
    a&#124;b &lt;b&gt;new_york&lt;/b&gt;&#92;n
    """
    shown = html.escape(visible(str(text)), quote=False)
    return MARKUP.sub(lambda found: f"&#{ord(found[0])};", shown)
