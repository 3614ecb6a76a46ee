"""Heads after a zero-shot classifier: a sentence embedder and the names of classes that it was never trained for."""
