"""Score files of every format, written for tests."""

import gzip

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])


def columns(logits, labels=None, names=NAMES):
    """The columns of a table of scores."""
    table = {str(name): logits[:, j] for j, name in enumerate(names)}
    return table if labels is None else table | {"label": labels}


def write_table(path, table):
    """Write a table in the format that the path says."""
    table = pa.table(table)
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".gz":
        with gzip.open(path, "wb") as file:
            csv.write_csv(table, file)
    else:
        csv.write_csv(table, path)
    return str(path)


def write_npz(path, **arrays):
    """Write arrays to an .npz file."""
    np.savez(path, **arrays)
    return str(path)


def write_text(path, content):
    """Write a text file."""
    path.write_text(content)
    return str(path)


def write_scores(path, logits, labels):
    """Write logits in the format that the path says, with their labels if it can hold them."""
    if path.suffix == ".npz":
        return write_npz(path, logits=logits, labels=labels)
    if path.suffix == ".npy":
        np.save(path, logits)
        return str(path)
    return write_table(path, columns(logits, labels))
