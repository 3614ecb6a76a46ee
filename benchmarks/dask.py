"""Predictions on Dask: twenty million samples from disk, on worker processes with 1 GB of memory each.

The samples are those of a network that ships with the package, repeated with a little noise. The kernel in memory is
the head's own ``predict`` on one core. "Dask alone" reads the same files with ``dask.dataframe`` on the same workers
and takes argmax, with and without writing it. Files are dropped from the page cache before they are read, as of data
that are larger than memory; one line says what it is without that.
"""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from aftermax import AutoHead, SPHClassifier
from aftermax._scorefiles.folder import predict_folder
from aftermax._scorefiles.types import ReadOptions
from aftermax._utils.threads import one_thread
from aftermax.bridges.dask import predict as lazy_predict
from aftermax.bridges.dask_workers import over_workers
from aftermax.data import load_vmnist
from benchmarks.measure import Result, best_time, plain_ticks
from benchmarks.sph import network_like, one_in_ten

SAMPLES, PART = 20_000_000, 500_000
KERNEL_SAMPLES = 1_000_000  # that the kernel in memory is measured on
SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)  # of the files, for the cost against N
CLASSES, LOGITS = (10, 30, 100, 300, 1000), 200_000_000  # for the cost against K: as many logits each time
MEMORY = "1GB"  # of each worker
TASKS = 2_000  # that do nothing
FIGURE = Path("results/bench/dask.png")
BILLION, MANY_WORKERS = 1_000_000_000, 100


def speed() -> Iterator[Result]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("AFTERMAX_BENCH")) as name, workers() as client:
        folder = Path(name)
        n_workers = len(client.scheduler_info()["workers"])
        scores = load_vmnist(500)
        write_samples(folder / "scores", scores.test_logits, SAMPLES, PART)
        sample = parquet.read_table(first_file(folder / "scores"))
        block = np.column_stack(sample.columns)[:KERNEL_SAMPLES].astype(np.float32)
        of_argmax = argmax_seconds(client, folder)
        rates = {}
        for head in (AutoHead(progress=False), SPHClassifier()):
            head.fit(scores.val_logits, scores.val_labels)
            seconds = folder_seconds(client, head, folder)
            rates[type(head).__name__] = SAMPLES / seconds / n_workers
            yield from of_head(client, head, seconds, block, folder, of_argmax)
            cached = predict(client, head, folder / "scores", folder)
            what = f"{named(head)}: the same with files in the page cache"
            yield Result(what, "from disk", cached / seconds, "x")
        yield Result("largest memory of a worker so far", "its limit is 1 GB", max(peak_memory(client)), "MB")
        yield from costs(client, head, folder)
        yield from hundred_workers(client, rates)


def of_head(
    client: Any, head: Any, seconds: float, block: np.ndarray, folder: Path, of_argmax: dict[str, float]
) -> Iterator[Result]:
    """Against the same in memory, and against Dask without a head."""
    what, kernel = named(head), kernel_rate(head, block)
    rate = SAMPLES / seconds / len(client.scheduler_info()["workers"])
    yield Result(f"{what}, a folder: samples a second", "by itself", SAMPLES / seconds, "")
    yield Result(f"{what}, a folder: throughput of a core", "`predict` in memory, one core", rate / kernel, "x")
    together = min(client.run(kernel_rate, head, block).values())
    yield Result(f"{what}, in memory on all cores at once: of a core", "on one core alone", together / kernel, "x")
    reading = reading_seconds(folder) * kernel
    yield Result(f"{what}: reading parquet alone, one core", "`predict` in memory, one core", reading, "x")
    yield Result(f"{what}, a folder: time", "Dask alone: read, argmax, write", seconds / of_argmax["written"], "x")
    yield Result(f"{what}, a folder: time", "Dask alone: read, argmax", seconds / of_argmax["read"], "x")
    counted = from_disk(lambda: counted_seconds(head, folder), folder)
    yield Result(f"{what}, a data frame: time", "Dask alone: read, argmax", counted / of_argmax["read"], "x")


def named(head: Any) -> str:
    return f"`{type(head).__name__}`, {SAMPLES:,} x 10"


def folder_seconds(client: Any, head: Any, folder: Path) -> float:
    """The shortest time of predicting the folder, read from disk."""
    predict(client, head, folder / "scores", folder)  # imports and compiles
    return from_disk(lambda: predict(client, head, folder / "scores", folder), folder)


@contextmanager
def workers() -> Iterator[Any]:
    """A client of one worker process for each core."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(threads_per_worker=1, memory_limit=MEMORY, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def write_samples(folder: Path, logits: np.ndarray, samples: int, part: int) -> None:
    """Parquet files of logits in float32, with noise so that no two samples are the same."""
    folder.mkdir()
    names = [str(column) for column in range(logits.shape[1])]
    for number, first in enumerate(range(0, samples, part)):
        rng = np.random.default_rng(number)
        rows = rng.integers(len(logits), size=min(part, samples - first))
        some = logits[rows].astype(np.float32)
        some += 0.01 * rng.standard_normal(some.shape, dtype=np.float32)
        parquet.write_table(pa.table(list(some.T), names), folder / f"{number:04}.parquet")


def first_file(folder: Path) -> Path:
    return min(folder.glob("*.parquet"))


def forget_files(folder: Path) -> None:
    """Drop files from the page cache."""
    for path in folder.rglob("*.parquet"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def from_disk(call: Callable[[], float], folder: Path, repeats: int = 2) -> float:
    """The shortest of several times, each with no file in the page cache."""
    times = []
    for _ in range(repeats):
        forget_files(folder / "scores")
        times.append(call())
    return min(times)


def kernel_rate(head: Any, block: np.ndarray) -> float:
    """Samples a second in memory, on one core."""
    with one_thread():
        head.predict(block[:1000])
        return len(block) / best_time(lambda: head.predict(block), repeats=3)


def predict(client: Any, head: Any, scores: Path, folder: Path) -> float:
    """The seconds of predicting a folder, from the list of its files to the last part."""

    def run(function: Any, work: Any, parts: Any) -> Iterator[Any]:
        return over_workers(client, function, work, parts)

    out = folder / "predictions"
    start = time.perf_counter()
    done = predict_folder(head, scores, out, ReadOptions(), run, head_hash="benchmark")
    seconds = time.perf_counter() - start
    assert done.done_before == 0
    shutil.rmtree(out)
    return seconds


def counted_seconds(head: Any, folder: Path) -> float:
    """The seconds of predicting a data frame lazily: predictions only counted, as with Dask alone."""
    import dask.dataframe as dd

    begun = time.perf_counter()
    assert len(lazy_predict(head, dd.read_parquet(str(folder / "scores")))) == SAMPLES
    return time.perf_counter() - begun


def reading_seconds(folder: Path) -> float:
    """The seconds of reading a sample from parquet, in the page cache, on one core."""
    path = first_file(folder / "scores")
    rows = parquet.read_metadata(path).num_rows
    return best_time(lambda: parquet.read_table(path, use_threads=False)) / rows


# ---- Dask alone ------------------------------------------------------------------------------------------------------


def argmax_seconds(client: Any, folder: Path) -> dict[str, float]:
    """The time of the same work without a head: predictions only counted, and written."""
    import dask.dataframe as dd

    def start() -> Any:
        frame = dd.read_parquet(str(folder / "scores"))
        return frame.map_partitions(argmax, meta={"predicted": "int64"})

    def counted() -> float:
        begun = time.perf_counter()
        assert len(start()) == SAMPLES
        return time.perf_counter() - begun

    def written() -> float:
        begun = time.perf_counter()
        start().to_parquet(str(folder / "argmax"))
        seconds = time.perf_counter() - begun
        shutil.rmtree(folder / "argmax")
        return seconds

    counted()  # imports
    return {"read": from_disk(counted, folder), "written": from_disk(written, folder)}


def argmax(frame: Any) -> Any:
    import pandas as pd

    return pd.DataFrame({"predicted": frame.to_numpy().argmax(axis=1)}, index=frame.index)


# ---- costs -----------------------------------------------------------------------------------------------------------


def costs(client: Any, head: Any, folder: Path) -> Iterator[Result]:
    """Time against N and against K, with the exponents."""
    files = sorted((folder / "scores").glob("*.parquet"))
    sizes, by_size = [], []
    for share in SHARES:
        chosen = files[: max(1, round(share * len(files)))]
        (folder / "some").mkdir()
        for path in chosen:
            (folder / "some" / path.name).hardlink_to(path)
        sizes.append(sum(parquet.read_metadata(path).num_rows for path in chosen))
        by_size.append(min(predict(client, head, folder / "some", folder) for _ in range(2)))
        shutil.rmtree(folder / "some")
        yield Result(f"SPH, N = {sizes[-1]:,}, K = 10", "(seconds)", by_size[-1], "s")
    by_classes = []
    for size in CLASSES:
        by_classes.append(seconds_per_million(client, size, folder))
        yield Result(f"SPH, K = {size:,}: a million samples", "(seconds)", by_classes[-1], "s")
    exponents = [slope(sizes, by_size), slope(CLASSES, by_classes)]
    for name, exponent in zip("NK", exponents, strict=True):
        yield Result(f"exponent of {name}", "(no unit)", exponent, "")
    draw(sizes, by_size, by_classes, exponents)


def seconds_per_million(client: Any, size: int, folder: Path) -> float:
    """The time of as many samples as have LOGITS logits, for a million of them."""
    samples = LOGITS // size
    validation = network_like(max(5_000, 20 * size), size, "float32", seed=2)
    logits, _ = network_like(max(1_000, min(20_000, samples)), size, "float32", seed=1)
    head = SPHClassifier(certainty=one_in_ten(logits), min_gain=-1.0).fit(*validation)
    write_samples(folder / "classes", logits, samples, max(1, samples // 16))
    seconds = min(predict(client, head, folder / "classes", folder) for _ in range(2))
    shutil.rmtree(folder / "classes")
    return 1e6 * seconds / samples


def slope(sizes: Any, times: Any) -> float:
    """The exponent of a power law, by least squares of logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def peak_memory(client: Any) -> list[float]:
    """The largest memory that each worker has had, in MB."""
    return [kilobytes / 1024 for kilobytes in client.run(largest_memory).values()]


def largest_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def hundred_workers(client: Any, rates: dict[str, float]) -> Iterator[Result]:
    """What scheduling costs, and what follows for a hundred workers."""
    begun = time.perf_counter()
    client.gather(client.map(abs, range(TASKS), pure=False))
    task = (time.perf_counter() - begun) / TASKS
    yield Result("a task of Dask that does nothing", "by itself", 1000 * task, "ms")
    for name, rate in rates.items():
        what = f"`{name}`, a billion samples, {MANY_WORKERS} workers"
        seconds = BILLION / (MANY_WORKERS * rate)
        yield Result(f"{what}: reading, predicting, writing", "computed from one core here", seconds, "s")
        yield Result(f"{what}: scheduling", "computed", task * BILLION / PART, "s")


def draw(sizes: list[int], by_size: list[float], by_classes: list[float], exponents: list[float]) -> None:
    """Time against N and K, on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.loglog(sizes, by_size, "o-")
    left.set(xlabel="samples N", ylabel="seconds", title=f"K = 10: N^{exponents[0]:.2f}")
    right.loglog(CLASSES, by_classes, "o-")
    right.set(xlabel="classes K", ylabel="seconds for a million samples", title=f"K^{exponents[1]:.2f}")
    plain_ticks(left.yaxis)
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=150)
