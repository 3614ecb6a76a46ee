"""PostHocClassifier: a scikit-learn classifier followed by a head, as one classifier."""
