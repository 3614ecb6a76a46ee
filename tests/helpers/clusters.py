"""Dask's workers as processes of this machine, and the death of one of them."""

import os
import signal
import time
from contextlib import contextmanager

import pytest

from aftermax import SPHClassifier


@contextmanager
def two_workers():
    """A client of a local cluster with two worker processes."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=120)
        yield client


def worker_pids(client):
    """The process of each worker, by its address."""
    return client.run(os.getpid)


def kill_one(client):
    """End a worker that has work to do, as the kernel does when memory runs out; its process id."""
    busy = next(address for address, keys in client.processing().items() if keys)
    pid = worker_pids(client)[busy]
    os.kill(pid, signal.SIGKILL)
    return pid


# ---- what workers run, which they import from here -------------------------------------------------------------------


class CountedHead(SPHClassifier):
    """Appends a line to the file ``arrivals`` whenever it arrives in a process."""

    def __setstate__(self, state):
        super().__setstate__(state)
        with open(self.arrivals, "a") as file:
            file.write(f"{os.getpid()}\n")


def slowly(block):
    """A block as if it were read from a slow disk."""
    time.sleep(0.05)
    return block
