"""The layers of the package: who may import whom, and that private names stay private."""

import ast
import tomllib
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

import pytest

from helpers.samples import ROOT

# Low to high. A folder imports itself and lower layers, but no other folder of its own layer.
LAYERS = [
    {"_utils"},
    {"answers", "_priors"},
    {"_heads", "unlabelled", "_abstention"},
    {"sph", "_residual"},
    {"_many"},
    {"_wrapped"},
    {"auto"},
    {"decide"},
    {"_audit", "_check", "posthoc", "storage"},
    {"_scorefiles", "plots"},
    {"bridges", "report"},
    {"_demo"},
    {"_cli"},
    {"__main__"},
]
LEVELS = {folder: level for level, layer in enumerate(LAYERS) for folder in layer}
EVERYWHERE = "data"  # may be imported from anywhere, and imports only _utils
# A public method of a lower layer that calls a higher one, and imports it when it is called.
CALLS_UPWARDS = {("aftermax._audit.result", "plots")}  # Audit.plot()


class Import(NamedTuple):
    """One imported name. ``module`` is the module that holds it, or the module itself, and then ``name`` is empty."""

    importer: str
    module: str
    name: str
    at_start: bool  # run when the importer is imported: not in a function, and not for type checking only
    for_types: bool

    def __str__(self):
        return f"{self.importer} imports {self.module}{f' ({self.name})' if self.name else ''}"


def read_package(folder):
    """The source of each module by its dotted name; a package has the name of its folder."""
    sources = {}
    for path in sorted(folder.rglob("*.py")):
        parts = [folder.name, *path.relative_to(folder).with_suffix("").parts]
        sources[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text(encoding="utf-8")
    return sources


def find_imports(sources):
    return [one for module, source in sources.items() for one in _imports_of(module, ast.parse(source), sources)]


def _imports_of(importer, node, sources, at_start=True, for_types=False):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom | ast.Call):
            for module, name in _imported(child, sources):
                yield Import(importer, module, name, at_start, for_types)
        in_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        only_types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        later = in_function or only_types
        yield from _imports_of(importer, child, sources, at_start and not later, for_types or only_types)


def _imported(node, sources):
    """Pairs of module and name that an import statement, or a call of import_module, takes from the package."""
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func).split(".")[-1]
        names = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        found = [(name, "") for name in names] if called in ("import_module", "__import__") else []
    elif isinstance(node, ast.Import):
        found = [(alias.name, "") for alias in node.names]
    else:
        assert node.level == 0, "imports are absolute"
        found = [(node.module, alias.name) for alias in node.names]
    found = [(f"{module}.{name}", "") if f"{module}.{name}" in sources else (module, name) for module, name in found]
    return [one for one in found if one[0].split(".")[0] == "aftermax"]


def folder_of(module):
    return [*module.split("."), ""][1]


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def imports_against_the_layers(sources):
    return [str(one) for one in find_imports(sources) if not _follows_the_layers(one)]


def _follows_the_layers(one):
    importer, imported = folder_of(one.importer), folder_of(one.module)
    if importer == "":
        return one.for_types
    if imported == "":
        return one.name == "__version__"
    if imported in (importer, EVERYWHERE):
        return True
    if importer == EVERYWHERE:
        return imported == "_utils"
    if (one.importer, imported) in CALLS_UPWARDS:
        return not one.at_start
    return LEVELS[importer] > LEVELS[imported]


def import_cycle(sources):
    """The modules of an import cycle, if there is one."""
    graph = {module: set() for module in sources}
    for one in find_imports(sources):
        if one.at_start and one.module != one.importer:
            graph[one.importer].add(one.module)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def uses_of_private_names(sources):
    return [str(one) for one in find_imports(sources) if _is_private_elsewhere(one)]


def _is_private_elsewhere(one):
    """Private names belong to their module, and private modules within a folder to that folder."""
    if one.importer == "aftermax":
        return False
    if one.module != one.importer and is_private(one.name):
        return True
    return folder_of(one.importer) != folder_of(one.module) and any(map(is_private, one.module.split(".")[2:]))


# ---- the package -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def package():
    return read_package(ROOT / "src" / "aftermax")


def test_every_folder_has_a_layer(package):
    assert {folder_of(module) for module in package} == {"", EVERYWHERE, *LEVELS}


def test_no_module_imports_upwards_or_sideways(package):
    found = imports_against_the_layers(package)
    assert not found, "\n".join(found)


def test_no_modules_import_each_other(package):
    assert import_cycle(package) == []


def test_no_module_imports_private_names_of_another(package):
    found = uses_of_private_names(package)
    assert not found, "\n".join(found)


def test_ruff_checks_private_attributes():
    """Its rule SLF knows which ``_names`` are an object's own."""
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    assert "SLF" in lint["select"]
    ignored = [path for path, rules in lint["per-file-ignores"].items() if "SLF" in rules or "SLF001" in rules]
    assert ignored == ["tests/*"]


# ---- the rules can fail ----------------------------------------------------------------------------------------------

MADE_UP = {
    "aftermax": "",
    "aftermax.data": "",
    "aftermax._utils.text": "",
    "aftermax.sph.grid": "",
    "aftermax.sph._kernels": "",
    "aftermax.storage": "",
    "aftermax.auto.head": "",
    "aftermax.plots.audit": "",
}


def made_up(module, source, **others):
    return MADE_UP | {f"aftermax.{name.replace('__', '.')}": text for name, text in others.items()} | {module: source}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("aftermax.sph.grid", "from aftermax.auto.head import AutoHead"),
        ("aftermax.sph.grid", "import aftermax.auto.head"),
        ("aftermax.sph.grid", "from aftermax.auto import head"),
        ("aftermax.sph.grid", "def f():\n    from aftermax.auto.head import AutoHead"),
        ("aftermax.sph.grid", "if TYPE_CHECKING:\n    from aftermax.auto.head import AutoHead"),
        ("aftermax.sph.grid", "def f():\n    return import_module('aftermax.auto.head')"),
        ("aftermax.sph.grid", "from aftermax._residual.head import ResidualHead"),  # of the same layer
        ("aftermax.storage", "from aftermax._audit.result import Audit"),  # of the same layer
        ("aftermax._utils.text", "import aftermax.sph.grid"),
        ("aftermax.data", "from aftermax.sph.grid import default_grid"),
        ("aftermax.plots.audit", "from aftermax import audit"),
        ("aftermax.plots.audit", "import aftermax"),
        ("aftermax._audit.result", "from aftermax.plots import AuditDisplay"),  # allowed when it is called
        ("aftermax", "from aftermax.sph.grid import default_grid"),
    ],
)
def test_an_import_against_the_layers_is_found(module, source):
    (found,) = imports_against_the_layers(made_up(module, source))
    assert found.startswith(f"{module} imports aftermax")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("aftermax.auto.head", "from aftermax.sph.grid import default_grid"),
        ("aftermax.auto.head", "from aftermax.auto.candidates import Candidates"),
        ("aftermax._utils.text", "from aftermax.data import load_vmnist"),
        ("aftermax.data", "from aftermax._utils.text import percent"),
        ("aftermax.plots.audit", "from aftermax import __version__"),
        ("aftermax.plots.audit", "import numpy, aftermaxed"),
        ("aftermax._audit.result", "def plot():\n    from aftermax.plots import AuditDisplay"),
        ("aftermax", "if TYPE_CHECKING:\n    from aftermax.sph.grid import default_grid"),
    ],
)
def test_an_import_of_a_lower_layer_is_not_found(module, source):
    assert imports_against_the_layers(made_up(module, source)) == []


def test_a_cycle_is_found_unless_the_import_comes_later():
    other = "from aftermax.sph.grid import default_grid"
    for source in (
        "import aftermax.sph.sweep",
        "from aftermax.sph import sweep",
        "try:\n    import aftermax.sph.sweep\nfinally:\n    pass",
    ):
        assert set(import_cycle(made_up("aftermax.sph.grid", source, sph__sweep=other))) == {
            "aftermax.sph.grid",
            "aftermax.sph.sweep",
        }
    for source in ("def f():\n    import aftermax.sph.sweep", "if TYPE_CHECKING:\n    import aftermax.sph.sweep"):
        assert import_cycle(made_up("aftermax.sph.grid", source, sph__sweep=other)) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("aftermax.sph.grid", "from aftermax._utils.text import _padded"),
        ("aftermax.sph.grid", "from aftermax.sph._kernels import _loop"),
        ("aftermax.auto.head", "from aftermax.sph._kernels import loop"),
        ("aftermax.auto.head", "from aftermax.sph import _kernels"),
        ("aftermax.auto.head", "def f():\n    import aftermax.sph._kernels"),
    ],
)
def test_a_private_name_of_another_module_is_found(module, source):
    (found,) = uses_of_private_names(made_up(module, source))
    assert found.startswith(f"{module} imports aftermax.")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("aftermax.sph.grid", "from aftermax.sph._kernels import loop"),
        ("aftermax.sph.grid", "from aftermax.sph import _kernels"),
        ("aftermax.sph.grid", "from aftermax._utils.text import percent"),
        ("aftermax.sph.grid", "from aftermax import __version__"),
    ],
)
def test_names_that_a_module_may_use_are_not_found(module, source):
    assert uses_of_private_names(made_up(module, source)) == []
