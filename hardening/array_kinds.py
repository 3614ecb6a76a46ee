"""The same logits and labels in everything that holds arrays: numpy's layouts and types, tables, tensors."""

import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Make = Callable[[Array], Any]


def _read_only(array: Array) -> Array:
    array = array.copy()
    array.flags.writeable = False
    return array


def _strided(array: Array) -> Array:
    wide = np.zeros((2 * len(array), 3 * array.shape[1]), array.dtype)
    wide[::2, 1::3] = array
    return wide[::2, 1::3]


def _mapped(array: Array) -> Array:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "logits.npy"
        np.save(path, array)
        return np.load(path, mmap_mode="r")


def _to(dtype: str) -> Make:
    def make(array: Array) -> Array:
        with np.errstate(all="ignore"):
            if np.dtype(dtype).kind in "iub":
                array = np.nan_to_num(np.clip(array, 0 if dtype[0] in "u?" else -100, 100))
            return array.astype(dtype)

    return make


def _masked(array: Array) -> Any:
    mask = np.zeros(array.shape, dtype=bool)
    mask.flat[0] = True
    return np.ma.masked_array(array, mask)


NUMPY: dict[str, Make] = {
    "array": lambda array: array.copy(),
    "read-only": _read_only,
    "strided": _strided,
    "reversed": lambda array: array[::-1, ::-1].copy()[::-1, ::-1],
    "Fortran order": np.asfortranarray,
    "memory-mapped": _mapped,
    "float16": _to("f2"),
    "float32": _to("f4"),
    "float128": _to("g"),
    "big-endian": _to(">f8"),
    "int8": _to("i1"),
    "int64": _to("i8"),
    "uint8": _to("u1"),
    "bool": _to("?"),
    "complex": _to("c16"),
    "text": lambda array: array.astype(str),
    "objects": lambda array: array.astype(object),
    "masked": _masked,
    "masked nowhere": np.ma.masked_array,
    "list": lambda array: array.tolist(),
    "list of arrays": list,
    "with an axis more": lambda array: array[None],
    "flat": lambda array: array.reshape(-1),
    "no rows": lambda array: array[:0],
    "matrix": lambda array: array.view(Subclass),
}


class Subclass(np.ndarray):
    """A subclass as others have."""


def _pandas() -> dict[str, Make]:
    import pandas as pd

    return {
        "pandas": pd.DataFrame,
        "pandas, named": lambda array: pd.DataFrame(array, columns=[f"class {j}" for j in range(array.shape[1])]),
        "pandas, odd index": lambda array: pd.DataFrame(array, index=[7] * len(array)),
        "pandas Float64": lambda array: pd.DataFrame(array).astype("Float64"),
        "pandas with NA": lambda array: pd.DataFrame(array).astype("Float64").mask(np.eye(*array.shape, dtype=bool)),
        "pandas Float32": lambda array: pd.DataFrame(_to("f4")(array)).astype("Float32"),
        "pandas pyarrow": lambda array: pd.DataFrame(array).astype("float64[pyarrow]"),
    }


def _polars() -> dict[str, Make]:
    import polars as pl

    return {
        "polars": lambda array: pl.DataFrame(array.copy()),
        "polars lazy": lambda array: pl.DataFrame(array.copy()).lazy(),
        "polars Float32": lambda array: pl.DataFrame(_to("f4")(array)),
    }


def _pyarrow() -> dict[str, Make]:
    import pyarrow as pa

    def table(array: Array) -> Any:
        return pa.table({str(j): column for j, column in enumerate(array.T.copy())})

    return {"pyarrow table": table, "pyarrow batch": lambda array: table(array).to_batches()[0]}


def _torch() -> dict[str, Make]:
    import torch

    return {
        "torch": lambda array: torch.tensor(array),
        "torch bfloat16": lambda array: torch.tensor(array).to(torch.bfloat16),
        "torch float16": lambda array: torch.tensor(array).to(torch.float16),
        "torch requires_grad": lambda array: torch.tensor(array, requires_grad=True),
        "torch transposed": lambda array: torch.tensor(array.T.copy()).T,
    }


def _jax() -> dict[str, Make]:
    import jax.numpy as jnp

    return {"jax": jnp.asarray, "jax bfloat16": lambda array: jnp.asarray(array, dtype=jnp.bfloat16)}


LIBRARIES = {"pandas": _pandas, "polars": _polars, "pyarrow": _pyarrow, "torch": _torch, "jax": _jax}


def kinds() -> dict[str, Make]:
    """Every kind of array of logits that can be made here."""
    found = dict(NUMPY)
    for library, make in LIBRARIES.items():
        if find_spec(library) is not None:
            found |= make()
    return found


def label_kinds() -> dict[str, Make]:
    """Every kind of array of labels that can be made here."""
    found: dict[str, Make] = {
        "integers": lambda labels: labels,
        "list": lambda labels: labels.tolist(),
        "text": lambda labels: labels.astype(str),
        "objects": lambda labels: np.array([f"c{label}" for label in labels], dtype=object),
        "int8": lambda labels: labels.astype(np.int8) if labels.max() < 128 else labels,
        "uint64": lambda labels: labels.astype(np.uint64) + np.uint64(2**63),
        "floats": lambda labels: labels.astype(np.float64),
        "float16": lambda labels: labels.astype(np.float16),
        "booleans": lambda labels: labels > 0,
        "bytes": lambda labels: np.char.encode(labels.astype(str)),
        "column": lambda labels: labels[:, None],
        "masked": lambda labels: np.ma.masked_array(labels, labels == labels[0]),
        "not numbers": lambda labels: np.where(labels == 0, np.nan, labels),
        "too few": lambda labels: labels[:-1],
        "read-only": _read_only,
    }
    if find_spec("pandas") is not None:
        import pandas as pd

        found |= {
            "pandas": pd.Series,
            "pandas Int64": lambda labels: pd.Series(labels, dtype="Int64"),
            "pandas with NA": lambda labels: pd.Series([None, *labels[1:].tolist()], dtype="Int64"),
            "pandas category": lambda labels: pd.Series(labels.astype(str), dtype="category"),
            "pandas string": lambda labels: pd.Series(labels.astype(str), dtype="string"),
        }
    if find_spec("polars") is not None:
        import polars as pl

        found["polars"] = pl.Series
    if find_spec("pyarrow") is not None:
        import pyarrow as pa

        found["pyarrow"] = pa.array
    if find_spec("torch") is not None:
        import torch

        found["torch"] = torch.tensor
    return found


def values_of(held: Any) -> list[Any]:
    """What is held, as lists, for a comparison before and after."""
    if type(held).__name__ == "LazyFrame":
        held = held.collect()
    if hasattr(held, "detach"):
        held = held.detach().float() if "bfloat16" in str(held.dtype) else held.detach()
    if hasattr(held, "to_pydict"):
        return [repr(held.to_pydict())]
    if hasattr(held, "to_pandas") and hasattr(held, "lazy"):
        return [repr(held.to_dict(as_series=False))]
    array = np.ma.getdata(np.asarray(held))
    if str(array.dtype) == "bfloat16":  # of JAX, which has no text
        array = array.astype(np.float32)
    return [str(array.dtype), array.shape, array.astype(str).tolist()]
