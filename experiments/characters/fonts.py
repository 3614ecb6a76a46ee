"""The three fonts, their scores, and how they are made: once, and kept.

A font's characters are drawn at random, each as often as any other. Those that a font lacks have no samples, and keep
their column.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.files import write_atomically
from experiments.characters.packages import FOLDER, fetch_font, fetch_model
from experiments.characters.recogniser import Recogniser
from experiments.characters.rendering import Corruption, Renderer

SCAN = Corruption(least_pixels=20, most_pixels=28, degrees=8.0, shift=2.0, blur=1.0, noise=0.2)
SAMPLES = 74_240  # 10 for each column in the mean, and 8,000 to test on
PART = 2_320  # kept at once

Labels = NDArray[np.int64]


class Font(NamedTuple):
    """A font in a Debian package; the seed is that of its characters and their images."""

    title: str
    package: str
    file: str
    seed: int


FONTS = {
    "ukai": Font("AR PL UKai, a brush", "fonts-arphic-ukai", "arphic/ukai.ttc", 1),
    "zenhei": Font("WenQuanYi Zen Hei, upright sans serif", "fonts-wqy-zenhei", "wqy/wqy-zenhei.ttc", 2),
    "smiley": Font("Smiley Sans, condensed and oblique", "fonts-smiley-sans", "smiley-sans/SmileySans-Oblique.ttf", 3),
}


class Scores(NamedTuple):
    """What the recogniser gives for images of characters. Labels are column numbers."""

    logits: NDArray[np.float16]
    labels: Labels


def load(font: str, folder: Path = FOLDER, samples: int = SAMPLES) -> Scores:
    """The first scores of a font, from the folder or else computed, and kept there; the logits stay in their file.

    The file of the labels is written after each part, so its length says how many logits there are.
    """
    logits, labels = folder / f"{font}_logits.npy", folder / f"{font}_labels.npy"
    made = np.load(labels) if labels.is_file() else np.empty(0, dtype=np.int64)
    if len(made) < samples:
        made = _extend(logits, labels, made, FONTS[font], folder, samples)
    return Scores(np.load(logits, mmap_mode="r")[:samples], made[:samples])


def _extend(logits: Path, labels: Path, made: Labels, font: Font, folder: Path, samples: int) -> Labels:
    """Compute the parts that are missing."""
    recogniser = Recogniser(fetch_model(folder))
    characters = recogniser.characters
    renderer = Renderer(fetch_font(font.package, font.file, folder), SCAN)
    known = renderer.known(characters)
    kept = _opened(logits, len(characters), fresh=not len(made))
    while len(made) < samples:
        print(f"{font.title}: {len(made):,} of {samples:,} images scored ...", flush=True)
        rng = np.random.default_rng([font.seed, len(made)])
        drawn = rng.choice(known, PART)
        images = np.array([renderer.image(characters[column], rng) for column in drawn])
        kept[len(made) : len(made) + PART] = recogniser.scores(images)
        kept.flush()
        made = np.concatenate([made, drawn])
        with write_atomically(labels) as unfinished, unfinished.open("wb") as file:
            np.save(file, made)
    return made


def _opened(path: Path, columns: int, *, fresh: bool) -> np.memmap[Any, np.dtype[np.float16]]:
    """The file of the logits, to write in; it has its full size from the start."""
    if fresh:
        path.parent.mkdir(parents=True, exist_ok=True)
        return np.lib.format.open_memmap(path, "w+", np.float16, (SAMPLES, columns))
    return np.lib.format.open_memmap(path, "r+")
