"""From logits to a head file and back, with the core alone, by an installed package and not a clone."""

import sys
from importlib.metadata import version
from importlib.resources import files

import aftermax
from aftermax.data import load_vmnist

assert str(files("aftermax")).startswith(sys.prefix), files("aftermax")
assert (files("aftermax") / "py.typed").is_file()
assert aftermax.__version__ == version("aftermax")

scores = load_vmnist(trained_on=100)
result = aftermax.audit(scores.val_logits[:500], scores.val_labels[:500])
assert result.verdict.startswith("Yes"), result.verdict
softmax = (scores.test_logits.argmax(axis=1) == scores.test_labels).mean()
for head in (result.head, aftermax.SPHClassifier().fit(scores.val_logits, scores.val_labels)):
    assert head.score(scores.test_logits, scores.test_labels) > softmax
    aftermax.save(head, "head.npz")
    loaded = aftermax.load("head.npz")
    assert (loaded.predict(scores.test_logits) == head.predict(scores.test_logits)).all()
