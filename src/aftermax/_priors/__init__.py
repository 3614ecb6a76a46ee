"""Class proportions of a new world: calibration on labelled samples, expectation-maximisation, and its guard."""
