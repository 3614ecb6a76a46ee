"""Hostile files: head files and score files that are damaged, or made to do harm.

Each must be refused with an error that names the file, or else be read: then a head predicts finite probabilities, and
scores are finite. A failure is a crash, more than ten seconds of computing (thirty for scores that expand, as they may
be two million lines), any other error, another file that is opened, code that is run, a warning that is not ours, and
memory beyond ten times the file's size and what always is allowed: 16 MB for a head, 96 MB for scores, as a compressed
score file may expand to 64 MB.
"""

import gzip
import io
import json
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from aftermax.storage._schema import Head
from hardening import archives_changed, arrays_changed, bytes_changed, json_changed, report, seeds, tables_changed
from hardening.archives_changed import members_of, packed
from hardening.watched import install, nothing_else, peak, reset_peak
from hardening.workers import Finding, listed, run_tasks

SEED = 21
LIMIT, LIMIT_EXPANDING = 10.0, 30.0  # seconds of computing
HANG = 600.0  # seconds by the clock, on a busy machine and with the making of the file
TIMES = 10  # the file's size
SPARE = {"head": 2**24, "scores": 2**26 + 2**25}  # bytes; a compressed score file may expand to 64 MB
SHARES = {  # of the inputs
    "head, cut": 16, "head, bits": 10, "head, bytes": 8, "head, description": 26, "head, arrays": 18,
    "head, archive": 10, "head, claims of 100 GB": 1, "head, long description": 0.1,
    ".npy": 7, ".npz": 8, ".csv": 6, ".tsv": 3, ".csv.gz": 3, ".parquet": 8, ".jsonl": 7, ".jsonl.gz": 2,
    "scores, expanding": 0.05,
}  # fmt: skip
Bytes = bytes
Rng = np.random.Generator


def run(count: int | None = None, minutes: float | None = None) -> str:
    """Read ``count`` inputs; ``minutes`` is not used."""
    total = count or 130_000
    rows, findings = [], []
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        folder = Path(name)
        seeds.write_heads(folder / "heads")
        for kind, share in SHARES.items():
            outcome = run_tasks(read_one, kind, max(1, round(total * share / sum(SHARES.values()))), folder, HANG)
            findings += outcome.findings
            rows.append(_row(kind, outcome.counts, outcome.seconds, outcome.largest))
            print(rows[-1], flush=True)
    inputs = sum(int(str(row["inputs"])) for row in rows)
    about = (
        f"`python -m hardening fuzz --count {total}`: {inputs:,} files in {time.monotonic() - started:,.0f} s, "
        f"{len(findings)} failures. {' '.join((__doc__ or '').partition('Each must')[1:]).strip()}\n\n"
        "Memory is the most that reading one of the files took, beyond what the process had."
    )
    return f"{report.write('fuzz', rows, about)}\n{listed(findings)}"


def _row(kind: str, counts: dict[str, int], seconds: float, largest: float) -> dict[str, object]:
    words = ("refused", "read", "failed")
    return {
        "kind of file": kind,
        "inputs": sum(counts.values()),
        **{word: counts.get(word, 0) for word in words},
        "seconds": round(seconds, 1),
        "memory, MB": round(largest / 2**20, 1),
    }


def finding_of(kind: str, index: int, folder: Path) -> Finding | None:
    """What one input comes to, in this process: None if nothing failed."""
    try:
        read_one(kind, index, folder)
    except AssertionError as error:
        return Finding(kind, index, str(error))
    return None


# ---- one input -------------------------------------------------------------------------------------------------------


def read_one(kind: str, index: int, folder: Path) -> tuple[str, float]:
    """Make one input, read it, and say whether it was refused or read, and how much memory that took."""
    heads = kind.startswith("head")
    _warm_up(folder)
    rng = np.random.default_rng([SEED, list(SHARES).index(kind), index])
    suffix, content = _head(kind, index, folder, rng) if heads else _scores(kind, index, rng)
    path = folder / f"input{suffix}"
    path.write_bytes(content)
    before, start = reset_peak(), time.process_time()
    told, use = "", None
    with nothing_else(path):
        try:
            use = _read_head(path) if heads else _read_scores(path, index)
        except (ValueError, TypeError, OSError) as error:
            told = f"{type(error).__name__}: {error}"
    memory = peak() - before
    allowed = TIMES * len(content) + SPARE["head" if heads else "scores"]
    assert memory <= allowed, f"takes {memory:,} bytes for {len(content):,}"
    limit = LIMIT_EXPANDING if kind == "scores, expanding" else LIMIT
    assert time.process_time() - start < limit, "takes too long"
    if use is not None:
        with nothing_else(None):
            return _used(use), float(memory)
    assert str(path) in told, f"an error that does not name the file: {told[:300]}"
    assert not heads or len(told) < 1_000, f"an error of {len(told):,} letters"  # the command cuts those of scores
    return "refused", float(memory)


def _used(use: Callable[[], None]) -> str:
    """Use what was read. A head may still say that its numbers are too large for these logits."""
    try:
        use()
    except ValueError as error:
        if not str(error).startswith("The scores of these samples are too large"):
            raise
        return "refused"
    return "read"


@cache
def _warm_up(folder: Path) -> None:
    """Import and compile all that reading and predicting needs, and only then begin to watch."""
    for path in sorted((folder / "heads").glob("*.npz")):
        _read_head(path)()
    for suffix, content in _files().items():
        path = folder / f"intact{suffix}"
        path.write_bytes(content)
        for index in range(2):
            _read_scores(path, index)()
    install()


def _read_head(path: Path) -> Callable[[], None]:
    from aftermax import load

    head = load(path)
    width = head.n_features_in_
    logits = np.random.default_rng(0).normal(size=(40, width)) * np.geomspace(1e-3, 1e6, 40)[:, None]
    inputs = [logits]
    if head.features_width_ is not None and head.fitted_head_.uses_features:
        inputs.append(np.random.default_rng(1).normal(size=(40, head.features_width_)))

    def predict() -> None:
        probabilities = head.predict_proba(*inputs)
        assert np.isfinite(probabilities).all(), "probabilities that are not finite"
        assert np.allclose(probabilities.sum(axis=1), 1.0), "probabilities that do not sum to 1"
        _check_predictions(head, inputs, probabilities)
        assert len(repr(head)) < 100_000, "a long repr"

    return predict


def _check_predictions(head: Head, inputs: list[np.ndarray], probabilities: np.ndarray) -> None:
    """Predictions are classes of the head, and the most probable ones, but for those by costs."""
    places = {label: place for place, label in enumerate(head.classes_.tolist())}
    predicted = [places.get(label, -1) for label in head.predict(*inputs).tolist()]
    assert min(predicted) >= 0, "a class that it does not have"
    if head.fitted_head_.kind != "decision":
        chosen = probabilities[np.arange(len(predicted)), predicted]
        assert (chosen >= probabilities.max(axis=1) - 1e-9).all(), "predictions that are not the most probable ones"


def _read_scores(path: Path, index: int) -> Callable[[], None]:
    """As audit reads them or, every other time, as predict does for a head with these classes."""
    from aftermax._scorefiles import ReadOptions, open_scores, read_scores

    if index % 2 or path.suffix == ".npy":  # which holds no labels
        options = ReadOptions(columns=(tuple(seeds.NAMES),), keep=("id",) if path.suffix == ".csv" else ())
        with open_scores(str(path), options) as file:
            logits = [rows.logits for rows in file.batches]
    else:
        is_table = path.suffix not in (".npz", ".jsonl") and ".jsonl" not in path.suffixes
        scores = read_scores(str(path), ReadOptions(ignore=("id",) if is_table else ()))
        logits = [scores.logits]
        assert len(scores.labels) == len(scores.logits), "not one label for each sample"

    def check() -> None:
        for some in logits:
            assert np.isfinite(some).all(), "logits that are not finite"
            assert (np.abs(some.astype(np.float64)) <= 1e100).all(), "logits that are too large"

    return check


# ---- how inputs are made ---------------------------------------------------------------------------------------------


@cache
def _heads(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((folder / "heads").glob("*.npz"))]


def _head(kind: str, index: int, folder: Path, rng: Rng) -> tuple[str, Bytes]:
    files = _heads(folder)
    content = files[rng.integers(len(files))]
    made = {
        "head, cut": lambda: bytes_changed.cut(files, index, rng),
        "head, bits": lambda: bytes_changed.flipped(content, rng),
        "head, bytes": lambda: bytes_changed.spliced(content, rng),
        "head, description": lambda: _other_description(content, rng),
        "head, arrays": lambda: _other_array(content, rng),
        "head, archive": lambda: archives_changed.changed_archive(content, rng),
        "head, claims of 100 GB": lambda: _vast_claim(content, rng),
        "head, long description": lambda: _long_description(content, rng),
    }
    return ".npz", made[kind]()


def _other_description(content: Bytes, rng: Rng) -> Bytes:
    members = members_of(content)
    members["head.json"] = json_changed.changed_json(json.loads(members["head.json"]), rng).encode("utf-8", "replace")
    return packed(list(members.items()))


def _other_array(content: Bytes, rng: Rng) -> Bytes:
    """One or two arrays are others, and head.json says so, mostly."""
    members = members_of(content)
    described = json.loads(members["head.json"])
    for name in rng.permutation(sorted(described["arrays"]))[: int(rng.integers(1, 3))].tolist():
        with np.errstate(all="ignore"):
            array = np.load(io.BytesIO(members[f"{name}.npy"]))
            if rng.integers(6) == 0:
                members[f"{name}.npy"] = arrays_changed.changed_npy(array, rng)
                continue
            array = arrays_changed.changed_array(array, rng)
        if array.dtype == object:
            members[f"{name}.npy"] = arrays_changed.npy(array)
        else:
            fortran = array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous
            members[f"{name}.npy"] = arrays_changed.npy(array, (1, 0))
            described["arrays"][name] = {
                "dtype": array.dtype.str,
                "shape": list(array.shape),
                "by_columns": fortran,
            }
            continue
        described["arrays"][name]["dtype"] = "|O"
    members["head.json"] = json.dumps(described, indent=1).encode()
    return packed(list(members.items()))


def _vast_claim(content: Bytes, rng: Rng) -> Bytes:
    """A head of which one array is said to have 100 GB: by head.json, its own header, or the list of contents."""
    members = members_of(content)
    described = json.loads(members["head.json"])
    name = str(rng.choice(sorted(described["arrays"])))
    if rng.integers(2):
        described["arrays"][name]["shape"] = [[2**40], [2**36, 3], [3, 2**36], [2**62, 4], [10**30]][rng.integers(5)]
    if rng.integers(2):
        shape = tuple(described["arrays"][name]["shape"])
        text = f"{{'descr': '{described['arrays'][name]['dtype']}', 'fortran_order': False, 'shape': {shape}, }}"
        members[f"{name}.npy"] = arrays_changed.header(text) + members[f"{name}.npy"][128:]
    members["head.json"] = json.dumps(described).encode()
    archived = packed(list(members.items()))
    size = int(rng.choice([0, 2**31, 2**32 + 1, 100 * 2**30, 2**62]))
    return archived if size == 0 else archives_changed.claiming(archived, f"{name}.npy", size)


def _long_description(content: Bytes, rng: Rng) -> Bytes:
    """A head.json of 1 to 20 MB."""
    members = members_of(content)
    size = int(rng.choice([1, 4, 15, 20])) * 2**20
    pieces = ("[],", "{},", '"a",', "1,", "[[[[1]]]],", "1e5,", "null,", '{"a":1},', " ", '"' + "é" * 1_000 + '",')
    piece = pieces[rng.integers(len(pieces))]
    many = piece * (size // len(piece.encode())) + "0"
    text = members["head.json"].decode()
    places = ('"parameters": {', '"arrays": {', '"head": {')
    place = places[rng.integers(len(places))]
    members["head.json"] = text.replace(place, f'{place}"grid": [{many}], ', 1).encode()
    if rng.integers(4) == 0:
        members["head.json"] = text[:-1].encode() + f', "more": "{"a" * size}"}}'.encode()
    return packed(list(members.items()))


@cache
def _files() -> dict[str, bytes]:
    return seeds.score_files()


def _scores(kind: str, index: int, rng: Rng) -> tuple[str, Bytes]:
    if kind == "scores, expanding":
        suffix = (".csv.gz", ".jsonl.gz", ".npz")[index % 3]
        return suffix, _expanding_npz(rng) if suffix == ".npz" else tables_changed.vast_text(suffix, rng)
    content = _files()[kind]
    way = index % 8
    if way == 0:
        return kind, bytes_changed.cut([content], index // 8, rng)
    if way == 1:
        return kind, bytes_changed.flipped(content, rng)
    if way == 2:
        return kind, bytes_changed.spliced(content, rng)
    return kind, _other_scores(kind, content, rng)


def _other_scores(kind: str, content: Bytes, rng: Rng) -> Bytes:
    if kind == ".npy":
        return arrays_changed.changed_npy(seeds.arrays()["logits"], rng)
    if kind == ".npz":
        return _other_npz(content, rng)
    if kind == ".parquet":
        return tables_changed.changed_parquet(rng)
    if kind.startswith(".jsonl"):
        text = tables_changed.changed_json_lines(rng)
    else:
        text = tables_changed.changed_csv(gzip.decompress(content) if kind.endswith(".gz") else content, rng)
    return gzip.compress(text, mtime=0) if kind.endswith(".gz") else text


def _other_npz(content: Bytes, rng: Rng) -> Bytes:
    if rng.integers(3) == 0:
        return archives_changed.changed_archive(content, rng)
    arrays = seeds.arrays()
    members = {f"{name}.npy": arrays_changed.npy(array) for name, array in arrays.items()}
    name = str(rng.choice(sorted(arrays)))
    members[f"{name}.npy"] = arrays_changed.changed_npy(arrays[name], rng)
    archived = packed(list(members.items()))
    return archives_changed.claiming(archived, f"{name}.npy") if rng.integers(8) == 0 else archived


def _expanding_npz(rng: Rng) -> Bytes:
    """A few hundred kilobytes that expand to 200 MB."""
    shape = (200 * 2**20 // 24, 3)
    text = f"{{'descr': '<f8', 'fortran_order': {bool(rng.integers(2))}, 'shape': {shape}, }}"
    logits = arrays_changed.header(text) + bytes(shape[0] * 24)
    method = archives_changed.METHODS[rng.integers(3)]
    return packed([("logits.npy", logits), ("labels.npy", arrays_changed.npy(np.arange(3)))], method)
