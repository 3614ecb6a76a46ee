"""Text for Markdown, where names that users have chosen are always escaped."""

from __future__ import annotations

import html
import re

from aftermax._utils.text import visible

# What could begin or end markup inside of a line; an underscore within a word, as in class_prior, could not.
MARKUP = re.compile(r"[\\`*\[\]|~$#]|(?<![^\W_])_|_(?![^\W_])")
# What GitHub and others make a link of without any markup: addresses of pages, and of e-mail.
ADDRESS = re.compile(r"(?:https?|ftp)://|www\.|[\w.+-]@[\w.-]", flags=re.IGNORECASE)
# Characters of addresses; a full stop or a colon at the end is that of the sentence.
WITHOUT_GAP = re.compile(r"(?<![\w./:@%+=-])([\w./:@%+=-]*(?:[\w/@%+=-]|(?<=www)\.))", flags=re.IGNORECASE)


def escaped(text: object) -> str:
    """One line of text that Markdown shows as it is, whatever is in it; it must not be the start of a line.

    Entities rather than backslashes: each kind of Markdown has its own list of what a backslash escapes, and a table is
    divided at every ``|`` before anything else is read. Addresses are set as code: links are looked for after entities
    are decoded (e-mail by GitHub, all by remark), but never in code.

    Examples
    --------
    >>> from aftermax.report._markdown import escaped
    >>> print(escaped("a|b <b>new_york</b>\\n"))
    a&#124;b &lt;b&gt;new_york&lt;/b&gt;&#92;n
    >>> print(escaped("see www.example.com/a"))
    see `www.example.com/a`
    """
    parts = WITHOUT_GAP.split(visible(str(text)))
    return "".join(f"`{part}`" if ADDRESS.search(part) else _entities(part) for part in parts)


def _entities(text: str) -> str:
    return MARKUP.sub(lambda found: f"&#{ord(found[0])};", html.escape(text, quote=False))
