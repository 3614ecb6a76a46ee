"""Which files of a folder are its score files: none is left out without a word, none is there twice."""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from aftermax._scorefiles.folder_files import find_files
from aftermax._scorefiles.parts import plan_parts


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "scores"
    touch(folder / "0.npy", folder / "more" / "1.npy")
    return folder


def touch(*paths):
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"1")


def names(source):
    return [inside.as_posix() for inside in find_files(source, source.parent / "out")]


def test_files_behind_links_are_found(source, tmp_path):
    touch(tmp_path / "elsewhere" / "deep" / "2.npy", tmp_path / "3.npy")
    (source / "linked").symlink_to(tmp_path / "elsewhere")
    (source / "4.npy").symlink_to(tmp_path / "3.npy")
    assert names(source) == ["0.npy", "4.npy", "linked/deep/2.npy", "more/1.npy"]


def test_a_link_to_a_folder_above_it_is_followed_no_second_time(source):
    (source / "more" / "above").symlink_to(source)
    (source / "self").symlink_to(source)
    assert names(source) == ["0.npy", "more/1.npy"]


@pytest.mark.parametrize("name", ["2.npy", "unmounted"])
def test_a_broken_link_is_an_error_that_names_it(source, name):
    (source / "more" / name).symlink_to("nowhere")
    with pytest.raises(FileNotFoundError, match=rf"more/{name} is a link to nowhere, which cannot be reached"):
        names(source)


def test_a_link_to_itself_is_an_error_that_names_it(source):
    (source / "2.npy").symlink_to("2.npy")
    with pytest.raises(FileNotFoundError, match=r"scores/2.npy is a link to 2.npy"):
        names(source)


@contextmanager
def as_nobody():
    """Root may read everything: as a user who may not."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_folder_that_cannot_be_read_is_an_error_that_names_it():
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "scores"
        touch(source / "0.npy", source / "more" / "1.npy")
        Path(folder).chmod(0o755)
        (source / "more").chmod(0)
        with as_nobody(), pytest.raises(PermissionError, match="more"):
            names(source)
        (source / "more").chmod(0o700)


def test_a_pipe_with_the_name_of_a_score_file_is_refused(source):
    os.mkfifo(source / "2.npy")
    with pytest.raises(ValueError, match=r"scores/2.npy is a device or a pipe"):
        names(source)


def test_hidden_score_files_are_skipped_and_counted(source):
    touch(source / "_old" / "2.npy", source / "more" / ".3.npy", source / "_readme.txt")
    with pytest.warns(UserWarning, match=r"^2 score files are skipped, as names that .*: _old/2.npy and others\.$"):
        assert names(source) == ["0.npy", "more/1.npy"]


def test_predictions_that_a_link_leads_to_are_not_taken_for_scores(source, tmp_path):
    (tmp_path / "out").mkdir()
    (source / "linked").symlink_to(tmp_path)
    with pytest.raises(ValueError, match="inside each other"):
        names(source)


@pytest.mark.parametrize("pair", [("1.csv", "1.CSV"), ("a.csv", "a.parquet/b.csv"), ("a.csv", "a.parquet.json/b.csv")])
def test_parts_that_would_share_a_file_of_predictions_are_refused_by_name(tmp_path, pair):
    source, out = tmp_path / "scores", tmp_path / "out"
    touch(*(source / name for name in pair))
    if len(find_files(source, out)) == 1:
        pytest.skip("names are case-insensitive here")
    with pytest.raises(ValueError, match="rename one") as refused:
        plan_parts(source, out, find_files(source, out), {})
    assert all(str(source / name) in str(refused.value) for name in pair)
