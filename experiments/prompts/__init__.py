"""From embeddings and class names to logits: wordings of the names, averages, lengths and scales."""
