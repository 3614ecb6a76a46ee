"""Hostile arrays: every public estimator and function on odd logits and labels, in everything that holds arrays.

Each call must give the answer that the same values give as a plain array of float64, with finite probabilities, or a
ValueError or TypeError that aftermax words, or scikit-learn's check of its input. A failure is any other error,
another answer, an input that is changed, a warning that is not ours, and more than 60 seconds. No array has more than
5,000 values.
"""

import tempfile
import time
import traceback
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from aftermax.auto.warm import compile_all
from hardening import array_kinds, report
from hardening.array_calls import CALLS
from hardening.array_values import made
from hardening.watched import nothing_else
from hardening.workers import Outcome, listed, run_tasks

SEED = 22
LIMIT = 60.0  # seconds
CLOSE = 1e-6
OURS = ("/aftermax/", *(f"/sklearn/{one}" for one in ("utils/", "model_selection/_split.py")))
SAME_VALUES = {  # as those of the plain array
    "array", "read-only", "strided", "reversed", "Fortran order", "memory-mapped", "big-endian", "masked nowhere",
    "list",    "list of arrays", "matrix", "objects", "float128", "pandas", "pandas, odd index", "polars", "torch",
    "torch requires_grad", "torch transposed", "pandas Float64",
}  # fmt: skip


def run(count: int | None = None, minutes: float | None = None) -> str:
    """Make ``count`` calls; ``minutes`` is not used."""
    total = count or 2_200
    compile_all(progress=False)  # takes longer than a call may
    rows, findings, started = [], [], time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        for call in CALLS:
            outcome = run_tasks(call_one, call, max(1, total // len(CALLS)), Path(name), LIMIT)
            findings += outcome.findings
            rows.append(_row(call, outcome))
            print(rows[-1], flush=True)
    calls = sum(int(str(row["calls"])) for row in rows)
    libraries = ", ".join(library for library in array_kinds.LIBRARIES if any(library in one for one in _kinds()))
    about = (
        f"`python -m hardening arrays --count {total}`: {calls:,} calls in {time.monotonic() - started:,.0f} s, "
        f"{len(findings)} failures, with arrays of numpy, {libraries}. "
        f"{' '.join((__doc__ or '').partition('Each call')[1:]).strip()}"
    )
    return f"{report.write('arrays', rows, about)}\n{listed(findings)}"


def _row(call: str, outcome: Outcome) -> dict[str, object]:
    counts: Counter[str] = outcome.counts
    return {
        "call": call,
        "calls": sum(counts.values()),
        **{word: counts.get(word, 0) for word in ("answered", "refused", "failed")},
        "seconds": round(outcome.seconds, 1),
        "slowest call, s": round(outcome.largest, 1),
    }


@cache
def _kinds() -> dict[str, array_kinds.Make]:
    return array_kinds.kinds()


@cache
def _label_kinds() -> dict[str, array_kinds.Make]:
    return array_kinds.label_kinds()


# ---- one call --------------------------------------------------------------------------------------------------------


def call_one(call: str, index: int, folder: Path) -> tuple[str, float]:
    """Make the arrays, call, and say whether there was an answer, and after how many seconds."""
    rng = np.random.default_rng([SEED, list(CALLS).index(call), index])
    values, plain, codes = made(rng)
    kind, label_kind = "array", "integers"
    if rng.integers(4):
        kind = str(rng.choice(list(_kinds())))
    if rng.integers(3) == 0:
        label_kind = str(rng.choice(list(_label_kinds())))
    what = f"{values} {plain.shape}, {kind}, labels {label_kind}"
    try:
        logits, labels = _kinds()[kind](plain), _label_kinds()[label_kind](codes)
    except Exception:  # the library cannot hold such values
        return "refused", 0.0
    before = [array_kinds.values_of(one) for one in (logits, labels)]
    started = time.monotonic()
    answer = _answer(call, logits, labels, what)
    seconds = time.monotonic() - started
    assert [array_kinds.values_of(one) for one in (logits, labels)] == before, f"{what}: an input is changed"
    if answer is None:
        return "refused", seconds
    _check(answer, what)
    if kind in SAME_VALUES and kind != "array":
        expected = _answer(call, plain, labels, what)
        assert expected is not None, f"{what}: answered, but a plain array is refused"
        _compare(answer, expected, what)
    return "answered", seconds


def _answer(call: str, logits: Any, labels: Any, what: str) -> dict[str, Any] | None:
    """What the call gives; None if it refuses."""
    try:
        with nothing_else(None):
            return CALLS[call](logits, labels)
    except (ValueError, TypeError) as error:
        place = traceback.extract_tb(error.__traceback__)[-1].filename
        lines = "\n".join(traceback.format_exc().splitlines()[-6:])
        assert any(one in place for one in OURS), f"{what}: words of others: {lines}"
        return None
    except AssertionError as error:
        raise AssertionError(f"{what}: {error}") from error
    except Exception:
        lines = "\n".join(traceback.format_exc().splitlines()[-8:])
        raise AssertionError(f"{what}: {lines}") from None


def _check(answer: dict[str, Any], what: str) -> None:
    probabilities = answer.get("probabilities")
    if probabilities is not None:
        assert np.isfinite(probabilities).all(), f"{what}: probabilities that are not finite"
        assert np.allclose(probabilities.sum(axis=1), 1.0), f"{what}: probabilities that do not sum to 1"
    if "predictions" in answer and "classes" in answer:
        known = set(answer["classes"].tolist())
        assert set(answer["predictions"].tolist()) <= known, f"{what}: a class that it does not have"
    if "biases" in answer:
        assert np.isfinite(answer["biases"]).all(), f"{what}: biases that are not finite"


def _compare(answer: dict[str, Any], expected: dict[str, Any], what: str) -> None:
    for name, value in answer.items():
        other = expected[name]
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            same = np.allclose(value, other, CLOSE, CLOSE, equal_nan=True)
        else:
            same = np.array_equal(value, other)
        assert same, f"{what}: other {name} than of a plain array"
