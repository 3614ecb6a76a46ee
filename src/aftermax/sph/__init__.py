"""The Softmax-Pooling Hybrid: one estimator, every combination of its hyperparameters, and the choice among them."""
