"""The command, from .csv and .parquet files of scores to predictions."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from pyarrow import csv, parquet

from aftermax.data import load_vmnist


def aftermax(*arguments: str) -> str:
    command = shutil.which("aftermax", path=str(Path(sys.executable).parent))
    return subprocess.run([command, *arguments], check=True, capture_output=True, text=True).stdout


scores = load_vmnist(trained_on=100)
header = ",".join(map(str, range(10)))
labelled = np.column_stack([scores.val_logits, scores.val_labels])[:500]
np.savetxt("val.csv", labelled, delimiter=",", fmt="%g", header=header + ",label", comments="")
np.savetxt("new.csv", scores.test_logits, delimiter=",", fmt="%g", header=header, comments="")
parquet.write_table(csv.read_csv("new.csv"), "new.parquet")

assert aftermax("--version").strip()
aftermax("audit", "val.csv", "--html", "report.html")
aftermax("fit", "val.csv", "-o", "head.npz")
aftermax("predict", "head.npz", "new.csv", "-o", "predictions.csv")
aftermax("predict", "head.npz", "new.parquet", "-o", "again.csv")
predicted = Path("predictions.csv").read_text()
assert predicted == Path("again.csv").read_text()
assert len(predicted.splitlines()) == 4_001
assert "<html" in Path("report.html").read_text()
