"""Images of characters, the packages that they come from, and their scores, which are kept."""

import subprocess
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from matplotlib import get_data_path

from experiments.characters import fonts, packages
from experiments.characters.fonts import FONTS, SCAN, load
from experiments.characters.packages import MODEL, fetch_font, fetch_model
from experiments.characters.recogniser import Recogniser
from experiments.characters.rendering import SIDE, Corruption, Renderer

SANS = Path(get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")  # ships with matplotlib
CLEAN = Corruption(least_pixels=SIDE, most_pixels=SIDE, degrees=0.0, shift=0.0, blur=0.0, noise=0.0)


def rng():
    return np.random.default_rng(0)


# ---- rendering -------------------------------------------------------------------------------------------------------


def test_a_clean_image_is_black_on_white_in_the_middle_and_the_same_each_time():
    renderer = Renderer(SANS, CLEAN)
    image = renderer.image("H", rng())
    assert image.shape == (SIDE, SIDE)
    assert (image.min(), image.max()) == (0, 1)
    columns = np.flatnonzero((image < 0.5).any(axis=0))
    assert columns.mean() == pytest.approx((SIDE - 1) / 2, abs=1.5)
    np.testing.assert_array_equal(image, renderer.image("H", rng()))
    assert not np.array_equal(image, renderer.image("N", rng()))


def test_a_poor_scan_differs_from_image_to_image():
    renderer, random = Renderer(SANS, SCAN), rng()
    first, second = (renderer.image("H", random) for _ in range(2))
    assert 0.02 < np.abs(first - second).mean() < 0.3
    assert first.dtype == np.float32


def test_characters_that_a_font_lacks_or_that_leave_no_ink_are_not_drawn():
    assert Renderer(SANS, CLEAN).known(["H", "\U00020000", " ", "n", "ab"]).tolist() == [0, 3]


# ---- packages --------------------------------------------------------------------------------------------------------


def made_package(command, cwd, **options):
    """Stands for pip, apt-get and dpkg-deb."""
    if "pip" in command:
        with ZipFile(Path(cwd, "made-1.0.whl"), "w") as wheel:
            wheel.writestr(MODEL, b"network")
    elif command[0] == "apt-get":
        Path(cwd, f"{command[-1]}_1.0.deb").touch()
    else:
        path = Path(cwd, "usr/share/fonts/truetype/made/Made.ttf")
        path.parent.mkdir(parents=True)
        path.write_bytes(b"font")


def test_the_recogniser_and_fonts_are_fetched_once(tmp_path, monkeypatch):
    monkeypatch.setattr(packages.subprocess, "run", made_package)
    assert fetch_model(tmp_path).read_bytes() == b"network"
    assert fetch_font("fonts-made", "made/Made.ttf", tmp_path).read_bytes() == b"font"
    monkeypatch.setattr(packages.subprocess, "run", None)
    assert fetch_model(tmp_path).is_file()
    assert fetch_font("fonts-made", "made/Made.ttf", tmp_path) == tmp_path / "fonts" / "Made.ttf"


def test_a_package_that_cannot_be_had_is_named(tmp_path, monkeypatch):
    def refused(command, **options):
        raise subprocess.CalledProcessError(100, command, stderr="E: first\nE: Unable to locate package fonts-made\n")

    monkeypatch.setattr(packages.subprocess, "run", refused)
    with pytest.raises(OSError, match=r"fonts-made from Debian, and apt-get failed: E: Unable to locate package"):
        fetch_font("fonts-made", "made/Made.ttf", tmp_path)
    with pytest.raises(OSError, match=r"rapidocr-onnxruntime==1.4.4 from PyPI, and pip failed"):
        fetch_model(tmp_path)
    monkeypatch.undo()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(OSError, match=r"fonts-made from Debian, and there is no apt-get to fetch it"):
        fetch_font("fonts-made", "made/Made.ttf", tmp_path)


# ---- kept scores -----------------------------------------------------------------------------------------------------


class MadeRecogniser:
    """The scores of a character are the darkness of its image, and its number."""

    def __init__(self, model):
        self.characters = ["H", "\U00020000", "n", " "]

    def scores(self, images):
        return np.stack([images.mean(axis=(1, 2)) + place for place in range(4)], axis=1).astype(np.float16)


@pytest.fixture
def made(monkeypatch):
    """A recogniser of four characters, of which the font has two; eight images, two at a time."""
    monkeypatch.setattr(fonts, "Recogniser", MadeRecogniser)
    monkeypatch.setattr(fonts, "fetch_model", lambda folder: Path())
    monkeypatch.setattr(fonts, "fetch_font", lambda package, file, folder: SANS)
    monkeypatch.setattr(fonts, "SAMPLES", 8)
    monkeypatch.setattr(fonts, "PART", 2)


def test_scores_are_computed_in_parts_that_are_kept(made, tmp_path, monkeypatch):
    whole = load("ukai", tmp_path / "whole", 8)
    first = load("ukai", tmp_path / "parts", 3)
    assert len(first.labels) == len(first.logits) == 3
    rest = load("ukai", tmp_path / "parts", 8)
    np.testing.assert_array_equal(rest.logits, whole.logits)
    np.testing.assert_array_equal(rest.labels, whole.labels)
    assert set(whole.labels) == {0, 2}
    assert (whole.logits.shape, whole.logits.dtype) == ((8, 4), np.float16)
    monkeypatch.setattr(fonts, "Recogniser", None)  # they are kept
    assert len(load("ukai", tmp_path / "parts", 8).labels) == 8


def test_an_interrupted_part_is_computed_again(made, tmp_path, monkeypatch):
    whole = load("ukai", tmp_path / "whole", 8)
    load("ukai", tmp_path / "parts", 4)
    labels = np.load(tmp_path / "parts" / "ukai_labels.npy")
    np.save(tmp_path / "parts" / "ukai_labels.npy", labels[:2])  # as if stopped before the labels were written
    np.testing.assert_array_equal(load("ukai", tmp_path / "parts", 8).logits, whole.logits)


def test_fonts_have_seeds_of_their_own(made, tmp_path):
    one, two = (load(name, tmp_path, 8).logits for name in ("ukai", "smiley"))
    assert not np.array_equal(one, two)
    assert len({font.seed for font in FONTS.values()}) == len(FONTS)


# ---- the recogniser itself -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_recogniser_reads_most_characters_of_a_clean_font(tmp_path):
    pytest.importorskip("onnxruntime")
    try:
        model, file = fetch_model(tmp_path), fetch_font(*FONTS["smiley"][1:3], tmp_path)
    except OSError as error:
        pytest.skip(str(error))
    recogniser = Recogniser(model)
    assert (len(recogniser.characters), recogniser.characters[-1]) == (6_624, " ")
    errors = []
    for corruption in (CLEAN, SCAN):
        renderer, random = Renderer(file, corruption), rng()
        drawn = random.choice(renderer.known(recogniser.characters), 200)
        scores = recogniser.scores(np.array([renderer.image(recogniser.characters[one], random) for one in drawn]))
        assert (scores.shape, scores.dtype) == ((200, 6_624), np.float16)
        assert -28 < scores.min() < scores.max() <= 0
        errors.append(np.mean(scores.argmax(axis=1) != drawn))
    assert errors[0] < 0.3
    assert errors[0] < errors[1] < 0.5
