"""The answers of services and language models: their best labels, each with a score."""
