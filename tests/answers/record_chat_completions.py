"""Records the answers of a small language model as chat completions, one JSON object on each line.

Run it in a clone, and it writes chat_completions.jsonl next to itself::

    PYTHONPATH=tests .venv/bin/python tests/answers/record_chat_completions.py

Each line is a response as the chat-completions API returns it for ``max_completion_tokens=1, logprobs=True,
top_logprobs=5``, without what nobody reads here (``bytes``, which may be null, and the usage), and with the true label.
"""

import json
from pathlib import Path

from helpers.language_model import make_language_model, make_questions, next_token_log_probabilities, prompt_of

RECORDED = Path(__file__).with_name("chat_completions.jsonl")
N_ANSWERS, TOP = 360, 5


def chat_completion(language_model, number, text, label):
    """The response to a question on a text, with the label."""
    log_probabilities = next_token_log_probabilities(language_model, prompt_of(text))
    best = log_probabilities.topk(TOP)
    tokens = [language_model.tokenizer.decode([one]) for one in best.indices.tolist()]
    top = [
        {"token": token, "logprob": round(value, 4), "bytes": None}
        for token, value in zip(tokens, best.values.tolist(), strict=True)
    ]
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": tokens[0].strip()},
        "logprobs": {"content": [{**top[0], "top_logprobs": top}]},
        "finish_reason": "length",
    }
    return {"id": f"chatcmpl-{number}", "object": "chat.completion", "choices": [choice], "label": str(label)}


def record(n_answers):
    """The responses to questions on texts that the model was not trained on."""
    language_model = make_language_model()
    texts, topics = make_questions(n_answers)
    return [
        chat_completion(language_model, number, text, topic)
        for number, (text, topic) in enumerate(zip(texts, topics, strict=True))
    ]


if __name__ == "__main__":
    lines = [json.dumps(one, separators=(",", ":")) for one in record(N_ANSWERS)]
    RECORDED.write_text("\n".join(lines) + "\n", encoding="utf-8")
