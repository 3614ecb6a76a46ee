"""The package as people get it: names, imports, version. What README and docs say is in test_docs.py."""

import subprocess
import sys

import pytest

import aftermax
from helpers.samples import ROOT

NAMES = [
    "Adaptation",
    "Audit",
    "AutoHead",
    "Check",
    "Decider",
    "PostHocClassifier",
    "ResponseArray",
    "SPHClassifier",
    "SPHClassifierCV",
    "SoftmaxClassifier",
    "TopKScores",
    "__version__",
    "adapt_priors",
    "audit",
    "batch_calibration",
    "check",
    "default_grid",
    "fit",
    "load",
    "save",
    "scores_from_top_k",
    "sweep",
]


def run(code, folder):
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True).stdout


def test_the_public_names_are_few_and_all_there():
    assert sorted(aftermax.__all__) == dir(aftermax) == NAMES
    for name in aftermax.__all__:
        assert getattr(aftermax, name)
    misspelt = "SPHClasifier"
    with pytest.raises(AttributeError, match="no attribute 'SPHClasifier'"):
        getattr(aftermax, misspelt)


def test_importing_the_package_imports_nothing_heavy(tmp_path):
    modules = ("numpy", "sklearn", "numba", "matplotlib", "torch", "pandas", "dask", "pyarrow")
    heavy = f"print([m for m in {modules} if m in sys.modules])"
    assert run(f"import sys, aftermax; {heavy}", tmp_path) == "[]\n"


def test_importing_the_head_imports_neither_numba_nor_an_extra(tmp_path):
    heavy = "print([m for m in ('numba', 'matplotlib', 'torch', 'dask') if m in sys.modules])"
    assert run(f"import sys; from aftermax import SPHClassifier; {heavy}", tmp_path) == "[]\n"


def test_the_version_is_one():
    assert f"version: {aftermax.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {aftermax.__version__}" in (ROOT / "CHANGELOG.md").read_text()
