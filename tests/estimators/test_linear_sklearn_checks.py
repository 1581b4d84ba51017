import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from unmet import Band, LinearDecision, Newsvendor, SquaredError
from unmet.solvers.descent.minibatch import MiniBatchOptions

ESTIMATORS = [
    LinearDecision(),
    LinearDecision(
        Newsvendor(underage=3, overage=1), Band(0.1, 0.4), penalty="elasticnet", strength=0.01
    ),
    LinearDecision(SquaredError(), penalty="l2", strength=0.1),
    LinearDecision(
        Newsvendor(underage=3, overage=1),
        solver="minibatch",
        minibatch=MiniBatchOptions(epochs=2, validation_size=0),
    ),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS[:1])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS[1:])
def test_scikit_learn_estimator_checks_of_other_options(estimator, check):
    check(estimator)
