"""How the networks on flattened MNIST are built and trained.

The paper says only "a simple NN (in Keras/Tensorflow) with two dense layers", and that its mean softmax accuracy runs
from 71 % (trained on 100 samples) to 98 % (on 50,000). These are the recipes that were tried;
``python -m experiments recipes`` compares them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Recipe:
    """A dense network and its training. By default two hidden layers of 512 with dropout, as in Keras's example."""

    description: str
    optimiser: str = "adam"  # or "rmsprop"
    epochs: int = 9
    hidden: tuple[int, ...] = (512, 512)
    dropout: float = 0.2
    batch: int = 128
    keras_weights: bool = True  # Keras's initial weights (Glorot's), rather than torch's

    @property
    def digest(self) -> str:
        """A few characters that change with the recipe."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:6]

    @property
    def layers(self) -> str:
        """The network, without its training."""
        widths = " and ".join(map(str, self.hidden))
        dropout = f"dropout {self.dropout:g}" if self.dropout else "no dropout"
        return (
            f"hidden layers of {widths}, {dropout}"
            if len(self.hidden) > 1
            else f"a hidden layer of {widths}, {dropout}"
        )


RECIPES = {
    "adam": Recipe("Adam, 9 epochs"),
    "rmsprop": Recipe("RMSprop, 9 epochs", optimiser="rmsprop"),
    "adam-20": Recipe("Adam, 20 epochs", epochs=20),
    "rmsprop-20": Recipe("RMSprop, 20 epochs (Keras's MNIST example)", optimiser="rmsprop", epochs=20),
    "adam-torch": Recipe("Adam, 12 epochs, torch's initial weights", epochs=12, keras_weights=False),
    "plain": Recipe("Adam, 20 epochs, one hidden layer of 128, no dropout", epochs=20, hidden=(128,), dropout=0.0),
}
MAIN = "adam"
SCORES_FOLDER = Path("build/vmnist")  # where the networks' scores are kept by default
