"""``aftermax warm``."""

from __future__ import annotations

import time


def warm() -> None:
    """Compile the inner loops now, once on a machine.

    Otherwise that happens when they are first used, and takes a minute or more in total. The compiled code is kept in
    the folder that NUMBA_CACHE_DIR names or else next to the package or, if that is read-only, in the user's cache.
    """
    from aftermax._cli.output import print_message
    from aftermax.auto.warm import compile_all

    start = time.monotonic()
    folder = compile_all()
    print_message(f"compiled in {time.monotonic() - start:.1f} s, and kept below {folder}")
