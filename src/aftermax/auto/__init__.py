"""AutoHead: stacked corrections and SPH, cross-fitted; softmax is kept unless one of them is significantly better."""
