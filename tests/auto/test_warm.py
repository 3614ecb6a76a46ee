"""Compiling everything beforehand: afterwards nothing is left to compile."""

import json
import os
import subprocess
import sys

import pytest

SIGNATURES = """
import json
from aftermax._utils.compiled import LOOPS
print(json.dumps({f"{one.__module__}.{one.__name__}": sorted(map(str, one.signatures)) for one in LOOPS}))
"""

WARM = "from aftermax.auto.warm import compile_all\ncompile_all(progress=False)\n"

USED = """
import tempfile, warnings
from pathlib import Path
import numpy as np
from aftermax import AutoHead, ResponseArray, SPHClassifier, SPHClassifierCV, load, save, sweep
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
codes = np.arange(400) % 4
logits = rng.normal(size=(400, 4)) + 1.5 * np.eye(4)[codes]
logits = np.round(logits + np.maximum(logits @ rng.normal(size=(4, 4)), 0), 2).astype(np.float32)
features = rng.normal(size=(400, 6)) + codes[:, None]
read_only = logits.astype(np.float64)
read_only.flags.writeable = False
variants = [logits, read_only, np.asfortranarray(logits), read_only[::2], logits[:1]]
head = AutoHead(cv=2).fit(read_only, codes, features)
assert head.chosen_ == "combination"
with tempfile.TemporaryDirectory() as folder:
    save(head, Path(folder) / "head.npz")
    again = load(Path(folder) / "head.npz")
for some in (head, again):
    some.predict(logits, features), some.predict_proba(read_only[::2], features[::2])
    some.predict(read_only[::2], np.asfortranarray(features)[::2])
many = np.arange(600) % 300
for dtype in (np.float32, np.float64):
    shifted = np.roll(np.eye(300), 1, axis=1)
    values = (rng.normal(size=(600, 300)) + 3 * np.eye(300)[many] + 4 * shifted[many]).astype(dtype)
    thousands = AutoHead(cv=2).fit(values, many)
    assert thousands.chosen_.startswith("class means"), thousands.chosen_
    thousands.predict(values), AutoHead(cv=2, budget="fast").fit(values, many).predict_proba(values)
for center in ("mean", "median"):
    sph = SPHClassifier(certainty=1.0, min_gain=-1.0, center=center, veto_distance=2.0).fit(logits, codes)
    for some in variants:
        sph.predict(some), sph.predict_proba(some), sph.route(some)
repr(sph.response_array_)
SPHClassifierCV({"certainty": [0.5, 0.9]}, n_jobs=2).fit(read_only, codes).predict(logits)
SPHClassifierCV({"certainty": [0.5, 0.9]}, class_weight="balanced").fit(read_only, codes, sample_weight=codes + 1.0)
sweep(logits[:200], codes[:200], {"certainty": [0.9]}, eval_logits=logits[200:], eval_labels=codes[200:])
"""


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, check=False
    )


def signatures_after(code):
    done = run(code + SIGNATURES)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_every_loop_is_compiled_for_every_type_that_it_is_used_with():
    """A loop that is only called by others has signatures in the process that compiles it, and none after that."""
    compiled, used = signatures_after(WARM), signatures_after(USED)
    assert {name: signatures for name, signatures in used.items() if not set(signatures) <= set(compiled[name])} == {}
    assert sum(map(bool, used.values())) >= 12


@pytest.mark.slow
def test_after_warming_nothing_is_added_to_the_cache(tmp_path):
    def files():
        return sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.nb?"))

    assert run(WARM, NUMBA_CACHE_DIR=str(tmp_path)).returncode == 0
    before = files()
    assert before
    assert run(USED, NUMBA_CACHE_DIR=str(tmp_path)).returncode == 0
    assert files() == before
