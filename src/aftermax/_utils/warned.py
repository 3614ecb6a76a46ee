"""Warnings of aftermax, which what calls it may keep.

``warnings.catch_warnings`` changes what all threads share: of two threads that are inside of it at once, one may get
the other's warnings, and the filters of the first may stay for good. What is kept here is kept for one thread.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_KEPT: ContextVar[list[str] | None] = ContextVar("kept", default=None)


def warn(message: str, stacklevel: int = 1) -> None:
    """Warn as ``warnings.warn`` does or, inside of :func:`kept_warnings`, keep the message."""
    kept = _KEPT.get()
    if kept is None:
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)
    else:
        kept.append(message)


def warn_once_each(messages: Iterable[str], stacklevel: int = 1) -> None:
    """Warn of each message, once if it is there more than once."""
    for message in dict.fromkeys(messages):
        warn(message, stacklevel + 1)


@contextmanager
def kept_warnings() -> Iterator[list[str]]:
    """Keep the warnings of aftermax in a list, whatever the user's filters are; nothing is shown.

    Examples
    --------
    >>> from aftermax._utils.warned import kept_warnings, warn
    >>> with kept_warnings() as messages:
    ...     warn("Few samples.")
    >>> messages
    ['Few samples.']
    """
    messages: list[str] = []
    token = _KEPT.set(messages)
    try:
        yield messages
    finally:
        _KEPT.reset(token)
