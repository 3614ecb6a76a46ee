"""Compile every loop of the package, by calling what uses it on a few made-up samples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._many.fitting import CLASS_MEANS
from aftermax._many.samples import ManySamples
from aftermax._residual.gaussian import GaussianCorrection
from aftermax._residual.head import FIRST_LOOK_SAMPLES, ResidualHead
from aftermax._residual.projection import Projection
from aftermax._residual.samples import Samples
from aftermax._residual.stacking import fit_stacking
from aftermax._residual.terms import InputTerms
from aftermax._utils.folds import row_hashes
from aftermax._utils.large import MANY_CLASSES
from aftermax._utils.progress import Progress
from aftermax._utils.softmax import softmax_certainty
from aftermax._utils.warned import kept_warnings
from aftermax.auto._cross_fitting_many import cross_fit_many
from aftermax.sph.classifier import SPHClassifier
from aftermax.sph.classifier_cv import SPHClassifierCV

CLASSES = 3
NO_FOLDER = (
    "numba can write to none of the folders where it would keep compiled code: set NUMBA_CACHE_DIR to one that you can "
    "write to, now and whenever the package is used."
)


def compile_all(progress: bool | None = None) -> Path:
    """Compile what is not compiled yet, for all types it is called with; the folder that numba keeps it in."""
    from aftermax._utils import compiled

    compiled.compilation_is_announced()
    rng = np.random.default_rng(0)
    codes = np.arange(20 * CLASSES) % CLASSES
    logits = rng.normal(size=(len(codes), CLASSES)) + np.eye(CLASSES)[codes]
    steps: list[Callable[[], object]] = [
        lambda: softmax_certainty(logits),
        lambda: row_hashes(np.zeros((2, MANY_CLASSES + 1))),
        lambda: fit_stacking([logits], codes, np.ones(len(codes))),
        lambda: residual_head().scores([logits]),
        lambda: residual_head().predict([logits]),
        lambda: many_classes(logits.astype(np.float32), codes),
        lambda: many_classes(logits, codes),
        lambda: SPHClassifier(certainty=1.0, min_gain=-1.0).fit(logits, codes).predict_proba(logits),
        lambda: SPHClassifierCV({"certainty": [0.9]}, n_jobs=1).fit(logits, codes),
        lambda: SPHClassifierCV({"certainty": [0.9]}, n_jobs=1, class_weight={0: 2.0}).fit(logits, codes),
    ]
    with Progress("compiling", len(steps), progress) as bar, kept_warnings():  # about so few samples
        for number, step in enumerate(steps):
            step()
            if number == 0 and compiled.cache_folder() is None:
                raise OSError(NO_FOLDER)
            bar.step()
    folder = compiled.cache_folder()
    assert folder is not None
    return folder


def many_classes(logits: NDArray[Any], codes: NDArray[np.int64]) -> None:
    """What is done with many classes, with few."""
    every = np.arange(len(codes))
    samples = ManySamples.of(Samples(logits, codes, np.ones(len(codes))), every)
    crossed = cross_fit_many(samples, [(every, every)], 1, False, dense=True, keep_unlabelled=False)
    crossed.heads[CLASS_MEANS].predict([logits])


def residual_head() -> ResidualHead:
    """A head with terms of every kind."""
    assert FIRST_LOOK_SAMPLES <= 20 * CLASSES
    eye = np.eye(CLASSES)
    exponents = np.vstack([2 * eye, -np.ones(CLASSES), -np.ones(CLASSES)])
    gaussian = GaussianCorrection(eye, np.stack([eye] * CLASSES), np.zeros(CLASSES), 0.1)
    projection = Projection(0, 10.0, np.zeros(CLASSES), eye)
    terms = InputTerms(projection, exponents, np.stack([eye] * 3), np.ones(3, dtype=bool), eye, gaussian, 1.0)
    return ResidualHead(1.0, np.zeros(CLASSES), (terms,))
