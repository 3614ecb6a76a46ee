"""A pipeline of an untrained BERT with a head, which has the format of one without, and the head's predictions."""

from pathlib import Path

import numpy as np
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast, pipeline

import aftermax
from aftermax.bridges.huggingface import attach, pipeline_logits

words = ["match", "goal", "team", "bank", "rate", "market", "hotel", "flight", "beach"]
random = np.random.default_rng(0)
labels = random.integers(3, size=300)
texts = [" ".join(random.choice(words[3 * label : 3 * label + 3], 12)) for label in labels]
Path("vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
names = dict(enumerate(("sports", "finance", "travel")))
config = BertConfig(
    vocab_size=14,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
    id2label=names,
    label2id={name: number for number, name in names.items()},
)
classifier = pipeline(
    "text-classification", model=BertForSequenceClassification(config).eval(), tokenizer=BertTokenizerFast("vocab.txt")
)
scores = pipeline_logits(classifier, texts, batch_size=32)
head = aftermax.AutoHead(classes=scores.classes).fit(scores.logits, np.array(list(names.values()))[labels])
answers = attach(classifier, head)(texts[:20])
assert [answer["label"] for answer in answers] == head.predict(scores.logits[:20]).tolist()
