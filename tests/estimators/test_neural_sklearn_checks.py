import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from unmet import Band, NeuralDecision, Newsvendor

COST = Newsvendor(underage=3, overage=1)
ESTIMATORS = [
    NeuralDecision(hidden_layer_sizes=(3,), max_iter=20),
    NeuralDecision(COST, Band(0.1, 0.4), hidden_layer_sizes=(3,), solver="adam", max_iter=3),
    NeuralDecision(COST, hidden_layer_sizes=(3,), max_iter=20, early_stopping=True, n_restarts=2),
]
WEIGHTS = "check_sample_weight_equivalence_on"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS[:1])
def test_scikit_learn_estimator_checks_of_networks(estimator, check):
    _check(estimator, check)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS[1:])
def test_scikit_learn_estimator_checks_of_other_networks(estimator, check):
    _check(estimator, check)


def _check(estimator, check):
    if check.func.__name__.startswith(WEIGHTS):
        if estimator.early_stopping:
            pytest.skip("repeated rows change which rows are set aside")
        estimator.set_params(dtype="float64")  # float32 is equal to fewer digits than asked for
    check(estimator)
