"""``aftermax warm``."""

import re

from aftermax._utils import compiled
from helpers.command import refused, run_here


def test_it_says_how_long_it_took_and_where_the_code_is():
    done = run_here("warm", check=True)
    assert done.stdout == ""
    seconds, folder = re.fullmatch(r"compiled in (\d+\.\d) s, and kept below (.+)\n", done.stderr).groups()
    assert folder == str(compiled.cache_folder())
    assert all(loop.stats.cache_path.startswith(folder) for loop in compiled.LOOPS)
    assert float(seconds) < 1000


def test_without_a_folder_the_error_names_the_variable_to_set(monkeypatch):
    monkeypatch.setattr(compiled, "cache_folder", lambda: None)
    assert "set NUMBA_CACHE_DIR to one that you can write to" in refused("warm")
