"""A worker that is killed costs time and nothing else: a real cluster of two processes."""

import os
import signal
import threading
import time
from pathlib import Path

import dask.array as da
import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone

from aftermax import AutoHead, SPHClassifier, SPHClassifierCV
from aftermax.bridges.dask import fit
from helpers.samples import make_samples, weak_samples


@pytest.fixture
def cluster():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


def states(head):
    values, arrays = head.fitted_head_.to_state()
    return values, {name: array.tobytes() for name, array in arrays.items()}


def pids(client):
    return set(client.run(os.getpid).values())


def kill_this_worker_once(block, marker, after):
    """The logits as they are; but the process in which they are read for the third time is killed."""
    reads = Path(marker).with_suffix(f".{block[0, 0]}")
    reads.write_text(f"{reads.read_text() if reads.exists() else ''}x")
    if len(reads.read_text()) == after:
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return block
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def test_a_worker_killed_while_a_head_is_fitted(cluster, tmp_path):
    logits, codes = make_samples(n_samples=2000)
    x, y = da.from_array(logits, chunks=(500, 5)), da.from_array(codes, chunks=500)
    before = pids(cluster)
    marker = tmp_path / "killed"
    dangerous = x.map_blocks(kill_this_worker_once, str(marker), 3, dtype=float)
    found = fit(SPHClassifier(), dangerous, y)
    assert marker.exists()
    assert pids(cluster) != before
    assert states(found) == states(fit(SPHClassifier(), x, y))


def kill_a_busy_worker(client, killed):
    """Wait until a worker has a task, and kill its process."""
    processes = client.run(os.getpid)
    while not killed:
        busy = [address for address, tasks in client.processing().items() if tasks]
        if busy:
            killed.append(processes[busy[0]])
            os.kill(killed[0], signal.SIGKILL)
        time.sleep(0.02)


@pytest.mark.parametrize(
    "head",
    [AutoHead(cv=2, budget="fast"), SPHClassifierCV({"certainty": [0.7, 0.9], "center": ["mean", "median"]}, cv=2)],
)
def test_a_worker_killed_while_joblib_spreads_the_folds(cluster, head):
    logits, codes = weak_samples(300)
    expected = clone(head).fit(logits, codes)
    killed = []
    watcher = threading.Thread(target=kill_a_busy_worker, args=(cluster, killed))
    watcher.start()
    with joblib.parallel_config("dask"):
        found = clone(head).fit(logits, codes)
    watcher.join(60)
    assert killed
    assert states(found) == states(expected)
    np.testing.assert_array_equal(found.held_out_, expected.held_out_)
    assert (found.gain_, found.p_value_) == (expected.gain_, expected.p_value_)
