"""Files that are written whole or not at all."""

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from aftermax._utils.files import (
    _host,
    checked_output_path,
    existing_file,
    remove_abandoned,
    write_atomically,
    write_text,
)


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


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    """An attack found a file of 0600 readable to all after it was written again."""
    path = tmp_path / "head.npz"
    write_text(path, "old")
    path.chmod(0o600)
    with write_atomically(path) as unfinished:
        assert stat.S_IMODE(unfinished.stat().st_mode) == 0o600
        unfinished.write_text("new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_a_killed_process_left_is_removed_and_what_others_write_is_not(tmp_path):
    code = (
        "import os, signal, sys; from pathlib import Path; from aftermax._utils.files import write_atomically\n"
        "with write_atomically(Path(sys.argv[1])) as unfinished:\n"
        "    unfinished.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    path = tmp_path / "out[1].txt"
    assert subprocess.run([sys.executable, "-c", code, path]).returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    alive = left.with_name(left.name.replace(left.name.split(".")[-3], str(os.getppid())))
    elsewhere = left.with_name(left.name.replace(left.name.split(".")[-4], "01234567"))
    for other in (alive, elsewhere):
        other.touch()
    write_text(path, "whole")
    assert sorted(tmp_path.iterdir()) == sorted([alive, elsewhere, path])


def test_the_longest_names_can_be_written(tmp_path):
    path = tmp_path / ("a" * 251 + ".txt")
    write_text(path, "whole")
    assert path.read_text() == "whole"


def test_a_link_is_followed_and_a_device_is_left_alone(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert checked_output_path(tmp_path / "link") == tmp_path / "file"
    with pytest.raises(ValueError, match="/dev/null is a device or a pipe, which cannot be replaced"):
        checked_output_path(Path("/dev/null"))


def test_an_error_names_the_file_that_the_user_knows(tmp_path):
    def fail(error):
        with write_atomically(tmp_path / "out.csv"):
            raise error

    with pytest.raises(OSError, match=r"No space left on device: '.*/out\.csv'$"):
        fail(OSError(28, "No space left on device"))
    with pytest.raises(FileNotFoundError, match="'other'"):
        fail(FileNotFoundError(2, "No such file", "other"))


def test_of_the_unfinished_files_in_a_folder_only_those_that_nobody_writes_are_removed(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (tmp_path / "more").mkdir()
    dead, old = tmp_path / "more" / f".a.{_host()}.{ended.pid}.1.partial", tmp_path / ".a.other.1.1.partial"
    live, new = tmp_path / "more" / f".a.{_host()}.{os.getpid()}.1.partial", tmp_path / ".b.other.1.1.partial"
    for path in (dead, old, live, new):
        path.touch()
    for path in (old, live):
        os.utime(path, (1, 1))
    remove_abandoned(tmp_path)
    assert set(tmp_path.rglob("*.partial")) == {live, new}
