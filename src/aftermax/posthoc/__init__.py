"""PostHocClassifier: a scikit-learn classifier and a head that is fitted on its logits."""
