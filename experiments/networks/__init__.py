"""The networks: how they are built and trained, and their scores."""
