"""What AutoHead promises, in simulated worlds whose truth is known."""
