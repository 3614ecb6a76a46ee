"""Head files: a fitted head saved to one file, and loaded again. No pickle: loading a file can execute nothing.

A head file is a zip archive, as .npz files are: ``head.json`` says what the head is, and each array is a ``.npy`` file.
Nothing in it is compressed, so that the same head always gives the same bytes, and no small file can become a large
one. What a head consists of is told in :mod:`aftermax.storage._schema`.
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
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from aftermax import __version__
from aftermax._utils.files import checked_output_path, write_atomically
from aftermax._utils.untrusted import count, fields, flag, one_of, some, texts
from aftermax.storage._schema import KINDS, Head, Plain, from_plain, to_plain

FORMAT = "aftermax head"
VERSION = 1
READERS = {1: from_plain}  # every version that was ever written stays readable

MOST_BYTES = 2**30
MOST_BYTES_OF_JSON = 2**24
MOST_MEMBERS = 64
MOST_BYTES_OF_DIRECTORY = 2**16
DESCRIPTION = "head.json"
SCORES = "scores"  # in it, if the command has noted what they were
MEMBER = re.compile(r"[a-z_]{1,64}\.npy")
TYPE = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<U[1-9][0-9]{0,6}|\|S[1-9][0-9]{0,6}")
MAGIC = b"\x93NUMPY\x01\x00"
DAMAGE = (ValueError, zipfile.BadZipFile, EOFError, NotImplementedError, OSError, RecursionError, struct.error)
END = struct.Struct("<4s4H2LH")  # of a zip archive
WRITTEN = "Pass a file that aftermax.save or 'aftermax fit' wrote."
AGAIN = "Save the head again with aftermax.save, or copy the file again."


# ---- what users call -------------------------------------------------------------------------------------------------


def save(head: Head, path: str | os.PathLike[str]) -> None:
    """Save a fitted head to a file, from which :func:`load` makes a head with the same answers.

    The file holds plain arrays and JSON; ``numpy.load(path)`` shows the arrays. It is written whole or not at all, and
    the same head always gives the same bytes.

    Parameters
    ----------
    head : AutoHead, SPHClassifier or SPHClassifierCV
        Fitted.
    path : str or path-like
        The file to write, with any suffix or none; one that exists is replaced. Its folder must be there.

    Notes
    -----
    Everything that answers and everything that reports on the head is saved. What is not: ``held_out_``, as it speaks
    of your rows; ``cv_results_`` and ``best_index_`` of SPHClassifierCV, as the table may be larger than the head a
    thousand times; and a RandomState, which is None in the loaded head: either draws anew with each fit.

    Examples
    --------
    >>> import tempfile
    >>> import aftermax
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> head = aftermax.SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     aftermax.save(head, f"{folder}/head.npz")
    ...     loaded = aftermax.load(f"{folder}/head.npz")
    >>> bool((loaded.predict(scores.test_logits) == head.predict(scores.test_logits)).all())
    True
    """
    write_head(head, path)


def load(path: str | os.PathLike[str]) -> Head:
    """Load a head that :func:`save` or ``aftermax fit`` wrote.

    It is of the same class, fitted, and gives the same answers and probabilities. Everything in the file is checked
    before it is used, and nothing in it is ever executed: a file from someone else can do no harm. (Whether its answers
    are good is another matter.)

    Parameters
    ----------
    path : str or path-like
        The file. If it is damaged, of another kind or made by a newer aftermax, a ValueError says so.
    """
    return read_head(path)[0]


# ---- what the command calls ------------------------------------------------------------------------------------------


class FittedOn(NamedTuple):
    """What the command notes in a head file of the scores that the head was fitted on."""

    probabilities: bool = False  # whether their logarithms were taken for logits
    columns: tuple[str, ...] = ()  # their headings, where these are not the classes


def write_head(head: Head, path: str | os.PathLike[str], noted: FittedOn | None = None) -> None:
    """Save a head, with what is to be known of the scores that it takes."""
    if type(head) not in KINDS.values():
        raise TypeError(_cannot_save(head))
    check_is_fitted(head, msg="This %(name)s is not fitted yet: call fit before you save it.")
    plain = to_plain(head)
    if noted is not None and noted != FittedOn():
        kind = "probabilities" if noted.probabilities else "logits"
        plain.described[SCORES] = {"kind": kind, "columns": list(noted.columns) or None}
    members = _members(plain)
    if sum(map(len, members.values())) > MOST_BYTES:
        raise ValueError(f"This head is too large to be saved: a head file has at most {MOST_BYTES:,} bytes.")
    with write_atomically(checked_output_path(Path(path))) as unfinished:
        with zipfile.ZipFile(unfinished, "w") as archive:
            for name, content in members.items():
                member = zipfile.ZipInfo(name)  # as of 1980, so that the bytes are always the same
                member.create_system, member.external_attr = 3, 0o644 << 16
                archive.writestr(member, content)
        try:
            load(unfinished)
        except ValueError as error:
            raise ValueError(f"This head cannot be saved, as {error.__cause__}. Fit it again, and save it.") from error


def read_head(path: str | os.PathLike[str]) -> tuple[Head, FittedOn]:
    """A head, and what the file says of the scores that it was fitted on."""
    with open(path, "rb") as file:
        try:
            described, arrays = _content(file)
            scores = described.pop(SCORES, {"kind": "logits", "columns": None})
            head = READERS[described.pop("format_version")](Plain(described, arrays))
            return head, _fitted_on(scores, len(head.classes_))
        except ForeignError as error:
            raise ValueError(f"{os.fspath(path)} {error}") from error
        except DAMAGE as error:
            what = str(error).rstrip(".") or "it ends too early"
            raise ValueError(f"{os.fspath(path)} is damaged: {what}. {AGAIN}") from error


def _cannot_save(head: object) -> str:
    name = type(head).__name__
    if name == "PostHocClassifier":
        return "A PostHocClassifier is not saved as a whole: save its head_; the model is yours to keep."
    return f"{name} cannot be saved: pass a fitted {', '.join(KINDS)}, or keep it in a way of its own."


# ---- writing ---------------------------------------------------------------------------------------------------------


def _members(plain: Plain) -> dict[str, bytes]:
    """The content of each file in the archive."""
    arrays = {name: _in_order(array) for name, array in plain.arrays.items()}
    described = {
        "format": FORMAT,
        "format_version": VERSION,
        "aftermax_version": __version__,
        **plain.described,
        "arrays": {name: _header(array) for name, array in arrays.items()},
    }
    text = json.dumps(_in_json(described), indent=1, allow_nan=False)
    return {DESCRIPTION: text.encode()} | {f"{name}.npy": _npy(array) for name, array in arrays.items()}


def _in_json(value: Any) -> Any:
    """A value as JSON can hold it: a number that is not finite becomes {"number": "inf"}, "-inf" or "nan"."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    if isinstance(value, list | tuple):
        return [_in_json(item) for item in value]
    if isinstance(value, dict):
        return {name: _in_json(item) for name, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{value!r}, of type {type(value).__name__}, is among the settings and cannot be saved.")


def _in_order(array: NDArray[Any]) -> NDArray[Any]:
    """As it lies in the file: little-endian, and by rows unless it lies by columns (products are rounded by that)."""
    by_columns = array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous
    return np.asarray(array, array.dtype.newbyteorder("<"), order="F" if by_columns else "C")


def _header(array: NDArray[Any]) -> dict[str, Any]:
    return {"dtype": array.dtype.str, "shape": list(array.shape), "by_columns": not array.flags.c_contiguous}


def _npy(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)
    return file.getvalue()


# ---- reading ---------------------------------------------------------------------------------------------------------


class ForeignError(ValueError):
    """The file is not damaged; it is of another kind or version."""


def _fitted_on(described: object, size: int) -> FittedOn:
    noted = fields(described, {"kind", "columns"}, "what is said of the scores")
    kind = one_of(noted["kind"], {"logits", "probabilities"}, "the kind of scores")
    columns = () if noted["columns"] is None else tuple(texts(noted["columns"], size, "the list of columns"))
    if len(set(columns)) < len(columns):
        raise ValueError("the list of columns names one twice")
    return FittedOn(kind == "probabilities", columns)


def _content(file: BinaryIO) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The description and the arrays, of which nothing is believed but that the file is in order."""
    _check_ends(file)
    with zipfile.ZipFile(file) as archive:
        members = {member.filename: member for member in archive.infolist()}
        if DESCRIPTION not in members:
            inside = ", ".join(sorted(members)[:5])
            raise ForeignError(f"is no head file: it is an archive of {inside}. {WRITTEN}")
        described = _description(archive, members[DESCRIPTION])
        declared = fields(described.pop("arrays", None), None, "the list of arrays")
        expected = [DESCRIPTION, *(f"{name}.npy" for name in declared)]
        if sorted(member.filename for member in archive.infolist()) != sorted(expected):
            raise ValueError("the files in it are not those that head.json names")
        for member in members.values():
            _check_member(member)
        if sum(member.file_size for member in members.values()) > MOST_BYTES:
            raise ValueError(f"it is larger than {MOST_BYTES:,} bytes")
        arrays = {name: _array(archive, members[f"{name}.npy"], header) for name, header in declared.items()}
    return described, arrays


def _check_ends(file: BinaryIO) -> None:
    """Refuse what is no archive at all, or one whose list of members alone is too long to be read."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size == 0:
        raise ForeignError(f"is empty. {AGAIN}")
    if file.read(4) != b"PK\x03\x04":
        raise ForeignError(f"is no head file. {WRITTEN}")
    file.seek(max(0, size - END.size - 20))
    end = file.read()
    if size > MOST_BYTES + MOST_BYTES_OF_DIRECTORY:
        raise ForeignError(f"is no head file: it is larger than {MOST_BYTES:,} bytes. {WRITTEN}")
    if end[-END.size :][:4] != b"PK\x05\x06":
        raise ValueError("its end is missing")
    *_, members, directory, _, _ = END.unpack(end[-END.size :])
    if end[:4] == b"PK\x06\x07" or members > MOST_MEMBERS or directory > MOST_BYTES_OF_DIRECTORY:
        raise ForeignError(f"is no head file: it is an archive of more than {MOST_MEMBERS} files. {WRITTEN}")
    file.seek(0)


def _check_member(member: zipfile.ZipInfo) -> None:
    """Refuse what aftermax does not write."""
    if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size or member.flag_bits:
        raise ValueError(f"{member.filename} is compressed or encrypted")
    if member.filename != DESCRIPTION and not MEMBER.fullmatch(member.filename):
        raise ValueError(f"{member.filename!r} is no name of an array")


def _description(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> dict[str, Any]:
    """What head.json says, if this version of aftermax can read it."""
    _check_member(member)
    if member.file_size > MOST_BYTES_OF_JSON:
        raise ValueError(f"{DESCRIPTION} is larger than {MOST_BYTES_OF_JSON:,} bytes")
    text = archive.read(member).decode("utf-8")
    described = json.loads(text, object_pairs_hook=_out_of_json, parse_constant=_refuse)
    if not isinstance(described, dict) or described.pop("format", None) != FORMAT:
        raise ForeignError(f"is no head file: its head.json is of another kind. {WRITTEN}")
    version = count(described.get("format_version"), "format_version", least=1)
    if version > VERSION:
        raise ForeignError(
            f"was made by a newer aftermax (format {version}; this one reads up to {VERSION}): upgrade aftermax."
        )
    described.pop("aftermax_version", None)
    return described


def _out_of_json(pairs: list[tuple[str, Any]]) -> Any:
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
    header = fields(described, {"dtype", "shape", "by_columns"}, f"what is said of {member.filename}")
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
        raise ValueError(f"{member.filename} holds what is neither true nor false")
    return native
