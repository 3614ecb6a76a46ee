"""The archive of a head file: ``head.json`` and arrays as ``.npy`` files in a zip, of which nothing is executed.

Nothing is compressed, so that the same head always gives the same bytes, and no small file can expand to a large one.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import struct
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from aftermax import __version__
from aftermax._heads.protocol import State
from aftermax._utils.text import shortened
from aftermax._utils.untrusted import count, fields, flag, one_of, some

FORMAT = "aftermax head"
VERSION = 3

MAX_BYTES = 2**30
MAX_BYTES_OF_JSON = 2**24
MAX_SIGNS_OF_JSON = {"[": 2**17, "{": 2**16, '"': 2**19}  # each begins what takes many times its size in memory
MAX_MEMBERS = 64
MAX_LETTERS = 64  # of a name in a message
MAX_BYTES_OF_DIRECTORY = 2**16
DESCRIPTION = "head.json"
MEMBER = re.compile(r"[a-z_]{1,64}\.npy")
TYPE = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<U[1-9][0-9]{0,6}|\|S[1-9][0-9]{0,6}")
MAGIC = b"\x93NUMPY\x01\x00"
DAMAGE = (ValueError, zipfile.BadZipFile, EOFError, NotImplementedError, OSError, RecursionError, struct.error)
END = struct.Struct("<4s4H2LH")  # the end record of a zip archive
WRITTEN = "Pass a file that aftermax.save or 'aftermax fit' wrote."
AGAIN = "Save the head again (aftermax.save or 'aftermax fit'), or copy the file again."


class ForeignError(ValueError):
    """The file is not damaged: it is of another kind or version."""


# ---- writing ---------------------------------------------------------------------------------------------------------


def write_archive(path: Path, content: State) -> None:
    """Write values and arrays to a new file."""
    members = _members(content)
    if sum(map(len, members.values())) > MAX_BYTES:
        raise ValueError(f"This head is too large to be saved: a head file has at most {MAX_BYTES:,} bytes.")
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            member = zipfile.ZipInfo(name)  # dated 1980, so that the bytes are always the same
            member.create_system, member.external_attr = 3, 0o644 << 16
            archive.writestr(member, data)


def _members(content: State) -> dict[str, bytes]:
    """The content of each file in the archive."""
    arrays = {name: _for_file(array) for name, array in content.arrays.items()}
    described = {
        "format": FORMAT,
        "format_version": VERSION,
        "aftermax_version": __version__,
        **content.values,
        "arrays": {name: _header(array) for name, array in arrays.items()},
    }
    text = json.dumps(_as_json(described), indent=1, allow_nan=False)
    return {DESCRIPTION: text.encode()} | {f"{name}.npy": _npy(array) for name, array in arrays.items()}


def _as_json(value: Any) -> Any:
    """A value as JSON can hold it: a number that is not finite becomes {"number": "inf"}, "-inf" or "nan"."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, dict):
        return {name: _as_json(item) for name, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{value!r}, of type {type(value).__name__}, is among the parameters and cannot be saved.")


def _for_file(array: NDArray[Any]) -> NDArray[Any]:
    """Little-endian, and in C order unless it is in Fortran order: matrix products round differently by that."""
    fortran = array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous
    return np.asarray(array, array.dtype.newbyteorder("<"), order="F" if fortran else "C")


def _header(array: NDArray[Any]) -> dict[str, Any]:
    return {"dtype": array.dtype.str, "shape": list(array.shape), "by_columns": not array.flags.c_contiguous}


def _npy(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)
    return file.getvalue()


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_archive(file: BinaryIO) -> State:
    """The values and the arrays of a file in good order; what they are is not trusted yet."""
    size = _check_ends(file)
    with zipfile.ZipFile(file) as archive:
        members = {member.filename: member for member in archive.infolist()}
        if DESCRIPTION not in members:
            inside = ", ".join(shortened(name, MAX_LETTERS) for name in sorted(members)[:5])
            raise ForeignError(f"is not a head file: it is an archive of {inside}. {WRITTEN}")
        described = _description(archive, members[DESCRIPTION])
        declared = fields(described.pop("arrays", None), None, "the list of arrays")
        expected = [DESCRIPTION, *(f"{name}.npy" for name in declared)]
        if sorted(member.filename for member in archive.infolist()) != sorted(expected):
            raise ValueError("the files in it are not those that head.json names")
        for member in members.values():
            _check_member(member)
        promised = sum(member.file_size for member in members.values())
        if promised > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES:,} bytes")
        if promised > size:
            raise ValueError("the files in it overlap")
        arrays = {name: _array(archive, members[f"{name}.npy"], header) for name, header in declared.items()}
    return State(described, arrays)


def _check_ends(file: BinaryIO) -> int:
    """Refuse what is not an archive, or one whose list of members alone is too long to be read. The file's size."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size == 0:
        raise ForeignError(f"is empty. {AGAIN}")
    if file.read(4) != b"PK\x03\x04":
        raise ForeignError(f"is not a head file. {WRITTEN}")
    file.seek(max(0, size - END.size - 20))
    end = file.read()
    if size > MAX_BYTES + MAX_BYTES_OF_DIRECTORY:
        raise ForeignError(f"is not a head file: it is larger than {MAX_BYTES:,} bytes. {WRITTEN}")
    if end[-END.size :][:4] != b"PK\x05\x06":
        raise ValueError("its end is missing")
    *_, members, directory, _, _ = END.unpack(end[-END.size :])
    if end[:4] == b"PK\x06\x07" or members > MAX_MEMBERS or directory > MAX_BYTES_OF_DIRECTORY:
        raise ForeignError(f"is not a head file: it is an archive of more than {MAX_MEMBERS} files. {WRITTEN}")
    file.seek(0)
    return size


def _check_member(member: zipfile.ZipInfo) -> None:
    """Refuse what aftermax does not write."""
    if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size or member.flag_bits:
        raise ValueError(f"{member.filename} is compressed or encrypted")
    if member.filename != DESCRIPTION and not MEMBER.fullmatch(member.filename):
        raise ValueError(f"{member.filename!r} is not the name of an array")


def _description(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> dict[str, Any]:
    """The content of head.json, if this version of aftermax can read it."""
    _check_member(member)
    if member.file_size > MAX_BYTES_OF_JSON:
        raise ValueError(f"{DESCRIPTION} is larger than {MAX_BYTES_OF_JSON:,} bytes")
    text = archive.read(member).decode("utf-8")
    if any(text.count(sign) > most for sign, most in MAX_SIGNS_OF_JSON.items()):
        raise ValueError(f"{DESCRIPTION} has too many values")
    described = json.loads(text, object_pairs_hook=_from_json, parse_constant=_refuse)
    if not isinstance(described, dict) or described.pop("format", None) != FORMAT:
        raise ForeignError(f"is not a head file: its head.json is of another kind. {WRITTEN}")
    version = count(described.get("format_version"), "format_version", least=1)
    if version > VERSION:
        raise ForeignError(
            f"was made by a newer aftermax (format {version}; this one reads up to {VERSION}): upgrade aftermax."
        )
    described.pop("aftermax_version", None)
    return described


def _from_json(pairs: list[tuple[str, Any]]) -> Any:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("head.json has a field twice")
    if set(value) == {"number"}:
        return float(one_of(value["number"], {"inf", "-inf", "nan"}, "a number"))
    return value


def _refuse(name: str) -> float:
    raise ValueError(f"head.json holds {name}")


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, described: object) -> NDArray[Any]:
    """An array, if the file holds what head.json says, to the byte."""
    header = fields(described, {"dtype", "shape", "by_columns"}, f"the header of {member.filename}")
    shape = tuple(count(n, f"the shape of {member.filename}") for n in some(header["shape"], None, "a shape"))
    by_columns = flag(header["by_columns"], "by_columns")
    if not isinstance(header["dtype"], str) or not TYPE.fullmatch(header["dtype"]):
        raise ValueError(f"{member.filename} is of type {header['dtype']!r}")
    if not 1 <= len(shape) <= 3 or (by_columns and len(shape) != 2):
        raise ValueError(f"{member.filename} has shape {shape}")
    dtype = np.dtype(header["dtype"])
    size = math.prod(shape) * dtype.itemsize
    start = member.file_size - size
    if not 10 < start < 2**16:
        raise ValueError(f"{member.filename} has {member.file_size:,} bytes, and its array {size:,}")
    content = archive.read(member)
    expected = f"{{'descr': {header['dtype']!r}, 'fortran_order': {by_columns}, 'shape': {shape!r}, }}"
    beginning = MAGIC + (start - 10).to_bytes(2, "little") + expected.encode()
    if content[:start].rstrip() != beginning:
        raise ValueError(f"{member.filename} is not what head.json says of it")
    found = np.ndarray(shape, dtype, content, start, order="F" if by_columns else "C")
    native = np.array(found, dtype.newbyteorder("="), order="K")
    if dtype.kind == "b" and native.view(np.uint8).max(initial=0) > 1:
        raise ValueError(f"{member.filename} holds values that are neither true nor false")
    return native
