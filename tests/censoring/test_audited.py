import numpy as np
import pytest
from gap_on_store10 import gap, store
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge

from unmet import LinearDecision, Newsvendor, SquaredError
from unmet.censoring.audited import AuditedBand, cheapest_shift
from unmet.costs import PreventiveReplacement
from unmet.errors import InvalidInput, Unsupported

COST = Newsvendor(underage=3, overage=1)


def _data(n=400, seed=0, spread=8.0):
    generator = np.random.default_rng(seed)
    X = generator.uniform(size=(n, 2))
    mean = 50 + X @ [30.0, -20.0]
    demand = mean + generator.normal(scale=spread, size=n)
    return X, np.minimum(demand, mean), demand


def _audit(n=100, **options):
    X, s, demand = _data()
    return AuditedBand(X[:n], s[:n], demand[:n], **options)


def _realised(model, X, truth, cost=COST):
    return float(cost.cost(model.predict(X), truth).mean())


@pytest.mark.parametrize("underage", [1.5, 3.0, 9.0])
@pytest.mark.parametrize("options", [{}, {"penalty": "l2", "strength": 0.05}])
def test_no_other_shift_of_the_trained_model_costs_less_on_the_audited_rows(underage, options):
    X, s, demand = _data()
    cost = Newsvendor(underage, 1.0)
    model = LinearDecision(cost, band=_audit(), **options).fit(X, s)
    shift = model.band_rule_.shift_
    paid = _realised(model, X[:100], demand[:100], cost)
    for other in np.linspace(0, 3 * shift, 31):
        shifted = LinearDecision(cost, **options).fit(X, s + other)
        assert paid <= _realised(shifted, X[:100], demand[:100], cost) + 1e-6
    assert model.band_rule_.n_refits_ == 2
    assert model.band_.low == model.band_.high == shift


def test_only_the_truth_of_the_audited_rows_matters():
    X, s, demand = _data()
    audit = _audit().fit(COST, X, s)
    other = AuditedBand(X[:100], s[:100], s[:100] + 2 * (demand[:100] - s[:100])).fit(COST, X, s)
    blind = AuditedBand(X[:100], None, demand[:100]).fit(COST, X, s)
    assert other.shift_ > 1.5 * audit.shift_
    assert blind.shift_ == audit.shift_
    assert blind.diagnosis_.share_censored is None
    assert audit.diagnosis_.share_censored == pytest.approx(np.mean(demand[:100] > s[:100]))
    assert audit.diagnosis_.n_rows == 100


def test_a_model_that_does_not_follow_a_shift_is_refitted():
    X, s, demand = _data()
    X = X + [1.5, 2.5]  # without an intercept the level must come from the features
    options, cost = {"fit_intercept": False}, Newsvendor(underage=9, overage=1)
    model = LinearDecision(cost, band=_audit_of(X), **options).fit(X, s)
    found = _realised(model, X[:100], demand[:100], cost)
    tried = [
        _realised(LinearDecision(cost, **options).fit(X, s + shift), X[:100], demand[:100], cost)
        for shift in np.linspace(0, 30, 61)
    ]
    assert 2 < model.band_rule_.n_refits_ <= 14
    assert found <= min(tried) * 1.003
    assert found < 0.9 * tried[0]


def _audit_of(X, n=100, **options):
    _, s, demand = _data()
    return AuditedBand(X[:n], s[:n], demand[:n], **options)


class _HalfHearted(BaseEstimator):
    """Decides with a ridge that follows only part of a shift, and takes neither cost nor band."""

    def fit(self, X, y):
        self.ridge_ = Ridge(alpha=30.0, fit_intercept=False).fit(X, y)
        return self

    def predict(self, X):
        return self.ridge_.predict(X)


def test_any_estimator_can_be_audited():
    X, s, demand = _data()
    X = np.column_stack([X, np.ones(len(X))])
    rule = _audit_of(X).fit(COST, X, s, estimator=_HalfHearted())
    found = _realised(_HalfHearted().fit(X, s + rule.shift_), X[:100], demand[:100])
    tried = [
        _realised(_HalfHearted().fit(X, s + shift), X[:100], demand[:100])
        for shift in np.linspace(0, 40, 161)
    ]
    assert found <= min(tried) * 1.003


def _store_audit(n, **options):
    data, sales, _ = store()
    rows = np.random.default_rng(7).choice(len(sales), n, replace=False)
    train = data.train
    return AuditedBand(train.features[rows], sales[rows], train.demand[rows], **options)


@pytest.mark.parametrize(("level", "least"), [(0.75, 0.85), (0.85, 0.92), (0.95, 0.95)])
def test_a_hundred_audited_rows_close_the_gap_of_the_printed_store(level, least):
    assert gap(_store_audit(100), level, flags=False) > least


def test_too_few_rows_are_warned_about():
    X, s, _ = _data()
    cost = Newsvendor(underage=19, overage=1)
    with pytest.warns(
        UserWarning, match=r"only 60 audited rows, of which 3\.0 lie beyond the 0.95"
    ):
        rule = _audit(60).fit(cost, X, s)
    assert rule.diagnosis_.identified == "weakly"
    assert "standard error about" in rule.diagnosis_.notes[-1]
    assert _audit(101).fit(cost, X, s).diagnosis_.identified == "yes"


def test_weights_of_the_audit_are_repeats():
    X, s, demand = _data()
    times = np.random.default_rng(3).integers(0, 5, size=150)
    again = np.repeat(np.arange(150), times)
    weighted = _audit(150, sample_weight=times).fit(COST, X, s)
    repeated = AuditedBand(X[again], s[again], demand[again]).fit(COST, X, s)
    assert weighted.shift_ == pytest.approx(repeated.shift_, rel=1e-9)


def test_another_cost_is_searched_again():
    X, s, _ = _data()
    dear = Newsvendor(underage=9, overage=1)
    rule = _audit().fit(COST, X, s)
    assert rule.band(X, cost=dear) == _audit().fit(dear, X, s).band(X)
    assert rule.band(X, cost=dear).low > rule.band(X).low
    path = LinearDecision(band=_audit()).fit_path(X, s, costs=[COST, dear])
    assert path[1].band_.low == pytest.approx(rule.band(X, cost=dear).low, abs=1e-6)


def test_costs_by_row():
    X, s, demand = _data()
    underage = np.where(np.arange(400) % 2, 1.0, 9.0)
    model = LinearDecision(COST, band=_audit(underage=underage[:100]))
    model.fit(X, s, underage=underage)
    shift = model.band_rule_.shift_
    cost = Newsvendor(underage[:100], 1.0)
    base = LinearDecision(COST).fit(X, s, underage=underage).predict(X[:100])
    paid = [cost.cost(base + other, demand[:100]).sum() for other in (0.97 * shift, 1.03 * shift)]
    assert cost.cost(base + shift, demand[:100]).sum() <= min(paid)
    with pytest.raises(InvalidInput, match="underage must be given to AuditedBand, because fit"):
        _audit().fit(COST, X, s, underage=underage)
    with pytest.raises(InvalidInput, match="one entry per audited row, got 99 for 100 rows"):
        _audit(underage=underage[:99]).fit(COST, X, s)
    with pytest.raises(Unsupported, match="knows nothing of costs that differ by row"):
        _audit().fit(COST, X, s).band(X, underage=underage)


def test_a_cost_without_slopes_is_audited_too():
    X, s, demand = _data()
    model = LinearDecision(SquaredError(), band=_audit()).fit(X, s)
    ignoring = LinearDecision(SquaredError()).fit(X, s)
    missing = (demand[:100] - ignoring.predict(X[:100])).mean()
    assert model.band_rule_.shift_ == pytest.approx(missing, rel=1e-4)
    with pytest.raises(Unsupported, match="SquaredError has no slopes: give the rule to a model"):
        _audit().fit(SquaredError(), X, s)


def test_best_shift_of_a_cost_that_jumps():
    generator = np.random.default_rng(0)
    truth = generator.gamma(4.0, 2.0, size=60)
    decision, share = 0.5 * truth.min() + 0.01 * truth, np.full(60, 1 / 60)
    cost = PreventiveReplacement(planned=1, failure=8, discount=0.2)
    shift = cheapest_shift(cost, decision, truth, share)
    paid = cost.cost(decision + shift, truth).mean()
    for other in np.linspace(0, 20, 2001):
        assert paid <= cost.cost(decision + other, truth).mean() + 1e-9


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("max_refits must be a whole number of at least 1, got 0", lambda: _audit(max_refits=0)),
        (
            "X of AuditedBand must have 2 columns, as the X of fit, got 1",
            lambda: AuditedBand([[1.0]], [2.0], [3.0]),
        ),
        (
            "truth must have one entry per row of X, got 1 for 2 rows",
            lambda: AuditedBand([[1.0, 2.0], [2.0, 3.0]], None, [3.0]),
        ),
        (
            "truth must hold finite numbers",
            lambda: AuditedBand([[1.0, 2.0]], None, [np.nan]),
        ),
    ],
)
def test_bad_input_is_one_sentence(sentence, rule):
    X, s, _ = _data()
    with pytest.raises(InvalidInput, match=sentence):
        rule().fit(COST, X, s)
