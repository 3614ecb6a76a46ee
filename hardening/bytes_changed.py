"""Changes to the bytes of any file: cut, flipped, moved about."""

from collections.abc import Sequence

import numpy as np

FIRST, LAST = 1_024, 1_024  # bytes at which every file is cut, one by one
TOKENS = (
    b"\0",
    b"\xff" * 4,
    b"\x7f\xff\xff\xff",
    b"\n",
    b'"',
    b"\x00\x00\x00\x00",
    b"PK\x01\x02",
    b"NaN",
    b"1e999",
    b"-",
)


def cut(files: Sequence[bytes], index: int, rng: np.random.Generator) -> bytes:
    """The beginning of a file: up to every byte of its first and last kilobyte in turn, and then up to any."""
    for content in files:
        places = sorted({*range(min(FIRST, len(content))), *range(max(0, len(content) - LAST), len(content))})
        if index < len(places):
            return content[: places[index]]
        index -= len(places)
    content = files[index % len(files)]
    return content[: int(rng.integers(len(content)))]


def flipped(content: bytes, rng: np.random.Generator) -> bytes:
    """Some bits are the other way: anywhere, or near the beginning or the end, where the lists of contents are."""
    changed = bytearray(content)
    for _ in range(int(rng.choice([1, 1, 2, 4, 16]))):
        changed[_place(len(changed), rng)] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def spliced(content: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes are gone, or there twice, or others."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        place, length = _place(len(changed), rng), int(rng.choice([1, 2, 4, 8, 64, 1_024]))
        way = rng.integers(4)
        if way == 0 and len(changed) > length + 1:
            del changed[place : place + length]
        elif way == 1:
            other = _place(len(changed), rng)
            changed[place:place] = changed[other : other + length]
        elif way == 2:
            changed[place : place + length] = rng.integers(256, size=length, dtype=np.uint8).tobytes()
        else:
            changed[place:place] = TOKENS[rng.integers(len(TOKENS))]
    return bytes(changed)


def _place(size: int, rng: np.random.Generator) -> int:
    first, last = (0, min(size, 256)), (max(0, size - 512), size)
    low, high = ((0, size), first, last)[rng.integers(3)]
    return int(rng.integers(low, high))
