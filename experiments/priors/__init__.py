"""New class proportions from unlabelled samples, against other estimators of these."""
