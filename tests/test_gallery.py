"""The gallery: each page has a notebook in step with it, outputs included. Pages are run by test_docs.py."""

import json
import re
import tomllib

import pytest

from docs.site.notebooks import GALLERY, REPOSITORY, Cell, cells_of, colab_link, notebook, run
from helpers.samples import ROOT

PAGES = sorted(GALLERY.glob("*.md"))
OVERVIEW = (ROOT / "docs" / "gallery.md").read_text()
BLOCK = re.compile(r"^```(?:python|bash)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", flags=re.DOTALL | re.MULTILINE)


def read_notebook(page):
    return json.loads(page.with_suffix(".ipynb").read_text())


def printed_by(cell):
    texts = [output["text"] for output in cell["outputs"] if output["output_type"] == "stream"]
    return "".join(line for text in texts for line in text)


def test_six_pages_are_in_the_overview_and_on_the_site():
    assert len(PAGES) == 6
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in PAGES:
        assert f"](gallery/{page.name})" in OVERVIEW
        assert f": gallery/{page.name}\n" in navigation
    assert {path.stem for path in GALLERY.glob("*.ipynb")} == {page.stem for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_has_the_prose_and_the_code_of_its_page(page):
    cells = cells_of(page.read_text())
    made = notebook(cells, [[] for _ in cells])
    kept = read_notebook(page)
    without_outputs = [cell | {"outputs": []} if "outputs" in cell else cell for cell in kept["cells"]]
    assert kept | {"cells": without_outputs} == made, f"run: python docs/site/notebooks.py {page.stem}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_has_the_outputs_that_its_page_shows(page):
    executed = [cell for cell in read_notebook(page)["cells"] if cell.get("execution_count")]
    blocks = BLOCK.findall(page.read_text())
    assert len(executed) == len(blocks)
    shown = 0
    for (_, expected), cell in zip(blocks, executed, strict=True):
        assert printed_by(cell).strip() == expected.strip()
        shown += bool(expected)
    assert shown >= 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pictures_are_drawn_by_the_page_and_are_those_of_the_notebook(page):
    text = page.read_text()
    pictures = re.findall(r"^!\[[^\]]+\]\(([\w-]+\.png)\)$", text, flags=re.MULTILINE)
    assert pictures == re.findall(r'savefig\("([\w-]+\.png)"\)', text)
    outputs = [output for cell in read_notebook(page)["cells"] for output in cell.get("outputs", [])]
    drawn = [output for output in outputs if output["output_type"] == "display_data"]
    assert len(drawn) == len(pictures)
    assert all((GALLERY / name).is_file() for name in pictures)


def test_no_picture_is_left_over():
    text = "".join(page.read_text() for page in PAGES)
    assert [path.name for path in GALLERY.glob("*.png") if path.name not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_link_to_colab_is_that_of_the_projects_repository(page):
    assert f"[Open in Colab]({colab_link(page)})\n" in page.read_text()
    assert colab_link(page).endswith(f"/blob/main/docs/gallery/{page.stem}.ipynb")
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"].get("urls", {})
    assert urls.get("Repository", REPOSITORY) == REPOSITORY


# ---- how pages become cells ------------------------------------------------------------------------------------------


def test_a_page_becomes_cells_and_what_is_output_does_not():
    page = """# Title

[Open in Colab](https://example.org/x.ipynb)

```console
$ pip install -c constraints.txt '.[torch,plots]' pandas
```

```python
print(1)
```

```text
1
```

![A picture](x.png)

See [audit](../audit.md#warnings).

```bash
ls
```
"""
    assert cells_of(page) == [
        Cell("markdown", "# Title"),
        Cell("console", f'%pip install --quiet "aftermax[torch,plots] @ git+{REPOSITORY}" pandas'),
        Cell("python", "print(1)"),
        Cell("markdown", f"See [audit]({REPOSITORY}/blob/main/docs/audit.md#warnings)."),
        Cell("bash", "%%bash\nls"),
    ]


def test_outputs_are_what_the_cells_print_and_draw(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write = 'from pathlib import Path\nPath("x.png").write_bytes(b"picture")\nvalue = 7'
    cells = [Cell("python", write), Cell("python", "print(value)"), Cell("bash", "%%bash\nls"), Cell("markdown", "x")]
    drawn, printed, listed, nothing = run(cells)
    assert drawn == [{"data": {"image/png": "cGljdHVyZQ=="}, "metadata": {}, "output_type": "display_data"}]
    assert printed == [{"name": "stdout", "output_type": "stream", "text": ["7\n"]}]
    assert listed[0]["text"] == ["x.png\n"]
    assert nothing == []
    counts = [cell.get("execution_count") for cell in notebook(cells, [drawn, printed, listed, nothing])["cells"]]
    assert counts == [1, 2, 3, None]
