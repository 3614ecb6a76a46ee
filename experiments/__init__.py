"""The paper's experiments, and ours. They need the ``experiments`` extra (PyTorch)."""
