"""Images of single characters as a poor scan has them: small, turned, blurred and noisy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

SIDE = 48  # of an image, in pixels: the height that the recogniser takes
FONT_SIZE = 38
FULL = "国"  # fills the square of a character, so its middle is the middle of a line


@dataclass(frozen=True)
class Corruption:
    """How bad a scan is. Each image has its own values, drawn uniformly from 0 or from the smallest to the largest."""

    least_pixels: int  # of the side of the square that the image is reduced to, before it is enlarged again
    most_pixels: int
    degrees: float  # at most, to either side
    shift: float  # at most, to either side and up or down, in pixels of the large image
    blur: float  # the largest standard deviation of the Gaussian, in pixels of the large image
    noise: float  # the largest standard deviation of the noise of a small pixel; black is 0, white is 1


class Renderer:
    """Draws characters in one font."""

    def __init__(self, font: Path, corruption: Corruption, index: int = 0) -> None:
        self.corruption = corruption
        self._path, self._index = font, index
        self._font = ImageFont.truetype(str(font), FONT_SIZE, index=index)
        _, top, _, bottom = self._font.getbbox(FULL)
        self._middle = (top + bottom) / 2

    def known(self, characters: Sequence[str]) -> NDArray[np.int64]:
        """The places of the characters that the font has, and that leave ink."""
        from fontTools.ttLib import TTFont

        with TTFont(self._path, fontNumber=self._index, lazy=True) as font:
            glyphs = font.getBestCmap()
        there = [len(each) == 1 and ord(each) in glyphs and self._has_ink(each) for each in characters]
        return np.flatnonzero(there)

    def _has_ink(self, character: str) -> bool:
        return self._font.getmask(character).getbbox() is not None

    def image(self, character: str, rng: np.random.Generator) -> NDArray[np.float32]:
        """An image of a character, black on white, from 0 to 1."""
        how = self.corruption
        dx, dy = rng.uniform(-how.shift, how.shift, 2)
        left, _, right, _ = self._font.getbbox(character)
        large = Image.new("L", (SIDE, SIDE), 255)
        place = (SIDE / 2 - (left + right) / 2 + dx, SIDE / 2 - self._middle + dy)
        ImageDraw.Draw(large).text(place, character, font=self._font, fill=0)
        turned = large.rotate(rng.uniform(-how.degrees, how.degrees), Image.Resampling.BILINEAR, fillcolor=255)
        blurred = turned.filter(ImageFilter.GaussianBlur(rng.uniform(0, how.blur)))
        pixels = int(rng.integers(how.least_pixels, how.most_pixels + 1))
        small = np.asarray(blurred.resize((pixels, pixels), Image.Resampling.BOX), dtype=np.float32) / 255
        noisy = small + rng.uniform(0, how.noise) * rng.standard_normal(small.shape, dtype=np.float32)
        scan = Image.fromarray((255 * noisy.clip(0, 1)).astype(np.uint8))
        return np.asarray(scan.resize((SIDE, SIDE), Image.Resampling.BILINEAR), dtype=np.float32) / np.float32(255)
