"""Labels and names of classes as files store them: text, bytes, integers or floats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.text import INTEGER


def are_integers(texts: Iterable[str]) -> bool:
    """Whether all texts are integers, written as Python writes them."""
    return all(map(INTEGER.fullmatch, texts))


def numbered_names(size: int, first: int = 0) -> list[str]:
    """Names that are consecutive integers."""
    return list(map(str, range(first, first + size)))


def decode_bytes(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels that are bytes as text; others as they are."""
    return np.char.decode(labels, "utf-8") if labels.dtype.kind == "S" else labels


def labels_to_text(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as text, so that 3, 3.0 and "3" are the same class."""
    labels = decode_bytes(labels)
    if labels.dtype.kind == "f" and (np.abs(labels.astype(np.float64)) < 2**63).all():
        labels = labels.astype(np.int64)
    return labels.astype(np.str_)


def text_to_integers(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels that are text as integers, if all of them are integers."""
    texts = labels.astype(np.str_)
    return texts.astype(np.int64) if are_integers(set(texts.tolist())) else texts


def match_label_type(names: list[str], labels: NDArray[Any]) -> list[Any]:
    """Names of classes as integers, if they are integers and the labels are numbers."""
    return [int(name) for name in names] if labels.dtype.kind in "iuf" and are_integers(names) else list(names)
