"""A small BERT, made and trained on the spot, that tells four topics of made-up texts apart and often errs."""

import os
from typing import Any, NamedTuple

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before transformers is imported: no test may ask the hub

import numpy as np
import torch
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast, DataCollatorWithPadding

TOPICS = {  # not in alphabetical order: a head that sorts them takes one column for another
    "sports": "match goal team coach season score",
    "finance": "bank rate market bond share price",
    "travel": "hotel flight beach train visa tour",
    "science": "cell atom orbit theory gene star",
}
NAMES = list(TOPICS)
COMMON = "the a report today says new about more with after people"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


class Topics(NamedTuple):
    """The model, its tokenizer, and texts with the numbers of their topics that it was not trained on."""

    model: Any
    tokenizer: Any
    texts: list[str]
    labels: np.ndarray


def make_texts(n_texts, random):
    """Texts of which a third of the words is of the topic, and some are of others."""
    labels = random.integers(len(NAMES), size=n_texts)
    words, common = [words.split() for words in TOPICS.values()], COMMON.split()

    def one_word(topic):
        chance = random.random()
        return random.choice(words[topic] if chance < 0.35 else words[random.integers(4)] if chance < 0.5 else common)

    return [" ".join(one_word(label) for _ in range(random.integers(4, 12))) for label in labels], labels


def make_tokenizer(folder):
    vocabulary = [*SPECIAL, *" ".join([COMMON, *TOPICS.values()]).split()]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    return BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=32, clean_up_tokenization_spaces=False)


def tiny_config(names=NAMES, **options):
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    vocabulary = {"vocab_size": 64, "max_position_embeddings": 32}
    labels = {"id2label": dict(enumerate(names)), "label2id": {name: number for number, name in enumerate(names)}}
    return BertConfig(**sizes, **vocabulary, **labels, **options)


def make_topics(folder):
    random = np.random.default_rng(0)
    tokenizer = make_tokenizer(folder)
    texts, labels = make_texts(60, random)
    torch.manual_seed(0)
    model = BertForSequenceClassification(tiny_config())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    for _ in range(20):  # few, so that there is something to gain
        optimizer.zero_grad()
        model(**batch, labels=torch.from_numpy(labels)).loss.backward()
        optimizer.step()
    return Topics(model.eval(), tokenizer, *make_texts(700, random))


def batches_of(topics, batch_size=64):
    """As Trainer makes them: a BatchEncoding for each batch, padded to its longest text, with labels."""
    samples = [
        {**topics.tokenizer(text), "label": int(label)} for text, label in zip(topics.texts, topics.labels, strict=True)
    ]
    return DataLoader(samples, batch_size=batch_size, collate_fn=DataCollatorWithPadding(topics.tokenizer))
