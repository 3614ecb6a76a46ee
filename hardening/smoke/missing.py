"""With the core alone, what needs an extra names it, with the command that installs it."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

from aftermax import SPHClassifier, _demo
from aftermax.data import load_vmnist
from aftermax.plots import WeightsDisplay

scores = load_vmnist(trained_on=100)
head = SPHClassifier().fit(scores.val_logits, scores.val_labels)
USES = {
    "plots": [lambda: WeightsDisplay.from_estimator(head), lambda: _demo.run(Path("demo"))],
    "torch": [lambda: import_module("aftermax.bridges.torch")],
    "huggingface": [lambda: import_module("aftermax.bridges.huggingface")],
    "keras": [lambda: import_module("aftermax.bridges.keras")],
    "onnx": [lambda: import_module("aftermax.bridges.onnx")],
    "dask": [lambda: import_module("aftermax.bridges.dask")],
    "cli": [lambda: import_module("aftermax.bridges.arrow")],
}

for extra, uses in USES.items():
    for use in uses:
        try:
            use()
        except ImportError as error:
            message = str(error)
        else:
            sys.exit(f"{extra} is not missing")
        assert f"pip install 'aftermax[{extra}]'" in message, message

command = Path(sys.executable).with_name("aftermax")
for call in ([str(command)], [sys.executable, "-m", "aftermax"]):
    done = subprocess.run([*call, "demo"], capture_output=True, text=True)
    assert done.returncode == 2, done
    assert done.stderr.strip().endswith("pip install 'aftermax[cli]'"), done.stderr
