"""The experiments are beside the package, not in it."""

import re

from helpers.samples import ROOT

PACKAGE = ROOT / "src" / "aftermax"


def test_the_package_has_no_experiments_in_it():
    assert not [path for path in PACKAGE.rglob("*") if path.stem == "experiments"]


def test_no_module_of_the_package_imports_the_experiments():
    importing = re.compile(r"^\s*(from|import) (experiments|benchmarks)\b", re.MULTILINE)
    assert not [path.name for path in PACKAGE.rglob("*.py") if importing.search(path.read_text())]
