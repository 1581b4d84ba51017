import numpy as np
import pytest
from gap_on_store10 import gap
from scipy import sparse
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from unmet import LinearDecision, Newsvendor, SquaredError
from unmet.bands.classic.detruncation import EMBand
from unmet.errors import InvalidInput, Unsupported

COST = Newsvendor(underage=7, overage=2)


def _data(seed=0, n=300, tightness=0.0, parallel=False):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 3))
    demand = 20 + X @ [3.0, -2.0, 0.5] + 5 * generator.normal(size=n)
    slopes = [3.0, -2.0, 0.5] if parallel else [1.0, 1.0, 1.0]
    order = 20 + X @ slopes - tightness + 3 * generator.normal(size=n)
    return X, np.minimum(demand, order), demand > order


def _tobit(X, s, censored, weight=None):
    """Maximum likelihood in Olsen's concave parameters β/σ and 1/σ, by a general optimiser."""
    weight = np.ones(s.size) if weight is None else weight
    design = np.column_stack([X, np.ones(s.size)])
    start = np.linalg.lstsq(design, s, rcond=None)[0]
    spread = np.std(s - design @ start)

    def objective(p):
        inverse = np.exp(p[-1])
        score = inverse * s - design @ p[:-1]
        each = np.where(censored, norm.logsf(score), norm.logpdf(score) + p[-1])
        slope = np.where(censored, -norm.pdf(score) / norm.sf(score), -score)
        last = slope * s * inverse + ~censored
        return -weight @ each / s.size, -np.append(
            -design.T @ (weight * slope), weight @ last
        ) / s.size

    best = minimize(
        objective, np.append(start / spread, -np.log(spread)), jac=True, options={"gtol": 1e-10}
    )
    scale = np.exp(-best.x[-1])
    return best.x[:-1] * scale, scale


@pytest.mark.parametrize("tightness", [-6.0, 0.0, 4.0, 9.0])
def test_agrees_with_the_maximum_of_the_tobit_likelihood(tightness):
    X, s, censored = _data(tightness=tightness)
    assert 0.1 < censored.mean() < 0.97
    parameters, scale = _tobit(X, s, censored)
    rule = EMBand().fit(COST, X, s, censored=censored)
    assert np.append(rule.coef_, rule.intercept_) == pytest.approx(parameters, abs=1e-6)
    assert rule.scale_ == pytest.approx(scale, abs=1e-6)
    assert rule.diagnosis_.share_censored == pytest.approx(censored.mean())
    assert rule.diagnosis_.identified == "yes"


def test_weights_enter_the_likelihood():
    X, s, censored = _data()
    weight = np.random.default_rng(5).uniform(0.2, 3.0, size=s.size)
    parameters, scale = _tobit(X, s, censored, weight / weight.mean())
    rule = EMBand().fit(COST, X, s, censored=censored, sample_weight=weight)
    assert np.append(rule.coef_, rule.intercept_) == pytest.approx(parameters, abs=1e-6)
    assert rule.scale_ == pytest.approx(scale, abs=1e-6)


def test_without_censoring_it_is_least_squares_and_the_spread_around_it():
    X, s, _ = _data()
    rule = EMBand().fit(COST, X, s, censored=np.zeros(s.size, dtype=bool))
    plain = LinearRegression().fit(X, s)
    assert rule.coef_ == pytest.approx(plain.coef_, rel=1e-9)
    assert rule.scale_ == pytest.approx(np.sqrt(np.mean((s - plain.predict(X)) ** 2)), rel=1e-9)


@pytest.mark.parametrize("level", [0.7, 0.97])
def test_a_linear_model_decides_the_quantile_of_the_estimated_truth(level):
    X, s, censored = _data(parallel=True)
    cost = Newsvendor.at_level(level)
    model = LinearDecision(cost, band=EMBand()).fit(X, s, censored=censored)
    truth = model.band_rule_
    wanted = X @ truth.coef_ + truth.intercept_ + truth.scale_ * norm.ppf(level)
    assert model.band_.low.min() > 0
    assert np.array_equal(model.band_.low, model.band_.high)
    assert model.predict(X) == pytest.approx(wanted, abs=1e-5)


def test_a_shift_is_never_negative():
    X, s, censored = _data()
    shift = EMBand().fit(COST, X, s, censored=censored).band(X).low
    assert shift.min() == 0  # some lines cross: Band would refuse less
    assert np.mean(shift > 0) > 0.9


def test_stock_says_what_flags_say():
    X, s, censored = _data()
    stock = np.where(censored, s, s + 1.5)
    flags = EMBand().fit(COST, X, s, censored=censored)
    assert np.array_equal(EMBand().fit(COST, X, s, stock=stock).coef_, flags.coef_)


@pytest.mark.parametrize("factor", [1e-7, 1e9])
def test_units_do_not_matter(factor):
    X, s, censored = _data()
    plain = EMBand().fit(COST, X, s, censored=censored)
    scaled = EMBand().fit(COST, X * [1.0, 1e6, 1e-6], s * factor + 3 * factor, censored=censored)
    assert scaled.scale_ == pytest.approx(plain.scale_ * factor, rel=1e-8)
    assert scaled.coef_ == pytest.approx(plain.coef_ * factor / [1.0, 1e6, 1e-6], rel=1e-7)
    assert scaled.intercept_ == pytest.approx((plain.intercept_ + 3) * factor, rel=1e-8)


def test_sparse_and_dependent_columns():
    X, s, censored = _data()
    group = np.arange(s.size) % 4
    dummies = (group[:, None] == np.arange(4)).astype(float)
    full = np.column_stack([X, dummies, np.ones(s.size)])
    lean = np.column_stack([X, dummies[:, 1:]])
    one = EMBand().fit(COST, sparse.csr_array(full), s, censored=censored)
    other = EMBand().fit(COST, lean, s, censored=censored)
    assert full @ one.coef_ + one.intercept_ == pytest.approx(
        lean @ other.coef_ + other.intercept_, abs=1e-7
    )


def test_a_product_that_always_sold_out_leaves_the_others_alone():
    X, s, censored = _data(n=200)
    sold_out = np.arange(200) < 20
    flags = censored | sold_out
    wide = np.column_stack([X, sold_out])
    rule = EMBand().fit(COST, wide, s, censored=flags)
    rest = EMBand().fit(COST, X[~sold_out], s[~sold_out], censored=censored[~sold_out])
    band = rule.band(wide)
    assert np.isfinite(band.low).all()
    assert rule.coef_[:3] == pytest.approx(rest.coef_, abs=0.3)  # 20 rows say "at least" and more
    assert "every row is censored" in " ".join(rule.diagnosis_.notes)
    assert "every row is censored" not in " ".join(rest.diagnosis_.notes)


def test_rows_without_a_flag_are_left_out():
    X, s, censored = _data()
    flags = np.where(np.arange(s.size) % 3 == 0, np.nan, censored)
    kept = ~np.isnan(flags)
    some = EMBand().fit(COST, X, s, censored=flags)
    only = EMBand().fit(COST, X[kept], s[kept], censored=censored[kept])
    assert some.coef_ == pytest.approx(only.coef_, rel=1e-9)
    assert some.diagnosis_.identified == "weakly"
    assert "100 rows without a flag" in some.diagnosis_.notes[-1]
    assert some.diagnosis_.n_rows == 200


def test_another_cost_uses_the_same_truth():
    X, s, censored = _data()
    other = Newsvendor(underage=19, overage=1)
    once = EMBand().fit(COST, X, s, censored=censored)
    again = EMBand().fit(other, X, s, censored=censored)
    assert once.band(X, cost=other) == again.band(X)
    assert once.band(X, cost=other) != once.band(X)


def test_costs_by_row_use_the_level_of_the_row():
    X, s, censored = _data()
    high = np.arange(s.size) % 2 == 0
    mixed = EMBand().fit(COST, X, s, censored=censored, underage=np.where(high, 18.0, 3.0))
    shift = mixed.band(X, underage=np.where(high, 18.0, 3.0)).low
    assert shift[high] == pytest.approx(mixed.band(X, underage=18.0).low[high], abs=1e-9)
    assert shift[~high] == pytest.approx(mixed.band(X, underage=3.0).low[~high], abs=1e-9)


@pytest.mark.parametrize(("level", "least"), [(0.65, 0.8), (0.75, 0.9), (0.95, 0.98)])
def test_closes_the_gap_of_the_printed_store(level, least):
    assert gap(EMBand(), level) > least  # measured .86, .95, .996


def test_leaps_save_steps_where_much_is_censored():
    X, s, censored = _data(tightness=12.0)
    assert censored.mean() > 0.9
    rule = EMBand().fit(COST, X, s, censored=censored)
    assert rule.n_iter_ < 150  # plain steps: more than a thousand


def test_fewer_steps_than_needed_are_said():
    X, s, censored = _data(tightness=9.0)
    with pytest.warns(ConvergenceWarning, match="EMBand did not converge in max_iter=4"):
        rule = EMBand(max_iter=4).fit(COST, X, s, censored=censored)
    assert rule.n_iter_ <= 4
    assert "did not converge" in " ".join(rule.diagnosis_.notes)


def _fit(rule=None, cost=COST, X=None, s=None, **known):
    data = _data()
    rule = EMBand() if rule is None else rule
    return rule.fit(cost, data[0] if X is None else X, data[1] if s is None else s, **known)


@pytest.mark.parametrize(
    ("error", "sentence", "call"),
    [
        (InvalidInput, "censored must be given to EMBand, or stock", lambda: _fit()),
        (
            InvalidInput,
            "censored must be False in at least one row for EMBand, got True in all 300 rows",
            lambda: _fit(censored=np.ones(300, dtype=bool)),
        ),
        (
            InvalidInput,
            "more rows that are not censored than coefficients, got 4 for 4",
            lambda: _fit(censored=np.arange(300) >= 4),
        ),
        (
            InvalidInput,
            "y must vary around a linear function of X where it is not censored",
            lambda: _fit(s=np.full(300, 7.0), censored=np.arange(300) < 50),
        ),
        (
            Unsupported,
            "EMBand needs a cost whose best decision is a quantile.*SquaredError has no level",
            lambda: _fit(cost=SquaredError(), censored=np.arange(300) < 50),
        ),
        (InvalidInput, "tol must be .* got 0", lambda: _fit(EMBand(tol=0))),
        (
            InvalidInput,
            "max_iter must be a whole number of at least 1, got 0",
            lambda: _fit(EMBand(max_iter=0)),
        ),
    ],
)
def test_bad_input_is_one_sentence(error, sentence, call):
    with pytest.raises(error, match=sentence) as caught:
        call()
    assert str(caught.value).endswith(".")


def test_clones_and_repeats():
    X, s, censored = _data()
    rule = clone(EMBand(tol=1e-8))
    assert rule.get_params() == {"tol": 1e-8, "max_iter": 2000}
    first = rule.fit(COST, X, s, censored=censored).coef_
    assert np.array_equal(clone(rule).fit(COST, X, s, censored=censored).coef_, first)
