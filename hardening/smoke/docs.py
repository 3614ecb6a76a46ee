"""A site with a page of the API, as `make docs` builds it in a clone."""

import subprocess
import sys
from pathlib import Path

Path("docs").mkdir(exist_ok=True)
Path("docs/index.md").write_text("# API\n\n::: aftermax.AutoHead\n")
Path("mkdocs.yml").write_text("site_name: try\ntheme:\n  name: material\nplugins:\n  - search\n  - mkdocstrings\n")
subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet"], check=True)
assert "only_proven" in Path("site/index.html").read_text()
