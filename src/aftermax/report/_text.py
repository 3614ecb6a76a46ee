"""Text for HTML, where names that users have chosen are always escaped, and numbers for JSON."""

from __future__ import annotations

import html
import re


def encodable(name: object) -> str:
    """A name as text that can be written to a file."""
    return str(name).encode("utf-8", "replace").decode("utf-8")


def escaped(name: object) -> str:
    """A name that is shown as it is, whatever is in it.

    Examples
    --------
    >>> from aftermax.report._text import escaped
    >>> escaped("<b>cat</b>")
    '&lt;b&gt;cat&lt;/b&gt;'
    """
    return html.escape(encodable(name))


def unbroken(text: str) -> str:
    """Escaped text with each percentage and p-value kept on one line.

    Examples
    --------
    >>> from aftermax.report._text import unbroken
    >>> unbroken("a gain of +7 %")
    'a gain of <span class="unbroken">+7 %</span>'
    """
    return re.sub(r"[-+]?[\d.,]+ %|p (?:=|&lt;) [\d.e-]*\d", r'<span class="unbroken">\g<0></span>', text)


def definition_list(items: dict[str, str]) -> str:
    """Terms and their descriptions, as the items of a dl element."""
    return "\n".join(f"<dt>{escaped(term)}</dt><dd>{escaped(text)}</dd>" for term, text in items.items())


def rounded(value: float) -> float:
    """To four digits, more than a chart shows."""
    return float(f"{value:.4g}")
