"""Formatting of numbers and tables, the same everywhere."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

# Control characters, line separators, marks that set the direction of text, and halves of characters.
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")  # as Python writes them


def percent(share: float) -> str:
    """Format a share as a percentage.

    Examples
    --------
    >>> from aftermax._utils.text import percent
    >>> percent(0.123)
    '12.3 %'
    """
    return f"{100 * share:.1f} %"


def signed(share: float) -> str:
    """Format a gain or loss as a percentage with its sign; zero after rounding is ``+0.0 %``.

    Examples
    --------
    >>> from aftermax._utils.text import signed
    >>> signed(0.123), signed(-0.0001)
    ('+12.3 %', '+0.0 %')
    """
    return f"{100 * share:+.1f} %".replace("-0.0 %", "+0.0 %")


def listed(values: list[Any]) -> str:
    """List values in a message: at most the first five."""
    shown = ", ".join(shortened(repr(value), 200) for value in values[:5])
    return shown if len(values) <= 5 else f"{shown}, ... {len(values)} in all"


def visible(text: str) -> str:
    """The text of one line, with escapes for what would move the cursor of a terminal or turn text around.

    Class names are read from files that anyone may have written.

    Examples
    --------
    >>> from aftermax._utils.text import visible
    >>> print(visible("cat\\x1b[2J"), visible("caf\u00e9"))
    cat\\x1b[2J caf\u00e9
    """
    return CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)


def visible_lines(text: str) -> str:
    """As :func:`visible`, for a text of several lines."""
    return "\n".join(map(visible, text.split("\n")))


def escaped_controls(json_text: str) -> str:
    """The same for JSON, whose escapes are others; it means the same as before."""
    return "\n".join(CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", line) for line in json_text.split("\n"))


def shortened(text: str, letters: int) -> str:
    """The text, or its first letters and how many there are.

    Examples
    --------
    >>> from aftermax._utils.text import shortened
    >>> shortened("a long story", 6)
    'a long... (12 characters)'
    """
    return text if len(text) <= letters else f"{text[:letters]}... ({len(text):,} characters)"


def fewer(share: float) -> str:
    """Say by what percentage the errors drop or, below 0, rise.

    Examples
    --------
    >>> from aftermax._utils.text import fewer
    >>> fewer(0.123), fewer(-0.02), fewer(0.0001)
    ('12.3 % fewer', '2.0 % more', 'as many')
    """
    size = percent(abs(share))
    return "as many" if size == percent(0) else f"{size} {'fewer' if share > 0 else 'more'}"


def fewer_between(low: float, high: float) -> str:
    """Say in which interval the percentage lies by which the errors drop or, below 0, rise.

    Examples
    --------
    >>> from aftermax._utils.text import fewer_between
    >>> fewer_between(-0.031, 0.2), fewer_between(0.07, 0.36), fewer_between(-0.08, -0.02)
    ('3.1 % more to 20.0 % fewer', '7.0 % to 36.0 % fewer', '2.0 % to 8.0 % more')
    """
    ends = [fewer(end) for end in (low, high)]
    for kind in (" fewer", " more"):
        if all(end.endswith(kind) for end in ends):
            near, far = sorted(map(abs, (low, high)))
            return f"{percent(near)} to {percent(far)}{kind}"
    return " to ".join(ends)


def fewer_count(count: int) -> str:
    """Say by how many a count drops or, below 0, rises.

    Examples
    --------
    >>> from aftermax._utils.text import fewer_count
    >>> fewer_count(72), fewer_count(-1100), fewer_count(0)
    ('72 fewer', '1,100 more', 'as many')
    """
    return "as many" if count == 0 else f"{abs(count):,} {'fewer' if count > 0 else 'more'}"


def p_value(value: float) -> str:
    """Format a p-value with its relation sign; below 0.0001 only the bound is given.

    Examples
    --------
    >>> from aftermax._utils.text import p_value
    >>> p_value(0.0123), p_value(1e-9)
    ('= 0.012', '< 0.0001')
    """
    return f"= {value:.2g}" if value >= 0.0001 else "< 0.0001"


def rounded_up(number: int) -> int:
    """Round up to two significant digits.

    Examples
    --------
    >>> from aftermax._utils.text import rounded_up
    >>> rounded_up(4086), rounded_up(7)
    (4100, 7)
    """
    unit = int(10 ** max(len(str(number)) - 2, 0))
    return -(-number // unit) * unit


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 0) -> str:
    """Format a Markdown table. The first ``texts`` columns are aligned left, the others right.

    Examples
    --------
    >>> from aftermax._utils.text import table
    >>> print(table(["size", "error"], [["100", "28.4 %"], ["200", "19.8 %"]]), end="")
    | size | error |
    |---:|---:|
    | 100 | 28.4 % |
    | 200 | 19.8 % |
    """
    rule = "|" + "---|" * texts + "---:|" * (len(heads) - texts)
    lines = [f"| {' | '.join(cells)} |" for cells in [heads, *rows]]
    return "\n".join([lines[0], rule, *lines[1:]]) + "\n"


def aligned(heads: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 0) -> str:
    """Format a table for the terminal. The first ``texts`` columns are aligned left, the others right.

    Examples
    --------
    >>> from aftermax._utils.text import aligned
    >>> print(aligned(["size", "error"], [["100", "28.4 %"], ["2,000", "7.8 %"]]))
     size   error
      100  28.4 %
    2,000   7.8 %
    """
    lines = [[visible(cell) for cell in line] for line in (heads, *rows)]
    sizes = [max(map(width, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(_padded(line, sizes, texts)).rstrip() for line in lines)


def _padded(line: Sequence[str], sizes: Sequence[int], texts: int) -> Iterable[str]:
    for column, (cell, size) in enumerate(zip(line, sizes, strict=True)):
        spaces = " " * (size - width(cell))
        yield cell + spaces if column < texts else spaces + cell


def width(text: str) -> int:
    """How many columns of a terminal a text takes: Chinese, Japanese and Korean characters take two each.

    Examples
    --------
    >>> from aftermax._utils.text import width
    >>> width("cat"), width("\u732b"), width("e\u0301")
    (3, 2, 1)
    """
    return len(text) if text.isascii() else sum(map(_letter_width, text))


def _letter_width(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):  # accents that stand on the letter before, and marks
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
