"""A small language model (GPT-2), made and trained on the spot, that names the topic of made-up texts and often errs.

It was trained on few texts, most of them on sports; it mostly answers with the topic, but sometimes spells it otherwise
or begins a sentence. If the topics are listed in the prompt, it favours the one that comes first.
"""

import os
from typing import Any, NamedTuple

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before transformers is imported: no test may ask the hub

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

TOPICS = {  # not in alphabetical order
    "sports": "match goal team coach season score",
    "finance": "bank rate market bond share price",
    "travel": "hotel flight beach train visa tour",
    "science": "cell atom orbit theory gene star",
}
NAMES = list(TOPICS)
SECTIONS = ["sports", "personal finance", "travel and leisure", "science"]  # the same, of one to three tokens
SHARES = [0.6, 0.2, 0.12, 0.08]  # of the topics in training; in the recorded answers they are equally frequent
COMMON = "the a report today says new about more with after people"
END, PAD = "<|end|>", "<|pad|>"


class LanguageModel(NamedTuple):
    """The model and its tokenizer."""

    model: Any
    tokenizer: Any


def make_text(topic, random):
    """Words of which a third is of the topic, and some are of others."""
    sources = random.choice([topic] * 7 + NAMES + ["any"] * 9, random.integers(5, 12))
    return " ".join(random.choice((COMMON if one == "any" else TOPICS[one]).split()) for one in sources)


def prompt_of(text, listed=(), asked="Topic"):
    """What the model is asked; ``listed`` are the topics in the prompt, in this order."""
    listing = f"Topics: {', '.join(listed)}\n" if len(listed) else ""
    return f"{listing}Text: {text}\n{asked}:"


def _training_pair(random, listed):
    """A prompt and its answer; with ``listed``, always a prompt that lists the topics."""
    topic = random.choice(NAMES, p=SHARES)
    text = make_text(topic, random)
    form = 0.3 if listed else random.random()
    if form < 0.25:
        return prompt_of(text, asked="Section"), " " + SECTIONS[NAMES.index(topic)]
    if form < 0.5:
        order = list(random.permutation([name for name in NAMES if name != topic]))
        order.insert(random.choice(4, p=[0.6, 0.2, 0.1, 0.1]), topic)
        return prompt_of(text, order), " " + topic
    spelt = random.choice([" " + topic, " " + topic.title(), " The topic is " + topic], p=[0.8, 0.12, 0.08])
    return prompt_of(text), str(spelt)


def _make_tokenizer(texts):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=2000, special_tokens=[PAD, END], show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=PAD, eos_token=END)


# On a busy machine, several threads are ten times as slow for so small a model.
one_thread = threadpool_limits.wrap(limits=1)


@one_thread
def make_language_model(n_texts=240, n_epochs=25, listed=False, seed=0):
    random = np.random.default_rng(seed)
    pairs = [_training_pair(random, listed) for _ in range(n_texts)]
    every_word = " ".join([COMMON, *TOPICS.values()])
    tokenizer = _make_tokenizer([*(prompt + answer for prompt, answer in pairs), " " + every_word, every_word])
    torch.manual_seed(seed)
    sizes = {"n_embd": 48, "n_layer": 2, "n_head": 2, "n_positions": 64}
    ends = {"bos_token_id": tokenizer.eos_token_id, "eos_token_id": tokenizer.eos_token_id}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **sizes, **ends))
    batch = tokenizer([prompt + answer + END for prompt, answer in pairs], padding=True, return_tensors="pt")
    targets = batch.input_ids.clone()
    for row, (prompt, _) in enumerate(pairs):
        targets[row, : len(tokenizer(prompt).input_ids)] = -100  # learns to answer, not to write texts
    targets[batch.attention_mask == 0] = -100
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for _ in range(n_epochs):
        for some in torch.randperm(n_texts).split(60):
            optimizer.zero_grad()
            logits = model(batch.input_ids[some], attention_mask=batch.attention_mask[some]).logits
            torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), targets[some, 1:].flatten()).backward()
            optimizer.step()
    return LanguageModel(model.eval(), tokenizer)


def make_questions(n_texts, seed=1):
    """Texts that the model was not trained on, and their topics, which are equally frequent."""
    random = np.random.default_rng(seed)
    topics = random.choice(NAMES, n_texts)
    return [make_text(topic, random) for topic in topics], topics


@one_thread
@torch.no_grad()
def next_token_log_probabilities(language_model, prompt):
    """The log-probability of every token after the prompt."""
    ids = language_model.tokenizer(prompt, return_tensors="pt").input_ids
    return language_model.model(ids).logits[0, -1].log_softmax(dim=0)


@one_thread
@torch.no_grad()
def label_log_probabilities(language_model, prompt, labels, end=""):
    """The log-probability of each label after the prompt, summed over its tokens, and how many tokens it has.

    One forward pass for all labels: each token is predicted from the prompt and the label's tokens before it.
    """
    model, tokenizer = language_model
    start = tokenizer(prompt).input_ids
    rest = [tokenizer(f" {label}{end}", add_special_tokens=False).input_ids for label in labels]
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(start + tokens) for tokens in rest], batch_first=True)
    log_probabilities = model(ids).logits[:, len(start) - 1 : -1].log_softmax(dim=-1)
    each = log_probabilities.gather(2, ids[:, len(start) :, None])[:, :, 0]
    lengths = torch.tensor([len(tokens) for tokens in rest])
    return each.where(torch.arange(each.shape[1]) < lengths[:, None], 0.0).sum(dim=1).numpy(), lengths.numpy()
