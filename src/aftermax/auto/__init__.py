"""AutoHead: every head is cross-fitted, the best one is taken, and softmax is kept unless the gain is significant."""
