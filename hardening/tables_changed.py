"""Changes to tables of scores: the cells of .csv files, the columns of .parquet files, the lines of .jsonl files."""

import gzip
import io
import json

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from hardening.json_changed import ODD, changed_json
from hardening.seeds import json_lines, table

CELLS = (
    "", " ", '"', '""', "nan", "NaN", "inf", "-inf", "1e999", "1e155", "-1e308", "5e-324", "1,5", "0x1p3", "1_0",
    "\u0661", "\0", "\r", "\n", '"\n', ";", "\t", "=cmd|' /C calc'!A0", "\x1b]0;x\x07", "\u202e", "\ud800", "label",
    "ant", "#", "a" * 5_000, "1" * 400, "-0.0", "+", "1e", "None", "null", "[1]", "{}", "../x", "\ufeff", "字", "true",
)  # fmt: skip
ENCODINGS = ("utf-16", "utf-32", "latin-1", "utf-8-sig", "utf-7", "cp500")


def changed_csv(content: bytes, rng: np.random.Generator) -> bytes:
    """Text with other cells, lines, headings, quotes or encodings."""
    text = content.decode()
    separator = "\t" if "\t" in text else ","
    rows = [line.split(separator) for line in text.splitlines()]
    for _ in range(int(rng.choice([1, 1, 2, 5]))):
        row = 0 if rng.integers(3) == 0 else int(rng.integers(len(rows)))
        way, place = rng.integers(8), int(rng.integers(len(rows[row]))) if rows[row] else 0
        if way <= 3 and rows[row]:
            rows[row][place] = CELLS[rng.integers(len(CELLS))]
        elif way == 4:
            rows[row].insert(place, CELLS[rng.integers(len(CELLS))])
        elif way == 5 and rows[row]:
            rows[row][place] = rows[row][rng.integers(len(rows[row]))]
        elif way == 6 and len(rows) > 1:
            del rows[row]
        else:
            rows[row] *= int(rng.choice([0, 2, 300]))
    end = ("\n", "\n", "\n", "\r\n", "\r", "\n\n", "\0\n")[rng.integers(7)]
    text = end.join(separator.join(row) for row in rows)
    if rng.integers(6) == 0:
        text = text.replace(separator, (";", " ", "|", ",,", '","')[rng.integers(5)])
    if rng.integers(8) == 0:
        return text.encode(ENCODINGS[rng.integers(len(ENCODINGS))], "replace")
    return text.encode("utf-8", "surrogatepass")


def changed_json_lines(rng: np.random.Generator) -> bytes:
    """Lines of which some are changed, and perhaps some are missing, empty or no objects."""
    lines = json_lines()[:: int(rng.integers(1, 3))] if rng.integers(2) else json_lines()[1::2]
    for place in rng.permutation(len(lines))[: int(rng.choice([1, 1, 2, len(lines)]))]:
        way = rng.integers(10)
        if way <= 6:
            lines[place] = changed_json(json.loads(lines[place]), rng)
        elif way == 7:
            lines[place] = json.dumps(ODD[rng.integers(len(ODD))])
        elif way == 8:
            lines[place] = ("", " ", "\0", "\ufeff", "{", "[" * 5_000, "}{", "{}{}", "\u2028")[rng.integers(9)]
        else:
            lines[place] = lines[place] * 2
    end = ("\n", "\n", "\n", "\r\n", "\r", "\n\n")[rng.integers(6)]
    return end.join(lines).encode("utf-8", "surrogatepass")


COLUMNS = {  # what a column of twelve values may be
    "int8": pa.array(range(12), pa.int8()),
    "uint64": pa.array([2**64 - 1] * 12, pa.uint64()),
    "float16": pa.array(np.linspace(0, 1, 12, dtype=np.float16)),
    "float32": pa.array(np.linspace(0, 1e38, 12, dtype=np.float32)),
    "nan": pa.array([np.nan] * 12),
    "inf": pa.array([np.inf, *[0.0] * 11]),
    "vast": pa.array([1e300, *[0.0] * 11]),
    "null": pa.nulls(12),
    "some null": pa.array([None, *[0.5] * 11]),
    "bool": pa.array([True, False] * 6),
    "text": pa.array(["1"] * 12),
    "large text": pa.array(["1"] * 12, pa.large_string()),
    "binary": pa.array([b"\xff"] * 12),
    "fixed": pa.array([b"\xff\0"] * 12, pa.binary(2)),
    "dictionary": pa.array(["a", "b"] * 6).dictionary_encode(),
    "numbers by name": pa.array([0.5, 1.5] * 6).dictionary_encode(),
    "decimal": pa.array(range(12)).cast(pa.decimal128(30, 4)),
    "date": pa.array(range(12), pa.int32()).cast(pa.date32()),
    "time": pa.array(range(12), pa.timestamp("ns", "UTC")),
    "odd zone": pa.array(range(12), pa.timestamp("s", "../../etc/passwd")),
    "far time": pa.array([2**62] * 12, pa.timestamp("ms")),
    "far date": pa.array([2**31 - 1] * 12, pa.int32()).cast(pa.date32()),
    "duration": pa.array(range(12), pa.duration("s")),
    "list": pa.array([[1.0, 2.0]] * 12),
    "fixed list": pa.array([[1.0, 2.0]] * 12, pa.list_(pa.float64(), 2)),
    "struct": pa.array([{"a": 1.0, "b": [1]}] * 12),
    "map": pa.array([[("a", 1.0)]] * 12, pa.map_(pa.string(), pa.float64())),
}
HEADINGS = ("label", "labels", "", "ant", "a.b", "\0", "\x1b[2J", "=1+1", "字", "x" * 3_000, "feature_0", "predicted")


def changed_parquet(rng: np.random.Generator) -> bytes:
    """A table with columns of other types and names."""
    made = table()
    names, columns = list(made.column_names), list(made.columns)
    for _ in range(int(rng.choice([1, 1, 2, 4]))):
        place, way = int(rng.integers(len(columns))), rng.integers(6)
        if way <= 2:
            columns[place] = list(COLUMNS.values())[rng.integers(len(COLUMNS))]
        elif way == 3:
            names[place] = HEADINGS[rng.integers(len(HEADINGS))]
        elif way == 4 and len(columns) > 1:
            del names[place], columns[place]
        else:
            names.append(HEADINGS[rng.integers(len(HEADINGS))])
            columns.append(columns[place])
    made = pa.Table.from_arrays(columns, names=names)
    file = io.BytesIO()
    compression = ("none", "snappy", "gzip", "zstd", "lz4", "brotli")[rng.integers(6)]
    parquet.write_table(made.slice(0, int(rng.choice([12, 12, 12, 1, 0]))), file, compression=compression)
    return file.getvalue()


def vast_text(suffix: str, rng: np.random.Generator) -> bytes:
    """A few kilobytes that expand to 100 MB to 1 GB: one endless line, or many short ones."""
    start = b"ant,cat,label\n" if suffix == ".csv.gz" and rng.integers(2) else b""
    lines = (b"0,0,ant\n", b"\n", b" ", b"\0", b"{", b'"', b"[", b'{"scores":{"a":1,"b":2},"label":"a"}\n')
    piece = lines[rng.integers(len(lines))] * 2**15
    file = io.BytesIO()
    with gzip.GzipFile("", "wb", 1, file, 0) as stream:
        stream.write(start)
        for _ in range(int(rng.choice([100, 1_000])) * 2**20 // len(piece)):
            stream.write(piece)
    return file.getvalue()
