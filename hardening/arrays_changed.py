"""Changes to arrays and to the .npy files that hold them."""

import io
import pickle
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

EXTREMES = (
    np.nan,
    np.inf,
    -np.inf,
    1.7e308,
    -1.7e308,
    1e300,
    1e150,
    1e100,
    1e50,
    1e-300,
    5e-324,
    -5e-324,
    0.0,
    -0.0,
    -1.0,
)
DTYPES = (
    "?", "i1", "u1", "<i2", "<i4", "<i8", ">i8", "<u8", ">u8", "<f2", "<f4", ">f4", "<f8", ">f8", "<f16", "<c8", "<c16",
    "<U3", ">U3", "S3", "<M8[s]", "<m8[s]", "V8", "<U0",
)  # fmt: skip
SHAPES = """
    (12500000000,) | (12500000000, 4) | (4, 12500000000) | (-3, 4) | (3,) | () | (3, 4, 5) | (1000000, 0) | (0, 4)
    | (0, 0) | (3.0, 4) | (True, 4) | ('a', 4) | (99999999999999999999999, 4) | (2, 2147483648)
""".strip().split(" | ")
DESCRIPTIONS = """
    '|O' & '<f8' & '>f8' & '<f4' & '<i8' & '<U1000000' & '<U0' & '|V8' & [('a', '<f8')] & '<f99' & '' & None & 8
    & '<M8[ns]' & ('<f8', (1000000000,)) & [('a', '|O')] & 'float64' & '|S2147483647'
""".strip().split(" & ")


def npy(array: NDArray[Any], version: tuple[int, int] | None = None) -> bytes:
    """The .npy file of an array."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version, allow_pickle=True)
    return file.getvalue()


def changed_array(array: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """An array with other values, of another type, or of another shape."""
    way = rng.integers(9)
    if way <= 2 and array.dtype.kind == "f" and array.size:
        array = array.copy()
        share = float(rng.choice([0.0, 0.1, 1.0]))
        chosen = rng.random(array.size) < share
        chosen[rng.integers(array.size)] = True
        array.flat[chosen] = EXTREMES[rng.integers(len(EXTREMES))]
        return array
    if way == 3:
        with np.errstate(all="ignore"):
            return _as_type(array, DTYPES[rng.integers(len(DTYPES))])
    if way == 4:
        return array.astype(array.dtype.newbyteorder(">"))
    if way == 5 and array.ndim:
        return array[: int(rng.integers(len(array) + 1))]
    if way == 6:
        return (array.reshape(-1), array[None], array.T, np.zeros((0, *array.shape[1:])), array.reshape(-1)[:0])[
            rng.integers(5)
        ]
    if way == 7 and array.ndim:
        return np.roll(array, 1, axis=0)
    if array.dtype.kind in "iuf":
        with np.errstate(all="ignore"):
            factor = float(rng.choice([0, -1, 1e-200, 1e-30, 1e30, 1e140, 1e200]))
            return (array * factor).astype(array.dtype if array.dtype.kind == "f" else np.float64)
    return np.array([Trap()] * max(1, array.size), dtype=object)


def _as_type(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    try:
        return array.astype(dtype)
    except (TypeError, ValueError):
        return np.zeros(array.shape, dtype)


class Trap:
    """A pickle that runs code when it is opened: the watch sees it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, ("import os; os.getcwd()",))


def changed_npy(array: NDArray[Any], rng: np.random.Generator) -> bytes:
    """An .npy file whose header says something else than there is, or which holds a changed array."""
    content = npy(array)
    way = rng.integers(8)
    if way <= 3:
        descr, order, shape = repr(array.dtype.str), str(bool(rng.integers(2))), str(array.shape)
        if rng.integers(2):
            shape = SHAPES[rng.integers(len(SHAPES))]
        if rng.integers(2):
            descr = DESCRIPTIONS[rng.integers(len(DESCRIPTIONS))]
        order = ("True", "False", "None", "1", order, order, order)[rng.integers(7)]
        text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
        data = content[-array.nbytes :] if rng.integers(3) else pickle.dumps([Trap()])
        return header(_odd_text(text, rng)) + data
    if way == 4:
        return npy(array, ((1, 0), (2, 0), (3, 0))[rng.integers(3)])
    if way == 5:
        return content + bytes(int(rng.choice([1, 8, 1_000])))
    return npy(changed_array(array, rng))


def header(text: str, version: bytes = b"\x01\x00") -> bytes:
    """The beginning of an .npy file."""
    padded = text.encode("utf-8", "surrogatepass").ljust(117)[:60_000] + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(padded)) + padded


def _odd_text(text: str, rng: np.random.Generator) -> str:
    way = rng.integers(12)
    if way == 0:
        return text.replace("'shape'", "'shap'")
    if way == 1:
        return "(" * int(rng.choice([10, 200, 5_000])) + text
    if way == 2:
        return text[: int(rng.integers(len(text)))]
    if way == 3:
        return text.replace("{", "{__import__('os').getcwd(): 1, ")
    return text
