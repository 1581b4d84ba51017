import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from unmet import GroupedDecision, LinearDecision, Newsvendor

REASONS = {
    "check_sample_weight_equivalence_on_dense_data": "rows are held out: repeated ones differ",
    "check_complex_data": "its only column names the group",
    "check_dtype_object": "the column that names the group may hold any text",
    "check_fit2d_1feature": "its only column names the group",
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [GroupedDecision(LinearDecision(Newsvendor(underage=3, overage=1)), by=[0], random_state=0)],
    expected_failed_checks=lambda estimator: REASONS,
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)
