"""Compiled code that is kept on disk."""

from types import SimpleNamespace

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
