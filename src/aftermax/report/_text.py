"""Text for HTML, where names that users have chosen are always escaped, and numbers for JSON."""

from __future__ import annotations

import html
import re

from aftermax._utils.text import visible


def escaped(text: object) -> str:
    """Text that is shown as it is, whatever is in it: also what would turn it around, which no reader would see.

    Examples
    --------
    >>> from aftermax.report._text import escaped
    >>> escaped("<b>cat</b> \\u202e")
    '&lt;b&gt;cat&lt;/b&gt; \\\\u202e'
    """
    return html.escape(visible(str(text)))


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
