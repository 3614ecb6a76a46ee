"""Resumable runs: what is measured is kept line by line, with a record of how it was made."""
