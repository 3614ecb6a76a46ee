"""Redraw results/gallery: run the code of docs/pictures.md and copy the pictures that the page shows."""

import os
import re
import shutil
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def draw() -> None:
    """Run the page's code in a temporary folder, then copy its pictures."""
    page = (ROOT / "docs" / "pictures.md").read_text()
    gallery = ROOT / "results" / "gallery"
    gallery.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        exec("".join(re.findall(r"^```python\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)), {})
        for name in re.findall(r"results/gallery/([\w-]+\.png)", page):
            shutil.copyfile(name, gallery / name)
            print(gallery / name)
        os.chdir(ROOT)


if __name__ == "__main__":
    draw()
