"""Decisions by costs and by metrics other than accuracy: Decider against plug-in rules and tuned thresholds."""
