"""Shared by all layers: validation, labels, folds, paired tests, threads, files, text."""
