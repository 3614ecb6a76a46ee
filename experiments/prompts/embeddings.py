"""The prompts, and their embeddings at full length.

MiniLM ends in a layer that brings every embedding to length 1, so ``normalize_embeddings=False`` changes nothing. What
it is before that layer is the mean of the tokens' embeddings. The directions of the texts' embeddings are those that
the benchmark keeps; their lengths are kept here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.files import write_atomically
from aftermax.data import DAMAGE
from experiments.benchmark import text_trials
from experiments.benchmark.text_trials import PARTS, read_texts
from experiments.runs.provenance import digest

Floats = NDArray[np.float64]

# Written once, before any of them was tried. The first is the name as it is, the second is the one prompt.
PROMPTS = (
    "{name}",
    "a customer asks about {name}",
    "a question about {name}",
    "please help me with {name}",
    "the topic is {name}",
)


class Prompted(NamedTuple):
    """Embeddings of the prompts, of shape (prompts, classes, columns), and the lengths of those of the texts."""

    prompts: NDArray[np.float32]
    train_lengths: NDArray[np.float32]
    test_lengths: NDArray[np.float32]


def prompt_texts(names: list[str]) -> list[str]:
    """Every prompt of every class; all classes of one prompt before the next."""
    return [prompt.format(name=name.replace("_", " ")) for prompt in PROMPTS for name in names]


def embed_prompts(folder: Path, kept: Path) -> Path:
    """Where the embeddings of the prompts are kept; they are made if they are not there."""
    contents = [(folder / part).read_bytes() for part in PARTS]
    path = kept / f"prompts-{digest(*contents, *(prompt.encode() for prompt in PROMPTS))}.npz"
    if not path.is_file():
        (train, train_classes), (test, test_classes) = (read_texts(folder / part) for part in PARTS)
        names = sorted({*train_classes, *test_classes})
        encode = text_trials.load_encoder()
        print(f"Embedding {len(train) + len(test):,} texts, which takes minutes and is done once ...", file=sys.stderr)
        prompts = full_length(encode, prompt_texts(names))
        lengths = [np.linalg.norm(full_length(encode, part), axis=1) for part in (train, test)]
        arrays = Prompted(prompts.reshape(len(PROMPTS), len(names), -1), *lengths)
        with write_atomically(path) as unfinished, unfinished.open("wb") as file:
            np.savez_compressed(file, **arrays._asdict())
    return path


def full_length(encode: Any, texts: list[str]) -> NDArray[np.float32]:
    """The embeddings before they are brought to length 1: the means of the tokens' embeddings."""
    tokens = encode(texts, output_value="token_embeddings")
    return np.stack([np.asarray(each).mean(axis=0) for each in tokens])


def read_prompts(path: Path) -> Prompted:
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            return Prompted(*(arrays[name] for name in Prompted._fields))
    except DAMAGE as error:
        raise ValueError(f"{path} is damaged ({error}): remove it, it is made again.") from error
