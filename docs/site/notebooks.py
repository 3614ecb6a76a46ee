"""Write the notebooks and pictures of docs/gallery: ``python docs/site/notebooks.py [PAGE ...]``.

A notebook has the prose and the code of its page, and what the code prints and draws when it is run here. The tests
compare it with the page.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs" / "gallery"
REPOSITORY = re.search(r"^repo_url: (\S+)$", (ROOT / "mkdocs.yml").read_text(), flags=re.MULTILINE)[1]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$\n*", flags=re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r"^!\[[^\]]*\]\([\w-]+\.png\)\n*", flags=re.MULTILINE)
COLAB = re.compile(r"^\[Open in Colab\]\(\S+\)\n*", flags=re.MULTILINE)


class Cell(NamedTuple):
    """A cell of a notebook: ``language`` is that of the block on the page, or "markdown"."""

    language: str
    source: str


def colab_link(page: Path) -> str:
    """Where the notebook of a page is opened."""
    path = page.with_suffix(".ipynb").relative_to(ROOT).as_posix()
    return f"{REPOSITORY.replace('github.com', 'colab.research.google.com/github')}/blob/main/{path}"


def cells_of(text: str) -> list[Cell]:
    """The cells of a page. Pictures and printed text are outputs, which no cell holds."""
    parts = FENCE.split(text)  # prose, language, code, prose, ...
    cells = [Cell("markdown", _prose(parts[0]))]
    for language, code, prose in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        if language != "text":
            cells.append(Cell(language, _code(language, code)))
        cells.append(Cell("markdown", _prose(prose)))
    return [cell for cell in cells if cell.source]


def _prose(text: str) -> str:
    """Without pictures and the link to Colab; links to other pages lead to the repository."""
    text = COLAB.sub("", PICTURE.sub("", text)).strip()
    return text.replace("](../", f"]({REPOSITORY}/blob/main/docs/")


def _code(language: str, code: str) -> str:
    if language == "bash":
        return f"%%bash\n{code.rstrip()}"
    if language == "console":  # pip, of a clone
        command = code.strip().removeprefix("$ ").replace("-c constraints.txt ", "")
        command = re.sub(r"'?\.(\[[\w,]+\])?'?(?= |$)", rf'"aftermax\1 @ git+{REPOSITORY}"', command, count=1)
        return command.replace("pip install", "%pip install --quiet")
    return code.rstrip()


# ---- running ---------------------------------------------------------------------------------------------------------


def run(cells: list[Cell]) -> list[list[dict[str, Any]]]:
    """The outputs of each cell. Files, pictures among them, are written to the working directory."""
    names: dict[str, Any] = {"__name__": "__main__"}
    outputs = []
    for cell in cells:
        before = set(Path().glob("*.png"))
        printed = zip(("stdout", "stderr"), _printed(cell, names), strict=True)
        texts = [
            {"name": name, "output_type": "stream", "text": text.splitlines(keepends=True)}
            for name, text in printed
            if text
        ]
        outputs.append(texts + [_shown(path) for path in sorted(set(Path().glob("*.png")) - before)])
    return outputs


def _printed(cell: Cell, names: dict[str, Any]) -> tuple[str, str]:
    """Standard output and, of commands, standard error, where their summaries are."""
    if cell.language == "python":
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(cell.source, names)
        return out.getvalue(), ""
    if cell.language == "bash":
        command = ["bash", "-euo", "pipefail", "-c", cell.source.removeprefix("%%bash\n")]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout, done.stderr
    return "", ""


def _shown(picture: Path) -> dict[str, Any]:
    data = {"image/png": base64.b64encode(picture.read_bytes()).decode()}
    return {"data": data, "metadata": {}, "output_type": "display_data"}


# ---- writing ---------------------------------------------------------------------------------------------------------


def notebook(cells: list[Cell], outputs: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """A notebook of format 4.5."""
    written, count = [], 0
    for number, (cell, shown) in enumerate(zip(cells, outputs, strict=True)):
        common = {"id": f"cell-{number}", "metadata": {}, "source": cell.source.splitlines(keepends=True)}
        if cell.language == "markdown":
            written.append({"cell_type": "markdown"} | common)
            continue
        count += cell.language != "console"
        executed = None if cell.language == "console" else count
        written.append({"cell_type": "code", "execution_count": executed, "outputs": shown} | common)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": written, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def write(page: Path) -> None:
    """Run a page in a temporary folder, and write its notebook and its pictures beside it."""
    cells = cells_of(page.read_text())
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        made = notebook(cells, run(cells))
        for picture in Path(folder).glob("*.png"):
            shutil.copyfile(picture, GALLERY / picture.name)
    page.with_suffix(".ipynb").write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    os.environ["MPLBACKEND"] = "Agg"
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for name in sys.argv[1:] or sorted(path.stem for path in GALLERY.glob("*.md")):
        write(GALLERY / f"{name}.md")
        print(GALLERY / f"{name}.ipynb")
