"""collect_logits with models and batches of the real transformers library."""

import numpy as np
import pytest
import torch
from torch import nn
from transformers import (
    BertForSequenceClassification,
    BertModel,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
    ViTConfig,
    ViTForImageClassification,
)

from aftermax import AutoHead
from aftermax.bridges.torch import collect_logits
from helpers.topics import NAMES, batches_of, make_topics, tiny_config


@pytest.fixture(scope="module")
def topics(tmp_path_factory):
    return make_topics(tmp_path_factory.mktemp("topics"))


@pytest.fixture
def batch(topics):
    return dict(next(iter(batches_of(topics))))


@pytest.fixture(scope="module")
def expected(topics):
    """Logits of all texts, in one batch."""
    with torch.inference_mode():
        return topics.model(**topics.tokenizer(topics.texts, padding=True, return_tensors="pt")).logits.numpy()


def close(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_the_batches_of_a_collator_go_in_and_a_head_comes_out(topics, expected):
    collected = collect_logits(topics.model.train(), batches_of(topics))
    topics.model.eval()
    close(collected.logits, expected)
    np.testing.assert_array_equal(collected.labels, topics.labels)
    assert 0.5 < np.mean(expected.argmax(axis=1) == topics.labels) < 0.8
    head = AutoHead(cv=2).fit(collected.logits[:400], collected.labels[:400])
    assert head.score(collected.logits[400:], topics.labels[400:]) > 0.5


def test_the_last_layer_has_the_pooled_output_as_its_features(topics):
    names = ("classifier", "dropout", "bert.pooler")
    of = {name: collect_logits(topics.model, batches_of(topics), layer=name).features for name in names}
    assert all(features.shape == (len(topics.texts), 32) for features in of.values())
    np.testing.assert_array_equal(of["classifier"], of["dropout"])
    np.testing.assert_array_equal(of["classifier"], of["bert.pooler"])


def test_the_last_layers_of_distilbert_and_roberta(batch):
    small = {"vocab_size": 64, "max_position_embeddings": 40, "num_labels": 3}
    distilbert = DistilBertForSequenceClassification(DistilBertConfig(dim=16, n_heads=2, n_layers=1, **small))
    roberta = RobertaForSequenceClassification(
        RobertaConfig(hidden_size=16, num_attention_heads=2, num_hidden_layers=1, intermediate_size=16, **small)
    )
    del batch["token_type_ids"]  # their tokenizers make none
    for model, layer in ((distilbert, "classifier"), (roberta, "classifier.out_proj")):
        collected = collect_logits(model, [batch], layer=layer)
        assert collected.logits.shape == (64, 3)
        assert collected.features.shape == (64, 16)
    hidden = collect_logits(distilbert, [batch], layer="pre_classifier").features
    np.testing.assert_array_equal(
        np.maximum(hidden, 0), collect_logits(distilbert, [batch], layer="classifier").features
    )


def test_a_layer_with_an_output_for_each_token_is_refused_if_lengths_differ(topics):
    with pytest.raises(ValueError, match=r"columns of features and batch 0 has .*: make the inputs of all"):
        collect_logits(topics.model, batches_of(topics, batch_size=2), layer="bert.encoder.layer.0.output")
    with pytest.raises(ValueError, match="Layer 'bert' returned features of type BaseModelOutput"):
        collect_logits(topics.model, batches_of(topics), layer="bert")


def test_names_as_labels_and_keys_that_the_model_makes_no_use_of(topics, batch, expected):
    batch["labels"] = [NAMES[label] for label in batch["labels"]]
    collected = collect_logits(topics.model, [{**batch, "idx": torch.arange(64), "text": topics.texts[:64]}])
    close(collected.logits, expected[:64])
    np.testing.assert_array_equal(collected.labels, np.array(NAMES)[topics.labels[:64]])


def test_a_single_input_is_passed_by_its_name(topics, batch):
    with torch.inference_mode():
        embedded = topics.model.bert.embeddings.word_embeddings(batch["input_ids"])
    by_id = collect_logits(topics.model, [{"input_ids": batch["input_ids"]}]).logits
    close(collect_logits(topics.model, [{"inputs_embeds": embedded}]).logits, by_id)


def test_one_logit_of_a_binary_model(topics):
    model = BertForSequenceClassification(tiny_config(["LABEL_0"]))
    collected = collect_logits(model, batches_of(topics), layer="classifier")
    assert collected.logits.shape == (len(topics.texts), 1)
    assert collected.features.shape == (len(topics.texts), 32)


def test_images():
    config = ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, num_labels=3)
    config.image_size, config.patch_size = 16, 8
    torch.manual_seed(0)
    model = ViTForImageClassification(config).train()
    batch = {"pixel_values": torch.rand(5, 3, 16, 16), "labels": torch.arange(5) % 3}
    collected = collect_logits(model, [batch], layer="classifier")
    with torch.inference_mode():
        close(collected.logits, model.eval()(batch["pixel_values"]).logits)
    assert collected.features.shape == (5, 16)
    np.testing.assert_array_equal(collected.labels, [0, 1, 2, 0, 1])


# ---- what is refused -------------------------------------------------------------------------------------------------


class OnlyIds(nn.Module):
    """A model that takes two inputs and nothing more."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask=None):
        return self.model(input_ids, attention_mask)


def test_keys_that_the_model_does_not_take_are_named_with_what_to_do(topics, batch, expected):
    model = OnlyIds(topics.model)
    message = (
        "Batch 0 has 'token_type_ids', 'text', but the model takes only 'input_ids', 'attention_mask'. Leave out what "
        "it does not take: "
    )
    loader = [{**batch, "text": topics.texts[:64]}]
    with pytest.raises(ValueError, match=message) as caught:
        collect_logits(model, loader)
    advice = str(caught.value).removeprefix(message).removesuffix(".")
    namespace = {"collect_logits": collect_logits, "model": model, "loader": loader}
    close(eval(advice, namespace).logits, expected[:64])


def test_texts_that_are_not_tokenized_are_refused(topics):
    texts = topics.texts[:5]
    advice = r"\(\w+Error: .*\)\. Pass tensors; .*collate_fn=DataCollatorWithPadding\(tokenizer\)"
    samples = [{**topics.tokenizer(text), "label": 0} for text in texts]
    for batches, names in (
        ([{"text": texts, "labels": [0, 1, 2, 3, 0]}], "'text'"),
        ([{"text": texts, "attention_mask": torch.ones(5, 8)}], "'text'"),
        ([(texts, [0, 1, 2, 3, 0])], "inputs"),
        (samples, "'input_ids', 'token_type_ids', 'attention_mask'"),
    ):
        with pytest.raises(TypeError, match=f"The model fails on batch 0, in which {names} is no tensor {advice}"):
            collect_logits(topics.model, batches)


def test_an_error_of_the_model_itself_stays_as_it_is(topics):
    with pytest.raises(IndexError, match="out of range"):
        collect_logits(topics.model, [{"input_ids": torch.full((2, 3), 99)}])


def test_outputs_without_logits_are_refused_with_what_to_do(topics, batch):
    with pytest.raises(
        TypeError, match=r"a BaseModelOutput.* with 'last_hidden_state', 'pooler_output', but no logits"
    ):
        collect_logits(BertModel(tiny_config()), [batch])
    topics.model.config.return_dict = False
    try:
        with pytest.raises(TypeError, match=r"returned a tuple: .* set model\.config.return_dict = True"):
            collect_logits(topics.model, [batch])
    finally:
        topics.model.config.return_dict = True
