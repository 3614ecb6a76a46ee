"""A folder of four score files, one of them in a folder inside, and its predictions."""

import json

from pyarrow import parquet

from aftermax._scorefiles.folder import predict_folder
from aftermax._scorefiles.types import ReadOptions
from helpers.samples import make_samples
from helpers.score_files import NAMES, write_scores

PARTS = 4


def samples_of(number):
    return make_samples(seed=10 + number, n_samples=50 + number)


def path_of(folder, number):
    return folder / ("more" if number == 3 else "") / f"{number}.parquet"


def write_part(folder, number):
    logits, labels = samples_of(number)
    write_scores(path_of(folder, number), logits, NAMES[labels])


class Runner:
    """Runs parts in this process, and counts them."""

    def __init__(self):
        self.ran = []

    def __call__(self, function, work, parts):
        for part in parts:
            self.ran.append(part.name)
            try:
                yield part, function(work, part)
            except Exception as error:
                yield part, error


def predict(head, source, run=None, head_hash="a", **options):
    out = source.parent / "predictions"
    return predict_folder(head, source, out, ReadOptions(**options), run or Runner(), head_hash=head_hash)


def assert_all_predicted(head, out):
    for number in range(PARTS):
        logits, _ = samples_of(number)
        assert parquet.read_table(path_of(out, number))["predicted"].to_pylist() == head.predict(logits).tolist()
    complete = json.loads((out / "_complete.json").read_text())
    assert complete["rows"] == sum(50 + number for number in range(PARTS))
    assert len(complete["parts"]) == PARTS
