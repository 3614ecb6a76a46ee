"""Work in a process of its own: what it returns, its errors, its limits and its memory."""

import os
import sys
from multiprocessing import get_context
from pathlib import Path
from time import monotonic, process_time, sleep

import numpy as np
import pytest

from experiments.runs.alone import Stopped, alone, forget_peak, peak_gigabytes, processor_seconds

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


def spin(seconds):
    while process_time() < seconds:
        pass


def refuse(text):
    raise ValueError(text)


def test_work_is_done_in_another_process_and_its_errors_are_raised_here():
    assert alone(os.getpid) != os.getpid()
    assert alone(divmod, 7, 3) == (2, 1)
    with pytest.raises(ValueError, match="not today"):
        alone(refuse, "not today")


def write_number_and_spin(path):
    path.write_text(str(os.getpid()))
    spin(600.0)


def test_work_ends_with_the_process_that_waits_for_it(tmp_path):
    number = tmp_path / "number"
    waiting = get_context("spawn").Process(target=alone, args=(write_number_and_spin, number))
    waiting.start()
    until(lambda: number.is_file() and number.read_text())
    waiting.kill()
    waiting.join()
    until(lambda: not Path(f"/proc/{number.read_text()}").exists())


def until(is_so, seconds=60.0):
    end = monotonic() + seconds
    while not is_so():
        assert monotonic() < end
        sleep(0.05)


def test_a_process_that_dies_is_an_error():
    with pytest.raises(MemoryError, match="exit code 3"):
        alone(os._exit, 3)


def test_work_that_takes_too_long_is_stopped_and_says_what_it_took():
    stopped = alone(spin, 600.0, most_seconds=0.2)
    assert isinstance(stopped, Stopped)
    assert 0.2 < stopped.seconds < 60
    assert stopped.gigabytes > 0.005


def test_the_peak_of_memory_is_that_since_it_was_forgotten():
    large = np.ones(25_000_000)  # 0.2 GB
    before = peak_gigabytes()
    del large
    forget_peak()
    assert peak_gigabytes() < before - 0.15
    assert processor_seconds() > 0
