"""MkDocs hooks: the version, and files from outside docs/: the results, unchanged, and the changelog.

Pages link to ``../results/...`` so that they also work on a git host. In the site, such links lead to the same files,
and a paragraph that consists of a link to a table (``results/*/*.md``) is replaced by that table.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
RESULT_TYPES = {".csv", ".json", ".md", ".png"}
RENAMED = {"../CHANGELOG.md": "changelog.md"}
PICTURE = re.compile(r"^!\[([^\]]+)\]\(\.\./(results/[\w./-]+\.png)\)$", flags=re.MULTILINE)
TABLE = re.compile(r"^\[[^\]]+\]\(\.\./(results/[\w./-]+\.md)\)$", flags=re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Show the version beside the link to the repository and, on narrow screens too, at the end of every page."""
    source = (ROOT / "src" / "aftermax" / "__init__.py").read_text()
    release = re.search(r'^__version__ = "(.+)"$', source, flags=re.MULTILINE)
    assert release is not None, "aftermax has no version"
    config.extra["release"] = release[1]
    config.copyright = f"aftermax {release[1]}, {config.copyright}"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the results and the changelog to the files of the site."""
    for path in sorted((ROOT / "results").rglob("*")):
        if path.suffix in RESULT_TYPES:
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    files.append(File.generated(config, "changelog.md", abs_src_path=str(ROOT / "CHANGELOG.md")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert tables, link each picture to its full size, and keep links to files outside docs/ within the site."""
    if page.file.src_uri.startswith("results/"):
        page.meta["hide"] = [] if "\n## " in markdown else ["toc"]
        return markdown
    markdown = TABLE.sub(lambda link: _table(link[1]), markdown)
    markdown = PICTURE.sub(r"[![\1](\2)](\2)", markdown)
    for link, name in RENAMED.items():
        markdown = markdown.replace(f"]({link})", f"]({name})")
    return markdown.replace("](../results/", "](results/")


def _table(path: str) -> str:
    return f"{(ROOT / path).read_text().strip()}\n\n<small>[{path}]({path})</small>"
