"""The package as people get it: names, imports, README, demo, results."""

import re
import subprocess
import sys

import pytest

import aftermax
from aftermax.experiments.outcomes import Outcome, Results
from aftermax.experiments.records import read_records
from conftest import ROOT

NAMES = [
    "Audit",
    "AutoHead",
    "ResponseArray",
    "SPHClassifier",
    "SPHClassifierCV",
    "__version__",
    "audit",
    "default_grid",
    "sweep",
]
TABLES = [
    "results/demo/table.md",
    "results/bench/sph.md",
    "results/bench/choosing.md",
    "results/choosing/vmnist.md",
    "results/choosing/summary.md",
    "results/choosing/files.md",
    "results/vmnist/claims.md",
    "results/recipes/table.md",
    "results/shift/summary.md",
    "results/money/methods.md",
    "results/bench/auto.md",
]
README = (ROOT / "README.md").read_text()


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
    heavy = "print([m for m in ('numpy', 'sklearn', 'numba', 'matplotlib', 'torch', 'pandas') if m in sys.modules])"
    assert run(f"import sys, aftermax; {heavy}", tmp_path) == "[]\n"


def test_importing_the_head_imports_neither_numba_nor_an_extra(tmp_path):
    heavy = "print([m for m in ('numba', 'matplotlib', 'torch') if m in sys.modules])"
    assert run(f"import sys; from aftermax import SPHClassifier; {heavy}", tmp_path) == "[]\n"


def test_the_version_is_one():
    assert f"version: {aftermax.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {aftermax.__version__}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL))
def test_the_code_in_the_readme_runs(block, tmp_path):
    run(block, tmp_path)


@pytest.mark.parametrize("path", TABLES)
def test_the_tables_in_the_readme_are_those_in_results(path):
    assert path in README
    assert (ROOT / path).read_text().strip() in README


def test_the_numbers_in_the_readmes_sentences_are_those_in_results():
    results = Results(read_records(Outcome, ROOT / "results" / "vmnist" / "outcomes.csv"))
    honest, retrained = results.gains("sph_chosen"), results.gains("retrained")
    said = " ".join(README.split())
    assert f"the honest gain is {honest[0]:+.1f} % at 100 samples, {honest[1]:+.1f} % at 200" in said
    assert f"at most {honest[2:].max():+.1f} % beyond" in said
    assert f"{retrained[0]:.0f} % fewer errors at 100 samples, and {retrained[-1]:.0f} % fewer at 50,000" in said


def test_what_the_readme_says_of_autohead_is_in_results():
    said = " ".join(README.split())
    assert " ".join((ROOT / "results" / "money" / "peers.md").read_text().split()) in said
    met = re.search(r"Met: (\d+ of \d+)\.", (ROOT / "results" / "money" / "targets.md").read_text())
    assert f"{met.group(1)} met." in said


def test_the_verdict_in_the_readme_is_the_one_that_audit_gives():
    scores = aftermax.data.load_vmnist(trained_on=500)
    found = aftermax.audit(scores.val_logits[:1000], scores.val_labels[:1000])
    assert f"\n    {found.verdict}\n" in README


def test_links_in_the_readme_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target
