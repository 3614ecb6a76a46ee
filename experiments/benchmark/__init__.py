"""AutoHead and SPH against other methods, on clean and on shifted data."""
