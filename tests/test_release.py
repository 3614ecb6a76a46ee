"""What is released: wheel and sdist, the addresses, versions and dates in all places, the recipe, the workflows."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes

import pytest
import yaml
from packaging.version import Version

import aftermax
from hardening import distributions, install_cases
from hardening.report import read, write
from helpers.samples import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
REPOSITORY = PROJECT["urls"]["Repository"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RECIPE = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text())
# Those of conda-forge that have another name on PyPI.
CONDA_NAMES = {"matplotlib-base": "matplotlib", "pytorch": "torch"}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    pytest.importorskip("hatchling")
    pytest.importorskip("hatch_fancy_pypi_readme")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True, capture_output=True
    )
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def page(built):
    """What PyPI shows."""
    with zipfile.ZipFile(built[0]) as wheel:
        metadata = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
        return message_from_bytes(wheel.read(metadata)).get_payload()


def lower_bounds(requirements):
    """Each package of requirements such as ``dask[distributed]>=2025.7``, and its lowest version, if there is one."""
    parts = [re.fullmatch(r"([\w-]+)(\[\w+\])? ?(?:>=([\d.]+))?", text) for text in requirements]
    return {part[1]: part[3] for part in parts if part and part[1] != "aftermax"}


# ---- wheel and sdist -------------------------------------------------------------------------------------------------


def test_the_wheel_is_the_package_alone_and_small(built):
    names = set(zipfile.ZipFile(built[0]).namelist())
    package = {f"aftermax/{path.relative_to(ROOT / 'src' / 'aftermax').as_posix()}" for path in source_files()}
    assert {name for name in names if ".dist-info/" not in name} == package
    assert {"aftermax/py.typed", "aftermax/data/vmnist-100.npz", "aftermax/report/assets/template.html"} <= names
    assert built[0].stat().st_size <= distributions.LIMIT


def source_files():
    files = (path for path in (ROOT / "src" / "aftermax").rglob("*") if path.is_file())
    return [path for path in files if path.suffix not in (".pyc", ".nbi", ".nbc")]


def test_the_sdist_has_the_source_and_no_results(built):
    with tarfile.open(built[1]) as sdist:
        folders = {name.split("/")[1] for name in sdist.getnames()}
    assert {"src", "LICENSE", "README.md", "pyproject.toml", "CHANGELOG.md"} <= folders
    assert not folders & {"results", "tests", "experiments", "docs"}


def test_links_and_pictures_on_pypi_lead_somewhere(page):
    ours = re.compile(r"https://(?:raw\.githubusercontent|github)\.com/aftermax/aftermax/(?:blob/)?v[\d.]+/([^#]+)")
    targets = re.findall(r"\]\(([^)\s]+)\)", page)
    assert any(target.endswith(".png") for target in targets)
    for target in targets:
        assert target.startswith(("https://", "#")), target
        path = ours.match(target)
        assert not path or (ROOT / path[1]).exists(), target


def test_the_hash_of_the_code_is_that_of_what_users_install(built, tmp_path):
    with zipfile.ZipFile(built[0]) as wheel:
        content = {name: wheel.read(name) for name in wheel.namelist()}
    metadata = next(name for name in content if name.endswith("/METADATA"))

    def hashed(**changed):
        with zipfile.ZipFile(tmp_path / "changed.whl", "w") as archive:
            for name, value in (content | changed).items():
                archive.writestr(name, value)
        return distributions.code_hash(tmp_path / "changed.whl")

    same = distributions.code_hash(built[0])
    assert hashed(**{metadata: content[metadata] + b"More of README"}) == same
    assert hashed(**{metadata: content[metadata].replace(b"numpy>=2.0", b"numpy>=2.1")}) != same
    assert hashed(**{"aftermax/__init__.py": b""}) != same


# ---- one truth in several places -------------------------------------------------------------------------------------


def test_the_date_of_the_release_is_one():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert f"## {aftermax.__version__} ({citation['date-released']})" in (ROOT / "CHANGELOG.md").read_text()


def test_the_address_is_one():
    owner = REPOSITORY.removeprefix("https://github.com/")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["repository-code"] == RECIPE["about"]["repository"] == REPOSITORY
    assert citation["url"] == RECIPE["about"]["homepage"] == PROJECT["urls"]["Documentation"]
    for name in ("pyproject.toml", ".github/ISSUE_TEMPLATE/config.yml"):
        addresses = re.findall(r"(?:github|githubusercontent)\.com/([\w-]+/[\w-]+)", (ROOT / name).read_text())
        assert set(addresses) == {owner}, name


def test_the_recipe_needs_what_the_package_needs():
    assert RECIPE["context"]["version"] == aftermax.__version__
    run, constraints = (RECIPE["requirements"][key] for key in ("run", "run_constraints"))
    assert lower_bounds(run[1:]) == lower_bounds(PROJECT["dependencies"] + EXTRAS["cli"])
    others = [text for extra in install_cases.USERS if extra != "cli" for text in EXTRAS[extra]]
    expected = lower_bounds(others)
    expected["distributed"] = expected["dask"]  # dask[distributed]
    assert {CONDA_NAMES.get(name, name): low for name, low in lower_bounds(constraints).items()} == expected
    entry_points = RECIPE["build"]["python"]["entry_points"]
    assert entry_points == [f"{name} = {function}" for name, function in PROJECT["scripts"].items()]


def test_the_lowest_versions_are_those_that_are_tested():
    lines = [line.split("==") for line in (ROOT / "constraints-minimum.txt").read_text().splitlines() if line[0] != "#"]
    wanted = lower_bounds(PROJECT["dependencies"] + [text for extra in install_cases.USERS for text in EXTRAS[extra]])
    wanted["distributed"] = wanted["dask"]
    del wanted["torch"]  # whose old builds for Linux are gigabytes
    tested = {name: Version(version) for name, version in lines}
    assert tested == {name: Version(low) for name, low in wanted.items()}


# ---- installs --------------------------------------------------------------------------------------------------------


def test_every_extra_is_installed_and_has_a_smoke_run():
    assert {*install_cases.USERS, *install_cases.CLONES} == set(EXTRAS)
    alone = {case.extras[0] for case in install_cases.cases([sys.executable]) if len(case.extras) == 1}
    assert alone == set(EXTRAS)
    for script in ("core", "missing", *EXTRAS):
        assert (ROOT / "hardening" / "smoke" / f"{script}.py").is_file()


def test_what_was_installed_is_written_and_read_again(tmp_path):
    rows = [{"what": "core, alone", "outcome": "ok"}, {"what": "extra cli", "outcome": "failed"}]
    lines = write("installs", rows, "About it.", tmp_path).splitlines()
    assert [lines[0], *lines[4:]] == ["About it.", "| core, alone | ok |", "| extra cli | failed |"]
    assert read("installs", tmp_path) == rows
    assert read("never", tmp_path) == []


# ---- workflows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_only_read_unless_a_job_says_so(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    more = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    assert (
        more
        == {
            "ci.yml": {},
            "docs.yml": {"deploy": {"contents": "write"}},
            "release.yml": {"publish": {"id-token": "write"}},
        }[path.name]
    )
    for job in workflow["jobs"].values():
        for used in (step["uses"] for step in job["steps"] if "uses" in step):
            assert re.search(r"@(v\d+|release/v1)$", used), used


def test_nothing_is_published_but_a_tag_whose_wheel_was_tried():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    assert jobs["publish"]["needs"] == "smoke"
    assert jobs["smoke"]["needs"] == "build"
    assert jobs["publish"]["if"] == "github.ref_type == 'tag'"
