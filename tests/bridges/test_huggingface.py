"""Pipelines of the real transformers library: their logits, and pipelines with a head."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import (
    BertForSequenceClassification,
    BertForTokenClassification,
    ViTConfig,
    ViTForImageClassification,
    ViTImageProcessor,
    Wav2Vec2Config,
    Wav2Vec2FeatureExtractor,
    Wav2Vec2ForSequenceClassification,
    pipeline,
)

from aftermax import AutoHead, SPHClassifier, load, save
from aftermax.bridges.huggingface import PipelineLogits, attach, pipeline_logits
from aftermax.bridges.torch import collect_logits
from helpers.topics import NAMES, batches_of, make_topics, tiny_config

LABELLED = 500  # the rest of the 700 texts is to test on


@pytest.fixture(scope="module")
def topics(tmp_path_factory):
    return make_topics(tmp_path_factory.mktemp("topics"))


@pytest.fixture(scope="module")
def new_texts(topics):
    return topics.texts[LABELLED:]


@pytest.fixture(scope="module")
def classifier(topics):
    return pipeline("text-classification", model=topics.model, tokenizer=topics.tokenizer)


@pytest.fixture(scope="module")
def scores(topics):
    """As collect_logits has them, which knows nothing of pipelines."""
    return collect_logits(topics.model, batches_of(topics), layer="classifier")


@pytest.fixture(scope="module")
def head(topics, classifier):
    labelled = pipeline_logits(classifier, topics.texts[:LABELLED], batch_size=32)
    labels = np.array(NAMES)[topics.labels[:LABELLED]]
    head = AutoHead(cv=2, classes=labelled.classes).fit(labelled.logits, labels)
    assert head.chosen_ != "softmax"
    return head


@pytest.fixture(scope="module")
def sph(topics, scores):
    """Fitted on the numbers of the labels."""
    return SPHClassifier().fit(scores.logits[:LABELLED], topics.labels[:LABELLED])


def close(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def by_label(results):
    """The scores of all classes, in the order of NAMES, from what a pipeline returns with top_k=None."""
    return np.array([[{one["label"]: one["score"] for one in result}[name] for name in NAMES] for result in results])


# ---- logits ----------------------------------------------------------------------------------------------------------


def test_a_pipeline_gives_the_logits_and_features_of_its_model(topics, classifier, scores):
    topics.model.train()  # as after training; a pipeline leaves it so, with dropout
    for options in ({}, {"batch_size": 64}):
        collected = pipeline_logits(classifier, topics.texts, layer="classifier", **options)
        close(collected.logits, scores.logits)
        close(collected.features, scores.features)
        assert collected.classes.tolist() == NAMES
    assert topics.model.training
    topics.model.eval()
    assert collected.logits.dtype == np.float32


def test_inputs_may_be_any_iterable_and_pairs(topics, classifier, scores):
    few = topics.texts[:5]
    for inputs in (few, tuple(few), np.array(few), (text for text in few), [{"text": text} for text in few]):
        collected = pipeline_logits(classifier, inputs)
        close(collected.logits, scores.logits[:5])
        assert collected.features is None
    pair = pipeline_logits(classifier, [{"text": few[0], "text_pair": few[1]}]).logits
    assert not np.allclose(pair, scores.logits[:1])
    assert PipelineLogits._fields == ("logits", "classes", "features")


def test_options_are_those_of_the_pipeline(classifier):
    long = "goal " * 100
    with pytest.raises(RuntimeError):  # longer than the model takes
        pipeline_logits(classifier, [long])
    assert pipeline_logits(classifier, [long], truncation=True).logits.shape == (1, len(NAMES))


# ---- a pipeline with a head ------------------------------------------------------------------------------------------


def test_the_pipeline_predicts_what_the_head_does(topics, classifier, scores, head, sph, new_texts):
    logits = scores.logits[LABELLED:]
    for some, names in ((head, head.predict(logits)), (sph, np.array(NAMES)[sph.predict(logits)])):
        for options in ({}, {"batch_size": 16}):
            results = attach(classifier, some)(new_texts, **options)
            assert [one["label"] for one in results] == names.tolist()
            close([one["score"] for one in results], some.predict_proba(logits).max(axis=1))
    model_alone = [one["label"] for one in classifier(new_texts)]
    assert model_alone == np.array(NAMES)[logits.argmax(axis=1)].tolist()  # the pipeline itself is as before
    assert model_alone != head.predict(logits).tolist()


def test_probabilities_are_those_of_the_head_and_sum_to_one(classifier, scores, head, new_texts):
    probabilities = by_label(attach(classifier, head)(new_texts, top_k=None))
    close(probabilities, head.predict_proba(scores.logits[LABELLED:]))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)
    logs = by_label(attach(classifier, head)(new_texts, top_k=None, function_to_apply="none"))
    close(np.exp(logs), probabilities)


def shape_of(result):
    """Lists and dictionaries without their values."""
    if isinstance(result, dict):
        return {name: type(value) for name, value in result.items()}
    return [shape_of(one) for one in result]


@pytest.mark.parametrize("options", [{}, {"top_k": None}, {"top_k": 1}, {"top_k": 2}])
def test_the_format_is_that_of_the_pipeline(classifier, head, new_texts, options):
    better = attach(classifier, head)
    assert isinstance(better, type(classifier))
    for inputs in (new_texts[0], new_texts[:3], {"text": new_texts[0]}):
        assert shape_of(better(inputs, **options)) == shape_of(classifier(inputs, **options))
    assert shape_of(list(better(iter_of(new_texts[:3]), **options))) == shape_of(better(new_texts[:3], **options))


def iter_of(texts):
    yield from texts


def test_one_text_alone_gets_what_it_gets_among_others(classifier, head, new_texts):
    better = attach(classifier, head)
    one, several = better(new_texts[0], top_k=None), better(new_texts[:8], top_k=None, batch_size=8)
    assert [result["score"] for result in one] == sorted((result["score"] for result in one), reverse=True)
    assert [result["label"] for result in one] == [result["label"] for result in several[0]]
    close([result["score"] for result in one], [result["score"] for result in several[0]])


def test_a_head_with_features_gets_them_from_the_named_layer(topics, classifier, scores, new_texts):
    head = AutoHead(cv=2).fit(scores.logits[:LABELLED], topics.labels[:LABELLED], scores.features[:LABELLED])
    assert head.fitted_head_.uses_features
    better = attach(classifier, head, layer="classifier")
    with pytest.raises(RuntimeError):
        better("goal " * 100)  # an error in between leaves nothing behind
    expected = head.predict_proba(scores.logits[LABELLED:], scores.features[LABELLED:])
    close(by_label(better(new_texts, top_k=None, batch_size=16)), expected)
    assert not any(module._forward_hooks for module in topics.model.modules())
    close(by_label(pickle.loads(pickle.dumps(better))(new_texts[:9], top_k=None)), expected[:9])


def test_a_head_from_a_file_and_a_copy_of_the_pipeline(classifier, head, new_texts, tmp_path):
    save(head, tmp_path / "head.npz")
    better = attach(classifier, load(tmp_path / "head.npz"))
    expected = better(new_texts[:9])
    for other in (copy.deepcopy(better), pickle.loads(pickle.dumps(better))):
        assert other(new_texts[:9]) == expected


class OutsideOfTorch:
    """A model that is not a module, such as one that runs in ONNX Runtime."""

    def __init__(self, model):
        self.forward, self.config = model.forward, model.config

    def __call__(self, **inputs):
        return self.forward(**inputs)


def test_the_model_need_not_be_a_module(topics, classifier, head, new_texts):
    elsewhere = copy.copy(classifier)
    elsewhere.model = OutsideOfTorch(topics.model)
    assert attach(elsewhere, head)(new_texts[:5]) == attach(classifier, head)(new_texts[:5])
    with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module to have layers, got OutsideOfTorch"):
        pipeline_logits(elsewhere, new_texts, layer="classifier")


def test_one_logit_gives_the_probability_of_the_second_class(topics):
    model = copy.deepcopy(topics.model)
    model.config.id2label = {0: "paid"}
    weights, biases = model.classifier.weight, model.classifier.bias
    model.classifier.weight = torch.nn.Parameter(weights[1:2] + weights[2:3] - weights[:1] - weights[3:])
    model.classifier.bias = torch.nn.Parameter(biases[1:2] + biases[2:3] - biases[:1] - biases[3:])
    classifier = pipeline("text-classification", model=model, tokenizer=topics.tokenizer)
    collected = pipeline_logits(classifier, topics.texts)
    assert collected.logits.shape == (len(topics.texts), 1)
    assert collected.classes is None
    head = AutoHead(cv=2).fit(collected.logits, np.where(np.isin(topics.labels, [1, 2]), "paid", "free"))
    assert head.chosen_ != "softmax"
    results = attach(classifier, head)(topics.texts)
    assert {one["label"] for one in results} == {"paid"}  # as from the pipeline itself
    close([one["score"] for one in results], head.predict_proba(collected.logits)[:, 1])


def image_classifier():
    torch.manual_seed(0)
    config = ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, num_labels=7)
    config.image_size, config.patch_size = 16, 8
    processor = ViTImageProcessor(size={"height": 16, "width": 16})
    model = ViTForImageClassification(config)
    torch.nn.init.normal_(model.classifier.weight)
    images = [
        Image.fromarray(image) for image in np.random.default_rng(0).integers(255, size=(140, 16, 16, 3), dtype="B")
    ]
    return pipeline("image-classification", model=model, image_processor=processor), images


def audio_classifier():
    torch.manual_seed(0)
    small = {"conv_dim": (8,), "conv_kernel": (10,), "conv_stride": (5,), "num_conv_pos_embeddings": 4}
    config = Wav2Vec2Config(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, num_labels=7, **small)
    model = Wav2Vec2ForSequenceClassification(config)
    torch.nn.init.normal_(model.classifier.weight)
    sounds = list(np.random.default_rng(0).normal(size=(140, 400)).astype(np.float32))
    return pipeline("audio-classification", model=model, feature_extractor=Wav2Vec2FeatureExtractor()), sounds


@pytest.mark.parametrize("make", [image_classifier, audio_classifier])
def test_images_and_sounds(make):
    classifier, samples = make()
    collected = pipeline_logits(classifier, samples, batch_size=20)
    assert collected.logits.shape == (140, 7)
    assert collected.classes.tolist() == [f"LABEL_{number}" for number in range(7)]
    head = SPHClassifier(classes=collected.classes).fit(collected.logits, np.tile(collected.classes, 20))
    better = attach(classifier, head)
    results = better(samples, top_k=7)
    assert [one[0]["label"] for one in results] == head.predict(collected.logits).tolist()
    close([one[0]["score"] for one in results], head.predict_proba(collected.logits).max(axis=1))
    assert shape_of(better(samples[0])) == shape_of(classifier(samples[0]))


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_a_head_whose_columns_are_in_another_order_is_refused(topics, classifier, scores):
    names = np.array(NAMES)[topics.labels]
    with pytest.warns(UserWarning, match="columns"):  # the fit sees it as well
        in_sorted_order = SPHClassifier().fit(scores.logits, names)
    with pytest.raises(ValueError, match="took columns for those of other classes: fit it again with classes=scores"):
        attach(classifier, in_sorted_order)


def test_a_head_of_other_classes_is_refused_with_what_to_do(topics, scores):
    model = copy.deepcopy(topics.model)
    classifier = pipeline("text-classification", model=model, tokenizer=topics.tokenizer)
    german = ["Sport", "Geld", "Reise", "Forschung"]
    head = SPHClassifier(classes=german).fit(scores.logits, np.array(german)[topics.labels])
    advice = "pipeline.model.config.id2label = dict(enumerate(head.classes_.tolist()))"
    with pytest.raises(ValueError, match=r"The head's classes are 'Sport', .* labels are 'sports', .*") as caught:
        attach(classifier, head)
    assert advice in str(caught.value)
    exec(advice, {"pipeline": classifier, "head": head})
    assert attach(classifier, head)(topics.texts[0])[0]["label"] in german


def test_a_head_of_another_model_is_refused(topics, classifier, scores):
    three = SPHClassifier().fit(scores.logits[:, :3], topics.labels % 3)
    with pytest.raises(
        ValueError, match="fitted on logits with 3 columns, but the model has 4: pass the pipeline with"
    ):
        attach(classifier, three)


def test_a_layer_is_named_if_and_only_if_the_head_has_features(topics, classifier, scores, sph):
    head = AutoHead(cv=2).fit(scores.logits[:200], topics.labels[:200], scores.features[:200])
    with pytest.raises(ValueError, match=r"with 32 features: name the layer .* attach\(pipeline, head, layer=\.\.\.\)"):
        attach(classifier, head)
    with pytest.raises(ValueError, match=r"without features: leave out layer"):
        attach(classifier, sph, layer="classifier")
    with pytest.raises(ValueError, match="no layer 'clasifier'; it has, for example, 'classifier'"):
        attach(classifier, head, layer="clasifier")
    with pytest.raises(ValueError, match=r"features have shape .*, but the head was fitted on 32 columns"):
        attach(classifier, head, layer="bert.embeddings")(topics.texts[0])


def test_other_pipelines_and_objects_are_refused(topics, classifier, sph):
    parts = {"model": topics.model, "tokenizer": topics.tokenizer}
    tokens = BertForTokenClassification(tiny_config())
    zero_shot = pipeline("zero-shot-classification", **parts)
    for wrong, message in (
        (zero_shot, "ZeroShotClassificationPipeline: its classes are those of each call. Choose candidate_labels once"),
        (
            pipeline("token-classification", model=tokens, tokenizer=topics.tokenizer),
            "pass one of transformers for text",
        ),
        (
            topics.model,
            r"pass transformers.pipeline\(.*, or use aftermax.bridges.torch.collect_logits\(model, loader\)",
        ),
        (None, "pipeline is a NoneType: pass one of transformers"),
    ):
        with pytest.raises(TypeError, match=message):
            attach(wrong, sph)
        with pytest.raises(TypeError, match=message):
            pipeline_logits(wrong, topics.texts)
    with pytest.raises(ValueError, match="has a head already"):
        attach(attach(classifier, sph), sph)
    with pytest.raises(TypeError, match=r"head is a path: load it first, aftermax.load\('head.npz'\)"):
        attach(classifier, "head.npz")


@pytest.mark.parametrize(
    ("problem", "reason"),
    [("multi_label_classification", "a sample may have several labels"), ("regression", "its outputs are not classes")],
)
def test_models_that_do_not_choose_one_of_several_classes_are_refused(topics, sph, problem, reason):
    model = BertForSequenceClassification(tiny_config(problem_type=problem))
    with pytest.raises(ValueError, match=f"problem_type='{problem}': {reason}, and a head predicts one of several"):
        attach(pipeline("text-classification", model=model, tokenizer=topics.tokenizer), sph)


def test_inputs_that_are_not_many_samples_are_refused(classifier):
    for inputs in ("one text", {"text": "one text"}):
        with pytest.raises(TypeError, match="inputs is a single sample: pass a list"):
            pipeline_logits(classifier, inputs)
    for inputs in ([], iter(())):
        with pytest.raises(ValueError, match="There are no inputs"):
            pipeline_logits(classifier, inputs)


def test_without_the_library_the_error_says_what_to_install():
    code = "import sys; sys.modules['transformers'] = None; import aftermax.bridges.huggingface"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (
        "ImportError: Heads in pipelines need transformers and torch: pip install 'aftermax[huggingface]'"
        in done.stderr
    )
