"""Corrections for hundreds to many thousands of classes: similarity to class means, and linear discriminants."""
