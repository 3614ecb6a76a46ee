"""README and docs: all code runs, tables and figures are those in results, links are valid, the site builds.

Blocks of ``python`` and ``bash`` are run, in order, in one process and one folder per page; README's Python blocks
share the folder but no names. A Python block that begins with the name of a file, as a comment, is saved under it and
not run. A block of ``text`` right after one of these shows its output, or some lines of it. A ``console`` block is not
run, and may only contain commands of NOT_RUN; one of ``dockerfile`` is not run either.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import typer.main

import aftermax
import aftermax.plots
from aftermax._cli.app import app
from helpers.samples import ROOT

README = ROOT / "README.md"
DOCS = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "gallery").glob("*.md")])
PAGES = [README, *DOCS]
TEXTS = {page.name: page.read_text() for page in PAGES}
TABLES = [
    "results/demo/table.md",
    "results/bench/sph.md",
    "results/bench/choosing.md",
    "results/bench/auto.md",
    "results/bench/predict.md",
    "results/bench/thousand.md",
    "results/bench/many.md",
    "results/bench/largest.md",
    "results/bench/dask.md",
    "results/choosing/vmnist.md",
    "results/choosing/summary.md",
    "results/choosing/files.md",
    "results/vmnist/claims.md",
    "results/cifar/summary.md",
    "results/cifar/findings.md",
    "results/cifar/guesses.md",
    "results/cifar/untrained.md",
    "results/models/verdict.md",
    "results/training-samples/table.md",
    "results/training-samples/verdict.md",
    "results/loss/table.md",
    "results/loss/verdict.md",
    "results/layers/table.md",
    "results/prompts/table.md",
    "results/characters/summary.md",
    "results/characters/cost.md",
    "results/characters/verdict.md",
    "results/zeroshot/summary.md",
    "results/zeroshot/told_less.md",
    "results/zeroshot/verdict.md",
    "results/layers/verdict.md",
    "results/costs/verdict.md",
    "results/abstention/verdict.md",
    "results/abstention/summary.md",
    "results/recipes/table.md",
    "results/shift/summary.md",
    "results/shift/table.md",
    "results/money/methods.md",
    "results/money/peers.md",
    "results/priors/errors.md",
    "results/priors/harm.md",
    "results/priors/other.md",
    "results/priors/shares.md",
]
TABLES_OF_README = ["results/demo/table.md", "results/shift/summary.md", "results/cifar/summary.md"]
NOT_RUN = ("pip install ", "make ", "python -m experiments ", "aftermax --install-completion")
RUN = ("python", "bash")
NEEDED = {"mlflow.md": "mlflow"}  # what is not in the extra "dev", as its versions do not fit the others
TERMS = ("hyperparameter", "out-of-fold", "leave-one-out", "Nystroem", "RBF", "whitening", "overfit")

# Runs the blocks of a page; a failure names the page and the line. Writes the output of each block as JSON.
RUNNER = """
import contextlib, io, json, pathlib, re, subprocess, sys
blocks, separate, names, printed = *json.load(sys.stdin), {"__name__": "__main__"}, []
for language, code, first, page in blocks:
    file = re.match(r"# (\\w+\\.py)\\n", code) if language == "python" else None
    if file:
        pathlib.Path(file[1]).write_text(code)
        printed.append("")
    elif language == "python":
        names = {"__name__": "__main__"} if separate else names
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile("\\n" * (first - 1) + code, page, "exec"), names)
        printed.append(out.getvalue())
    else:
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", code], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{page}, line {first}: exit code {done.returncode} of\\n{code}\\n{done.stdout}{done.stderr}")
        printed.append(done.stdout + done.stderr)
json.dump(printed, sys.stdout)
"""


class Block(NamedTuple):
    """A fenced block: its language, its text, the line where it starts, and the output shown right after it."""

    language: str
    code: str
    line: int
    shown: str


def blocks_of(text):
    blocks = []
    for fence in re.finditer(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE):
        after = re.match(r"\n+```text\n(.*?)^```$", text[fence.end() :], flags=re.DOTALL | re.MULTILINE)
        line = text[: fence.start()].count("\n") + 2
        blocks.append(Block(fence[1], fence[2], line, after[1] if after else ""))
    return blocks


def with_code(pages):
    return [page for page in pages if any(block.language in RUN for block in blocks_of(page.read_text()))]


@pytest.mark.slow
@pytest.mark.parametrize("page", with_code(PAGES), ids=lambda page: page.name)
def test_the_code_on_a_page_runs_and_prints_what_is_shown(page, tmp_path):
    if page.name in NEEDED:
        pytest.importorskip(NEEDED[page.name], reason=f"{NEEDED[page.name]} is not installed")
    blocks = [block for block in blocks_of(page.read_text()) if block.language in RUN]
    code = [(block.language, block.code, block.line, page.name) for block in blocks]
    scripts = str(Path(sys.executable).parent)
    env = os.environ | {
        "PATH": os.pathsep.join([scripts, os.environ["PATH"]]),
        "MPLBACKEND": "Agg",
        "KERAS_HOME": str(tmp_path / "keras"),
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    done = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps([code, page == README]),
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "UserWarning" not in done.stderr
    for block, printed in zip(blocks, json.loads(done.stdout), strict=True):
        assert_shown(block, printed, page.name)


def assert_shown(block, printed, page):
    """Assert that every line shown was printed, in this order."""
    lines = iter(line.rstrip() for line in printed.splitlines())
    for line in block.shown.splitlines():
        assert line.rstrip() in lines, f"{page}, line {block.line}: {line!r} is not in\n{printed}"


def test_console_blocks_hold_only_commands_that_cannot_be_run_here():
    for page, text in TEXTS.items():
        assert text.count("```") == 2 * len(blocks_of(text)), f"{page}: a fence is not closed, or inside a list"
        assert not re.search(r"^    aftermax ", text, flags=re.MULTILINE), f"{page}: commands belong in a fence"
        for block in blocks_of(text):
            assert block.language in (*RUN, "console", "dockerfile", "text"), f"{page}, line {block.line}"
            for line in block.code.splitlines() if block.language == "console" else ():
                assert line.startswith(tuple(f"$ {command}" for command in NOT_RUN)), f"{page}: {line}"


# ---- figures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", TABLES)
def test_every_table_of_results_is_included_in_the_docs_and_some_are_in_the_readme(path):
    link = re.compile(rf"^\[[^\]]+\]\(\.\./{path}\)$", flags=re.MULTILINE)
    assert any(link.search(page.read_text()) for page in DOCS)
    if path in TABLES_OF_README:
        assert path in TEXTS["README.md"]
        assert (ROOT / path).read_text().strip() in TEXTS["README.md"]


def test_no_table_of_results_is_copied_into_the_docs():
    for path in TABLES:
        first = (ROOT / path).read_text().splitlines()[0]
        assert [name for name, text in TEXTS.items() if first in text] in ([], ["README.md"]), path


def test_figures_next_to_a_link_to_results_are_in_the_linked_file():
    checked = 0
    for page, text in TEXTS.items():
        for line in text.splitlines():
            links = re.findall(r"\]\((?:\.\./)?(results/[\w/-]+\.md)\)", line)
            figures = re.findall(r"\d+\.\d+|\d+(?= [%x] )", line) if links and line.startswith("| ") else []
            source = "\n".join((ROOT / link).read_text() for link in links)
            for figure in figures:
                assert figure in source, f"{page}: {figure} is not in {links}"
            checked += len(figures)
    assert checked > 20


def text_of(page):
    """The text of a page on one line."""
    return " ".join(TEXTS[page].split())


def test_the_figures_in_sentences_on_the_paper_are_those_in_results():
    lines = (ROOT / "results" / "vmnist" / "sizes.md").read_text().splitlines()[2:]
    gains = [[float(gain) for gain in re.findall(r"([+-][\d.]+) ±", line)] for line in lines]
    chosen, retrained = [row[1] for row in gains], [row[-1] for row in gains]
    assert f"the gain is {chosen[0]:+.1f} % at 100 samples, {chosen[1]:+.1f} % at 200" in text_of("choosing.md")
    assert f"at most {max(chosen[2:]):+.1f} % beyond" in text_of("choosing.md")
    reduction = f"{retrained[0]:.0f} % fewer errors at 100 samples, and {retrained[-1]:.0f} % fewer at 50,000"
    assert reduction in text_of("paper.md")


def test_the_figures_in_sentences_on_autohead_are_those_in_results():
    assert " ".join((ROOT / "results" / "money" / "peers.md").read_text().split()) in text_of("README.md")
    methods = (ROOT / "results" / "money" / "methods.md").read_text()
    row = next(line for line in methods.splitlines() if line.startswith("| AutoHead |"))
    cases, worse, log_loss = (row.split(" | ")[place].strip("| ") for place in (1, 5, 8))
    assert worse == "0.0 %"
    assert "AutoHead was significantly worse than softmax in none of them." in text_of("README.md")
    assert f"AutoHead was significantly worse than softmax in none of the {cases} measured cases" in text_of("faq.md")
    assert f"its log loss is {log_loss.removeprefix('-')} lower" in text_of("faq.md")


# ---- links -----------------------------------------------------------------------------------------------------------


def anchors_of(text):
    """The anchors that a git host makes from headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_are_valid(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path) if path else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors_of(linked.read_text()), target


# ---- completeness ----------------------------------------------------------------------------------------------------


def test_the_reference_has_every_public_name():
    documented = set(re.findall(r"^::: ([\w.]+)$", "\n".join(TEXTS.values()), flags=re.MULTILINE))
    names = {f"aftermax.{name}" for name in aftermax.__all__ if name != "__version__"}
    assert names | {f"aftermax.plots.{name}" for name in aftermax.plots.__all__} <= documented


def test_every_command_is_explained():
    commands = typer.main.get_command(app).commands
    for name in (name for name, command in commands.items() if not command.hidden):
        assert f"aftermax {name}" in TEXTS["command-line.md"]


@pytest.mark.parametrize("term", TERMS)
def test_the_docs_name_the_methods_as_the_literature_does(term):
    assert any(term.lower() in text.lower() for text in TEXTS.values())


def test_the_map_of_the_source_has_every_file():
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    package = ROOT / "src" / "aftermax"
    files = [path.name for path in package.glob("*.py") if path.name != "__init__.py"]
    folders = [f"{path.parent.name}/" for path in package.glob("*/__init__.py")]
    assert [name for name in files + folders if f"`{name}`" not in contributing] == []


def test_every_picture_in_the_gallery_is_drawn_by_the_code_next_to_it():
    gallery = set(re.findall(r"\(\.\./results/gallery/([\w-]+\.png)\)", TEXTS["pictures.md"]))
    assert gallery == {path.name for path in (ROOT / "results" / "gallery").glob("*.png")}
    drawn = set(re.findall(r'savefig\("([\w-]+\.png)"', TEXTS["pictures.md"]))
    assert gallery <= drawn


# ---- the site --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_loads_nothing_from_other_hosts(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(DOCS)
    for page in pages:
        elsewhere = r'<(?:script|link|img|iframe)[^>]*(?:src|href)="?((?:https?:)?//[^" >]+)'
        assert not re.findall(elsewhere, page.read_text()), page


@pytest.mark.slow
def test_the_first_page_has_a_picture_the_version_and_a_link_to_the_repository_which_asks_no_other_host(site):
    page = (site / "index.html").read_text()
    assert re.search(r'<img alt="[^"]+" src="results/gallery/[\w-]+\.png"', page)
    assert page.count(f"aftermax {aftermax.__version__}, BSD") == 1
    assert re.search(rf"md-source__fact--version[^>]*>{re.escape(aftermax.__version__)}<", page)
    address = re.search(r"^repo_url: (.+)$", (ROOT / "mkdocs.yml").read_text(), flags=re.MULTILINE)[1]
    assert re.search(rf'<a href="?{re.escape(address)}"?[^>]*class="?md-source', page)
    assert "data-md-component=source" not in page.replace('"', "")  # it would fetch the number of stars


@pytest.mark.slow
def test_tables_and_search_are_in_the_site(site):
    assert "probmetrics" in (site / "money.html").read_text()  # from results/money/methods.md
    assert "../results" not in (site / "money.html").read_text()
    sections = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    assert any("gain_interval_" in section["text"] for section in sections if "reference" in section["location"])
