"""Score files that are made to do harm, or damaged in unusual ways: refused in one line, in little memory."""

import bz2
import gzip
import io
import lzma
import re
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

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
