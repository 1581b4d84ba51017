import numpy as np
import pytest
from gap_on_store10 import gap
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from unmet import LinearDecision, Newsvendor
from unmet.bands.classic.detruncation import EMBand, ProjectionBand
from unmet.costs import PreventiveReplacement
from unmet.errors import InvalidInput, Unsupported

COST = Newsvendor(underage=7, overage=2)


def _data(n=240, share=0.4):
    generator = np.random.default_rng(2)
    X = generator.normal(size=(n, 2))
    demand = 60 + X @ [6.0, -3.0] + 4 * generator.normal(size=n)
    order = 60 + X @ [6.0, -3.0] + 4 * norm.ppf(1 - share) + generator.normal(size=n)
    return X, np.minimum(demand, order), demand > order


@pytest.mark.parametrize("tau", [0.35, 0.5, 0.8])
def test_is_a_fixed_point_of_its_definition(tau):
    X, s, censored = _data()
    rule = ProjectionBand(tau).fit(COST, X, s, censored=censored)
    truth = norm(X @ rule.coef_ + rule.intercept_, rule.scale_)
    # fill in by the definition: what lies above it is tau of what lies above the observation
    filled = np.where(censored, truth.isf(tau * truth.sf(s)), s)
    plain = LinearRegression().fit(X, filled)
    residual = filled - plain.predict(X)
    assert rule.coef_ == pytest.approx(plain.coef_, rel=1e-7)
    assert rule.intercept_ == pytest.approx(plain.intercept_, rel=1e-8)
    assert rule.scale_ == pytest.approx(np.sqrt(residual @ residual / (s.size - 3)), rel=1e-7)


def test_the_smaller_tau_the_more_is_hidden():
    X, s, censored = _data()
    shifts = [
        ProjectionBand(tau).fit(COST, X, s, censored=censored).band(X).low.mean()
        for tau in (0.8, 0.5, 0.3)
    ]
    assert shifts[0] < shifts[1] - 0.3 < shifts[2] - 0.9


def test_filling_in_one_value_hides_part_of_the_spread():
    X, s, censored = _data()
    projected = ProjectionBand().fit(COST, X, s, censored=censored)
    likely = EMBand().fit(COST, X, s, censored=censored)
    assert projected.scale_ < 0.9 * likely.scale_


def test_only_ratios_of_weights_matter_and_rows_without_weight_do_not_count():
    X, s, censored = _data(n=60)
    weight = np.random.default_rng(0).integers(0, 3, size=60)
    some = weight > 0
    all_rows = ProjectionBand().fit(COST, X, s, censored=censored, sample_weight=weight)
    kept = ProjectionBand().fit(
        COST, X[some], s[some], censored=censored[some], sample_weight=7.0 * weight[some]
    )
    plain = ProjectionBand().fit(COST, X[some], s[some], censored=censored[some])
    assert all_rows.scale_ == pytest.approx(kept.scale_, rel=1e-9)
    assert all_rows.coef_ == pytest.approx(kept.coef_, rel=1e-9)
    assert np.abs(all_rows.coef_ - plain.coef_).max() > 0.01


@pytest.mark.parametrize(("level", "least"), [(0.75, 0.55), (0.85, 0.7), (0.95, 0.82)])
def test_closes_part_of_the_gap_of_the_printed_store(level, least):
    assert gap(ProjectionBand(), level) > least


def test_a_smaller_tau_closes_most_of_it():
    assert gap(ProjectionBand(0.3), 0.95, noise=30.0) > 0.9


def test_a_linear_model_decides_the_quantile_of_the_estimated_truth():
    X, s, censored = _data()
    model = LinearDecision(COST, band=ProjectionBand()).fit(X, s, censored=censored)
    rule = model.band_rule_
    wanted = X @ rule.coef_ + rule.intercept_ + rule.scale_ * norm.ppf(7 / 9)
    assert model.band_.low.min() > 0
    assert model.predict(X) == pytest.approx(wanted, abs=1e-5)
    assert model.diagnosis_.rule == "ProjectionBand"
    assert model.diagnosis_.share_censored == pytest.approx(censored.mean())


def test_far_out_limits_do_not_underflow():
    X, s, censored = _data()
    s = s.copy()
    s[0], censored = s[0] + 3e3, censored.copy()
    censored[0] = True
    rule = ProjectionBand(0.7).fit(COST, X, s, censored=censored)
    assert np.isfinite(rule.scale_)
    assert rule.coef_.max() > 1


def test_few_steps_are_said():
    X, s, censored = _data()
    with pytest.warns(ConvergenceWarning, match="ProjectionBand did not converge"):
        rule = ProjectionBand(max_iter=3).fit(COST, X, s, censored=censored)
    assert rule.n_iter_ == 3
    assert "did not converge" in rule.diagnosis_.notes[1]


def test_a_tau_without_a_fixed_point_is_refused():
    X, s, censored = _data(share=0.7)
    with pytest.raises(InvalidInput, match=r"tau must be larger where 7.% of the rows"):
        ProjectionBand(0.05).fit(COST, X, s, censored=censored)


@pytest.mark.parametrize("tau", [0, 1, -0.5, "half", True, np.nan])
def test_tau_is_checked(tau):
    X, s, censored = _data()
    with pytest.raises(InvalidInput, match="tau must be a number above 0 and below 1, got "):
        ProjectionBand(tau).fit(COST, X, s, censored=censored)


def test_needs_flags_and_a_level():
    X, s, censored = _data()
    with pytest.raises(InvalidInput, match="censored must be given to ProjectionBand"):
        ProjectionBand().fit(COST, X, s)
    with pytest.raises(InvalidInput, match="False in at least one row for ProjectionBand"):
        ProjectionBand().fit(COST, X, s, censored=np.ones(s.size))
    replacement = PreventiveReplacement(planned=1, failure=5)
    with pytest.raises(Unsupported, match="PreventiveReplacement has no level"):
        ProjectionBand().fit(replacement, X, s, censored=censored)


def test_clones():
    assert clone(ProjectionBand(0.3)).tau == 0.3
