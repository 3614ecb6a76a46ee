"""Changes to JSON that leave it JSON, or nearly: other values, missing and repeated fields, deep nesting."""

import json
from typing import Any

import numpy as np

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 1_000_000, 2**31, 2**63, 2**64, -(2**63), 10**400, 0.0, -0.0, 0.5, 1.0, 5e-324,
    1e-300, 1e100, 1e150, 1e300, 1.7976931348623157e308, -1e308, "", "x", "nan", "NaN", "inf", "\0", "\x1b[31mred",
    "\u202egnp.exe", "../../etc/passwd", "/etc/passwd", "C:\\con", "=cmd|' /C calc'!A0", "\ud800", "a" * 10_000,
    "字" * 50,
    "__class__", "__reduce__", "softmax", "combination", "sph", [], {}, [[]], [None], [0], [1.5, "a"], [0.5, 0.5],
    {"number": "nan"}, {"number": "inf"}, {"number": "-inf"}, {"number": "1"}, {"number": []}, {"a": {"a": {"a": 1}}},
)  # fmt: skip
TEXTS = (
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "-1e999",
    "0x10",
    "1_000",
    "01",
    "1.",
    "nul",
    "'a'",
    "\ufeff1",
    "1" * 5_000,
)


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every value in JSON but the first."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    below = [place for key, item in items for place in places_in(item, (*path, key))]
    return [path, *below] if path else below


def changed_json(value: Any, rng: np.random.Generator) -> str:
    """The text of JSON in which one to three values are others; ``value`` itself is left as it is."""
    value = json.loads(json.dumps(value))
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        places = places_in(value)
        if not places:
            break
        _change(value, places[rng.integers(len(places))], places, rng)
    text = json.dumps(value)
    way = rng.integers(20)
    if way == 0:  # a token that is none, or is not finite
        numbers = [place for place, letter in enumerate(text) if letter.isdigit() and not text[place - 1].isalnum()]
        if numbers:
            place = numbers[rng.integers(len(numbers))]
            text = text[:place] + TEXTS[rng.integers(len(TEXTS))] + text[place + 1 :]
    elif way == 1:
        depth = int(rng.choice([10, 500, 2_000, 50_000]))
        opening, closing = ("[", "]") if rng.integers(2) else ('{"a":', "}")
        text = text.replace(": ", f': {opening * depth}1{closing * depth}, "more": ', 1)
    elif way == 2:  # every field twice
        text = text[:1] + text[1:-1] + ", " + text[1:] if len(text) > 2 else text
    return text


def _change(value: Any, place: tuple[Any, ...], places: list[tuple[Any, ...]], rng: np.random.Generator) -> None:
    *way, last = place
    inner = _at(value, tuple(way))
    kind = rng.integers(8)
    if kind == 0:
        del inner[last]
    elif kind == 1:
        inner[last] = json.loads(json.dumps(_at(value, places[rng.integers(len(places))])))
    elif kind == 2 and isinstance(inner, dict):
        inner[str(ODD[rng.integers(len(ODD))])[:80]] = inner[last]
    elif kind == 3 and isinstance(inner, list):
        inner.append(inner[last])
    elif kind == 4 and isinstance(inner[last], int | float) and abs(inner[last]) < 2**63:
        inner[last] = inner[last] * float(rng.choice([-1, 1e-300, 1e-10, 0.5, 1.0000001, 2, 10, 1e10, 1e100, 1e200]))
    else:
        inner[last] = ODD[rng.integers(len(ODD))]


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value
