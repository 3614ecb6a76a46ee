"""Fonts for class names that matplotlib's own font has no letters for, such as Chinese ones."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from aftermax.plots._installed import check_matplotlib

# Fonts with Chinese, Japanese or Korean letters, as they are called on Linux, macOS and Windows.
FAMILIES = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "PingFang SC",
    "Hiragino Sans GB",
    "Hiragino Sans",
    "Heiti TC",
    "Apple SD Gothic Neo",
    "Arial Unicode MS",
    "Microsoft YaHei",
    "SimHei",
    "SimSun",
    "Yu Gothic",
    "MS Gothic",
    "Malgun Gothic",
    "NanumGothic",
)


def drawable(text: str) -> str:
    """The text, with code points such as U+4E00 for letters that no font has: matplotlib would draw empty boxes."""
    if text.isascii():
        return text
    missing = _missing(text)
    if missing and (fallback := _fallback(missing)) is not None:
        missing -= _letters(fallback)
    return "".join(f"U+{ord(letter):04X}" if ord(letter) in missing else letter for letter in text)


def font_for(*texts: str) -> dict[str, Any]:
    """The argument ``fontfamily`` that texts need for all of their letters; none if the font in use has them."""
    text = "".join(texts)
    missing = set() if text.isascii() else _missing(text)
    fallback = _fallback(missing) if missing else None
    return {} if fallback is None else {"fontfamily": [*_families_in_use(), fallback]}


def _missing(text: str) -> set[int]:
    """The letters that the fonts in use do not have."""
    return {ord(letter) for letter in text if letter != "\n"}.difference(*map(_letters, _families_in_use()))


def _families_in_use() -> list[str]:
    check_matplotlib()
    from matplotlib import rcParams

    return list(rcParams["font.family"])


def _fallback(missing: Iterable[int]) -> str | None:
    """The installed font that has most of these letters; None if none has any."""
    from matplotlib.font_manager import fontManager

    installed = set(fontManager.get_font_names())
    found = {family: len(_letters(family).intersection(missing)) for family in FAMILIES if family in installed}
    best = max(found, key=lambda family: found[family], default=None)
    return best if best is not None and found[best] else None


def _letters(family: str) -> frozenset[int]:
    """The letters of a font; of a kind such as sans-serif, those of the font that is set for it."""
    from matplotlib.font_manager import FontProperties, findfont

    return _letters_in(findfont(FontProperties(family=[family])))


@cache
def _letters_in(file: str) -> frozenset[int]:
    from matplotlib.font_manager import get_font

    return frozenset(get_font(file).get_charmap())
