"""Compiled code that is kept on disk."""

import io
import sys
from types import SimpleNamespace

import pytest
from numba import config, njit

from aftermax._utils import compiled as module
from aftermax._utils.compiled import compiled, is_cached
from aftermax._utils.softmax_kernels import certainties


def test_compiled_code_is_found_on_disk(tmp_path):
    function = SimpleNamespace(stats=SimpleNamespace(cache_path=str(tmp_path)))
    assert not is_cached(function)
    (tmp_path / "kernels.certainties-81.py311.nbi").touch()
    assert is_cached(function)


def test_without_a_folder_for_compiled_code_there_is_nothing_to_find():
    assert is_cached(SimpleNamespace(stats=SimpleNamespace(cache_path=None)))


def test_numba_says_where_compiled_code_is():
    assert certainties.stats.cache_path is not None
    assert compiled(lambda x: x + 1)(1) == 2


def test_the_folder_of_all_loops_is_above_that_of_each(monkeypatch):
    def in_folder(path):
        return SimpleNamespace(stats=SimpleNamespace(cache_path=path))

    monkeypatch.setattr(module, "LOOPS", [in_folder("/cache/one"), in_folder("/cache/other")])
    assert str(module.cache_folder()) == "/cache"
    monkeypatch.setattr(module, "LOOPS", [in_folder("/cache/one"), in_folder(None)])
    assert module.cache_folder() is None


@pytest.fixture(autouse=True)
def own_loops(monkeypatch):
    monkeypatch.setattr(module, "LOOPS", list(module.LOOPS))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def noted(monkeypatch, stream, *loops):
    """What is printed when functions are compiled. pytest replaces standard error between a fixture and its test."""
    monkeypatch.setattr(sys, "stderr", stream)
    for loop in loops:
        loop(1)
    return stream.getvalue()


@pytest.fixture
def not_told(monkeypatch):
    monkeypatch.setattr(module._note, "told", False)


@pytest.mark.usefixtures("not_told")
def test_compiling_is_announced_once_and_on_a_terminal_only(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))  # where nothing is compiled yet
    assert noted(monkeypatch, io.StringIO(), compiled(lambda x: x + 1)) == ""
    assert noted(monkeypatch, Terminal(), njit(lambda x: x + 3)) == ""  # not of this package
    printed = noted(monkeypatch, Terminal(), compiled(lambda x: x + 2), compiled(lambda x: x + 3))
    assert printed == "aftermax: compiling, once on this machine; 'aftermax warm' does it beforehand.\n"


@pytest.mark.usefixtures("not_told")
def test_compiling_that_is_announced_already_is_not_announced_again(monkeypatch):
    module.compilation_is_announced()
    monkeypatch.setattr(module, "njit", without_a_folder)
    assert noted(monkeypatch, Terminal(), compiled(lambda x: x + 4)) == ""


@pytest.mark.usefixtures("not_told")
def test_code_that_cannot_be_kept_is_announced_as_such(monkeypatch):
    monkeypatch.setattr(module, "njit", without_a_folder)
    printed = noted(monkeypatch, Terminal(), compiled(lambda x: x + 5))
    assert printed.startswith("aftermax: compiling, in every process, as numba can write to no folder")


def without_a_folder(cache=False, **options):
    if cache:
        raise RuntimeError("cannot cache function: no locator available")
    return njit(**options)


# ---- a cache that is damaged or full ---------------------------------------------------------------------------------


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """A folder for compiled code."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(module._Cache, "told", False)
    return tmp_path


def one_more(x):
    return x + 1


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [b"", b"\x80\x04damaged", bytes(100)])
def test_a_damaged_cache_is_compiled_anew(cache, suffix, damage):
    assert compiled(one_more)(1) == 2
    (damaged,) = cache.rglob(f"*{suffix}")
    damaged.write_bytes(damage)
    assert compiled(one_more)(1) == 2
    again = compiled(one_more)
    assert again(1) == 2
    assert sum(again.stats.cache_hits.values()) == 1  # it was mended, too


def test_a_full_disk_is_told_once_with_the_folder_and_stops_nothing(cache, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    loop = compiled(one_more)
    with pytest.warns(UserWarning, match=r"cannot be kept in .*No space left on device.* NUMBA_CACHE_DIR") as caught:
        assert loop(1) == 2
    assert str(cache) in str(caught[0].message)
    assert compiled(lambda x: x + 2)(1) == 3  # and nothing is said
