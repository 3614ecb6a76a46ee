"""Files that are written whole or not at all."""

import threading

import pytest

from aftermax._utils.files import checked_output_path, existing_file, write_atomically, write_text


def test_a_file_appears_with_its_folder_when_all_is_written(tmp_path):
    path = tmp_path / "new" / "table.md"
    with write_atomically(path) as unfinished:
        unfinished.write_text("half")
        assert not path.exists()
        unfinished.write_text("whole")
    assert path.read_text() == "whole"
    assert [file.name for file in path.parent.iterdir()] == ["table.md"]


def test_what_is_not_there_is_said(tmp_path):
    path = tmp_path / "table.md"
    assert checked_output_path(path) == path
    with pytest.raises(FileNotFoundError, match=r"table.md is not there\.$"):
        existing_file(path)
    path.touch()
    assert existing_file(path) == path
    with pytest.raises(IsADirectoryError, match="is a folder: name a file in it"):
        existing_file(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"x.md cannot be written: folder .*table.md is not there\.$"):
        checked_output_path(path / "x.md")


def test_after_an_error_the_old_file_is_there_and_nothing_else(tmp_path):
    path = tmp_path / "table.md"
    write_text(path, "old")

    def fail():
        with write_atomically(path) as unfinished:
            unfinished.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["table.md"]


def test_threads_that_write_the_same_file_do_not_write_into_each_others(tmp_path):
    """Found in review: the unfinished file was the same for all threads of a process."""
    path, found = tmp_path / "out.txt", []
    both = threading.Barrier(2)

    def write(letter):
        with write_atomically(path) as unfinished:
            unfinished.write_text(letter)
            both.wait(timeout=10)
            found.append((letter, unfinished.read_text()))
            both.wait(timeout=10)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [("a", "a"), ("b", "b")]
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.txt"]
