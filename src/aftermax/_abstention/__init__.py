"""Abstention: which samples a head may decide alone, so that few of these are wrong, and which go to a person."""
