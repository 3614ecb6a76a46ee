"""Score files that are made to do harm, or damaged in unusual ways: refused in one line, in little memory."""

import bz2
import gzip
import io
import json
import lzma
import re
import struct
import tracemalloc
import warnings
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from aftermax._scorefiles import ReadOptions, read_scores, unpacked
from helpers.command import refused

LARGE = 2**24  # bytes that a small file expands to
ZEROS = bytes(2**20)


@pytest.fixture(autouse=True)
def a_small_memory(monkeypatch):
    monkeypatch.setattr(unpacked, "ALWAYS_ALLOWED", 2**22)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def header(text):
    """An .npy file with this header, and no data."""
    padded = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded


def bomb(path, method, fortran_order=False):
    """An .npz file of a few kilobytes with zeros for 16 megabytes."""
    shape = (LARGE // 80, 10)
    with (
        zipfile.ZipFile(path, "w", method) as archive,
        archive.open("logits.npy", "w", force_zip64=True) as member,
    ):
        np.lib.format.write_array_header_1_0(member, {"descr": "<f8", "fortran_order": fortran_order, "shape": shape})
        for _ in range(LARGE // len(ZEROS)):
            member.write(ZEROS)


def peak(path, options=None):
    """The message of the refusal, and the most memory that was in use before it."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=re.escape(path.name)) as caught:
            read_scores(str(path), options)
        return str(caught.value), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("fortran_order", [False, True])
def test_an_archive_that_expands_is_refused_before_it_is_unpacked(tmp_path, fortran_order):
    path = tmp_path / "scores.npz"
    bomb(path, zipfile.ZIP_DEFLATED, fortran_order)
    message, memory = peak(path)
    assert message.startswith(f"{path}, logits, expands to more than 100 times its size (")
    assert message.endswith("write it uncompressed: as .csv or .jsonl, or with numpy.savez.")
    assert memory < 2**22
    if fortran_order:  # predict reads by rows, but these it would have to read as a whole
        assert "expands to more than" in peak(path, ReadOptions(columns=(tuple("abcdefghij"),)))[0]


@pytest.mark.parametrize(
    ("name", "first", "some"),
    [("rows.csv.gz", b"a,b,label\n", b"0,0,a\n" * 2**17), ("line.csv.gz", b"", ZEROS), ("line.jsonl.gz", b"", ZEROS)],
)
def test_text_that_expands_is_refused_even_if_it_is_one_endless_line(tmp_path, name, first, some):
    path = tmp_path / name
    with gzip.open(path, "wb", 6) as file:
        file.write(first)
        for _ in range(LARGE // len(some)):
            file.write(some)
    message, memory = peak(path)
    assert message.startswith(f"{path} expands to more than 100 times its size")
    assert memory < 2**26


def test_text_that_is_merely_compressed_well_is_read(tmp_path):
    path = tmp_path / "scores.csv.gz"
    with gzip.open(path, "wb", 9) as file:
        file.write(b"a,b,label\n" + b"1,0,a\n0,1,b\n" * 20_000)
    assert len(read_scores(str(path)).logits) == 40_000


def test_a_header_that_promises_too_much_takes_no_memory(tmp_path):
    path = tmp_path / "scores.npy"
    for order in (False, True):
        path.write_bytes(header(f"{{'descr': '<f8', 'fortran_order': {order}, 'shape': (1000000000000, 4), }}"))
        message, memory = peak(path)
        assert "is truncated: it should have 1,000,000,000,000 rows" in message
        assert memory < 2**27


@pytest.mark.parametrize(
    "content",
    [
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), "),  # numpy raises TokenError
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (-3, 2), }"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (True, 2), }"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), '\\h': 1}"),  # Python warns of the backslash
        header("{'descr': '<U0', 'fortran_order': False, 'shape': (3, 2), }"),
        header("{'descr': '<f99', 'fortran_order': False, 'shape': (3, 2), }"),
        header("(" * 100),
        b"\x93NUMPY\x03\x00" + bytes(100),
        b"\x93NUMPY\x01\x00\xff\xff{",
    ],
)
@pytest.mark.parametrize("archived", [False, True])
def test_headers_that_numpy_cannot_read_are_damage_and_no_bug(tmp_path, content, archived):
    path = tmp_path / ("scores.npz" if archived else "scores.npy")
    if archived:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("logits.npy", content)
    else:
        path.write_bytes(content)
    message = refused("audit", path)
    assert message.startswith(f"aftermax: {path}")
    assert "is damaged, or its format is not the one of its file name (" in message
    assert "unexpected" not in message


@pytest.mark.parametrize(("method", "compress"), [(zipfile.ZIP_LZMA, lzma), (zipfile.ZIP_BZIP2, bz2)])
def test_damage_in_compressed_parts_of_every_method_is_told(tmp_path, method, compress):
    path = tmp_path / "scores.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("logits.npy", npy(np.random.default_rng(0).normal(size=(50, 2))))
    content = bytearray(path.read_bytes())
    content[100:140] = bytes(40)
    path.write_bytes(content)
    message = refused("audit", path)
    assert "is damaged" in message
    assert "unexpected" not in message


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_parts_that_zipfile_would_unpack_without_a_limit_are_refused(tmp_path, method):
    """A fuzz run found 616 bytes that took 389 MB, as a head was about to predict them."""
    path = tmp_path / "scores.npz"
    bomb(path, method)
    message, memory = peak(path, ReadOptions(columns=(tuple("abcdefghij"),)))
    assert "is damaged" in message
    assert "compressed in a way that numpy does not use" in message
    assert memory < 2**22


@pytest.mark.parametrize(
    "column",
    [
        pa.array([np.inf, 1e300]),
        pa.array([np.float16(3.0), np.float16(np.nan)]),
        pa.array([1, 2], pa.timestamp("s", "../../etc/passwd")),
        pa.array([2**62, 2**62], pa.timestamp("ms")),
        pa.array([b"\xff", b"\0"]),
    ],
    ids=["vast numbers", "half precision", "no zone", "far times", "bytes"],
)
def test_labels_of_any_type_are_read_or_refused_with_the_name_of_the_file(tmp_path, column):
    path = tmp_path / "scores.parquet"
    parquet.write_table(pa.table({"a": [1.0, 0.0], "b": [0.0, 1.0], "label": column}), path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of headings that are no labels
        try:
            assert len(read_scores(str(path)).labels) == 2
        except ValueError as error:
            assert str(error).startswith(str(path))  # noqa: PT017  # either is right


def test_labels_in_a_damaged_file_of_their_own_are_told_with_its_name(tmp_path):
    scores, labels = tmp_path / "scores.npy", tmp_path / "labels.parquet"
    np.save(scores, np.eye(200))
    parquet.write_table(pa.table({"label": [f"{n}" for n in range(200)]}), labels, compression="none")
    content = bytearray(labels.read_bytes())
    content[4:300] = bytes(296)
    labels.write_bytes(content)
    with pytest.raises(ValueError, match=r"labels.parquet is damaged"):
        read_scores(str(scores), ReadOptions(labels=labels))


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (
            {"labels": np.array([b"\xff", b"a"])},
            "labels, holds bytes that are not text in UTF-8: save text",
        ),
        (
            {"features": np.zeros((2, 3, 4))},
            "scores.npz: features have shape (2, 3, 4): a row for each sample",
        ),
        ({"features": np.zeros((2, 0))}, "scores.npz: features have shape (2, 0): a row for each sample is needed"),
    ],
)
def test_arrays_that_are_of_no_use_are_told_with_the_name_of_the_file(tmp_path, other, what):
    np.savez(tmp_path / "scores.npz", **{"logits": np.eye(2), "labels": np.arange(2)} | other)
    assert what in refused("audit", tmp_path / "scores.npz")


def test_a_nan_of_the_signalling_kind_is_a_nan(tmp_path):
    path = tmp_path / "scores.npy"
    np.save(path, np.array([[0x7F800001, 0], [0, 0]], dtype=np.uint32).view(np.float32))
    assert "row 0 (counted from 0), column 0 is empty or NaN" in refused("audit", path)


@pytest.mark.parametrize(
    ("scores", "what"),
    [
        ([{"a": 3.5, "b": 2.0}, {"a": 1.5, "b": 7.0}], "{path}: The scores may be percentages or logits"),
        ([{"a": 3.5, "b": -1e308}, {"a": -1.5, "b": 7.0}], "{path}, line 1: a logit of -1e+308 is too low"),
    ],
)
def test_answers_that_cannot_be_told_are_refused_with_the_name_of_the_file(tmp_path, scores, what):
    path = tmp_path / "scores.jsonl"
    lines = zip(scores, "ab", strict=True)
    path.write_text("\n".join(json.dumps({"scores": some, "label": label}) for some, label in lines))
    with pytest.raises(ValueError, match="^" + re.escape(what.format(path=path))):
        read_scores(str(path))


def test_a_feature_that_no_float_can_hold_is_told_with_its_line(tmp_path):
    path = tmp_path / "scores.jsonl"
    lines = [{"scores": {"a": 1.5, "b": -2.0}, "label": "a", "features": [value, 0]} for value in (1, 10**400)]
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(ValueError, match="^" + re.escape(f"{path}, line 2: a feature is too large")):
        read_scores(str(path))


def test_an_encrypted_archive_is_told(tmp_path):
    path = tmp_path / "scores.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("logits.npy", npy(np.eye(2)))
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    assert "encrypted" in refused("audit", path)


def test_a_head_file_in_place_of_scores_is_told(tmp_path):
    path = tmp_path / "head.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("head.json", "{}")
        archive.writestr("classes.npy", npy(np.arange(3)))
    assert refused("audit", path) == (
        f"aftermax: {path} is a head file: name a file with scores, that is logits and their labels, instead.\n"
    )
