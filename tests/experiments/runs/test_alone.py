"""Work in a process of its own: what it returns, its errors, its limits and its memory."""

import os
import sys
from time import process_time

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
