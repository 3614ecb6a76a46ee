"""A trained model that is frozen from there on."""

import pytest
from sklearn.linear_model import LogisticRegression

from helpers.digits import TRAIN, X, Y


@pytest.fixture(scope="session")
def model():
    return LogisticRegression().fit(X[TRAIN], Y[TRAIN])
