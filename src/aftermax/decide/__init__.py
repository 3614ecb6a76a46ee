"""Decisions: by costs, or by a metric other than accuracy, on the probabilities of a head."""
