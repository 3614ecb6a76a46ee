"""Heads after models that others made and ship, on real inputs: what pip and npm carry, and nothing else."""
