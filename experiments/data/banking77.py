"""BANKING77: questions of a bank's customers, each of one of 77 intents, from the two files that its authors publish.

Casanueva et al. (2020). Efficient intent detection with dual sentence encoders. NLP for conversational AI.
"""

from __future__ import annotations

from pathlib import Path

from experiments.data.cifar_batches import data_folder

FOLDER = "banking77"
FILES = ("train.csv", "test.csv")
WHERE_TO_GET_IT = (
    "Get banking_data/train.csv and test.csv of https://github.com/PolyAI-LDN/task-specific-datasets (CC BY 4.0), put "
    "them into a folder, and name it with --text."
)


def banking77_folder(folder: Path | None = None) -> Path:
    """The folder with both files; an error that says where to get them, if one is missing.

    Parameters
    ----------
    folder : Path, default=None
        Where they are. If None, ``banking77`` in the folder that ``AFTERMAX_DATA`` names; if there is no such
        variable, in ./data.
    """
    place = folder or data_folder(None) / FOLDER
    missing = [name for name in FILES if not (place / name).is_file()]
    if missing:
        raise FileNotFoundError(f"BANKING77 is not in {place}: no file {missing[0]} there. {WHERE_TO_GET_IT}")
    return place
