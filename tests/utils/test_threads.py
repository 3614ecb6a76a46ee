"""Work spread over threads."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
import threadpoolctl

from aftermax import AutoHead, SPHClassifier
from aftermax._utils import threads
from hardening import soak
from helpers.samples import make_samples


def test_one_thread_holds_within_its_block_and_thread_only():
    before = threads.thread_count()
    with threads.one_thread():
        assert threads.thread_count() == 1
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(threads.thread_count).result() == before
    assert threads.thread_count() == before


@pytest.mark.parametrize("count", [1, 3])
def test_every_range_is_worked_once(monkeypatch, count):
    monkeypatch.setattr(threads, "thread_count", lambda: count)
    seen = np.zeros(100, dtype=int)

    def work(first, last):
        seen[first:last] += 1

    threads.over_ranges(work, 100, 7)
    assert (seen == 1).all()
    threads.over_ranges(work, 0, 7)
    assert (seen == 1).all()


@pytest.mark.parametrize("count", [1, 3])
def test_the_error_of_the_earliest_range_is_raised(monkeypatch, count):
    monkeypatch.setattr(threads, "thread_count", lambda: count)
    late_failed = threading.Event()

    def work(first, last):
        if first == 10:
            if count > 1:
                late_failed.wait(120)
            raise ValueError("early")
        if first == 20:
            late_failed.set()
            raise ValueError("late")

    with pytest.raises(ValueError, match="early"):
        threads.over_ranges(work, 40, 10)


def test_one_head_serves_several_threads_at_once(validation):
    head = SPHClassifier().fit(*validation)
    test, _ = make_samples(seed=3, n_samples=60_000)
    expected = head.predict(test)
    with ThreadPoolExecutor(4) as pool:
        for predicted in pool.map(head.predict, [test] * 8):
            np.testing.assert_array_equal(predicted, expected)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_head_still_works_after_a_fork(validation):
    head = SPHClassifier().fit(*validation)
    test, _ = make_samples(seed=3, n_samples=60_000)
    expected = head.predict(test)
    context = get_context("fork")
    queue = context.Queue()
    child = context.Process(target=lambda: queue.put(head.predict(test)))
    child.start()
    np.testing.assert_array_equal(queue.get(timeout=300), expected)
    child.join(300)
    assert child.exitcode == 0


def test_a_shared_head_predicts_alike_in_many_threads_while_another_is_fitted(validation):
    """python -m hardening soak does the same for an hour."""
    outcome = soak.loaded(seconds=1.0, threads=8)
    assert outcome.wrong == []
    assert outcome.predictions > 8
    assert outcome.fits > 0


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_in_the_middle_of_another_threads_work_leaves_no_lock_behind(validation):
    head = AutoHead(cv=2).fit(*validation)
    test, _ = make_samples(seed=3, n_samples=2_000)
    expected = head.predict(test)
    inside, done = threading.Event(), threading.Event()

    def work():
        with threads.one_blas_thread(), threads._limit.lock:
            inside.set()
            done.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(60)
    context = get_context("fork")
    queue = context.Queue()
    child = context.Process(target=lambda: queue.put(head.predict(test)))
    child.start()
    done.set()
    thread.join(60)
    try:
        np.testing.assert_array_equal(queue.get(timeout=60), expected)
    finally:
        child.kill()
        child.join(60)


@pytest.mark.slow
def test_without_a_cache_folder_the_kernels_are_compiled_each_time():
    code = (
        "from numba.core import caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "from aftermax import ResponseArray\n"
        "print(ResponseArray.fit([[3, 0], [1, 0], [0, 1], [0, 3]], [0, 0, 1, 1]).center.tolist())"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.stdout == "[[2.0, 0.0], [0.0, 2.0]]\n", done.stderr


def test_the_limit_on_matrix_products_holds_until_the_last_is_out():
    def allowed():
        return [library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]

    before = allowed()
    first, second = threads.one_blas_thread(), threads.one_blas_thread()
    first.__enter__()
    second.__enter__()
    assert set(allowed()) == {1}
    first.__exit__(None, None, None)
    assert set(allowed()) == {1}
    second.__exit__(None, None, None)
    assert allowed() == before
    with pytest.raises(ZeroDivisionError), threads.one_blas_thread():
        _ = 1 / 0
    assert allowed() == before
