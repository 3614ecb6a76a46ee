"""Heads around another head: what is made of its probabilities."""
