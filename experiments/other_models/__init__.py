"""Heads after models that are not softmax networks: the paper's claim that SPH suits any model with K responses."""
