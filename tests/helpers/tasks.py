"""What a worker of the hardening runs does, and what may happen to it: importable from a process of its own."""

import os
import signal
import time


def task(kind, index, folder):
    """What a worker does, and what may happen to it."""
    if kind == "crash" and index == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "hang" and index == 3:
        time.sleep(60)
    assert kind != "fail" or index != 0, "it failed"
    return "read", float(index)
