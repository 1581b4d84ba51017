"""What a verdict must survive where nothing is known: smooth distributions, other views, power."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import unmet
from benchmarks.scenarios import bank
from unmet import LatentBand, LinearDecision, Newsvendor
from unmet.bands import constants as tuned
from unmet.bands.diagnosis import Diagnosis
from unmet.bands.latent import diagnose, robustness
from unmet.bands.latent.orders import find_order_plane
from unmet.simulate import censoring_lab, store10

COST = Newsvendor.at_level(0.85)
DISTRIBUTIONS = {
    "left gamma": lambda generator, n: -generator.gamma(2.0, 1.0, n),
    "left exponential": lambda generator, n: -generator.exponential(1.0, n),
    "left Gumbel": lambda generator, n: -generator.gumbel(size=n),
    "uniform": lambda generator, n: generator.random(n),
    "two humps": lambda generator, n: (
        np.where(generator.random(n) < 0.3, -1.2, 0.5) + 0.6 * generator.standard_normal(n)
    ),
    "normal": lambda generator, n: generator.standard_normal(n),
    "right gamma": lambda generator, n: generator.gamma(3.0, 1.0, n),
}


def shop(distribution, n=700, seed=0, bend=0.0):
    """Features and demand; with a bend that no plane of them follows."""
    generator = np.random.default_rng(seed)
    x = generator.random((n, 2))
    noise = DISTRIBUTIONS[distribution](generator, n)
    mean = 100 + 20 * x[:, 0] - 15 * x[:, 1] + bend * np.maximum(x[:, 0] - 0.6, 0.0)
    return x, mean + 20 * (noise - noise.mean()) / noise.std(), mean


def learn(X, s, **options):
    return LatentBand(random_state=0, **options).fit(COST, X, s)


@pytest.fixture(scope="module", params=["normal", "right gamma"])
def uncensored(request):
    """What is learned from 1500 rows that hide nothing, of distributions that are known."""
    X, demand, _ = shop(request.param, 1500)
    rule = learn(X, demand)
    np.testing.assert_array_equal(rule.band(X).low, 0.0)
    return rule


# --- nothing hidden -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "distribution",
    [
        "left exponential",
        "two humps",
        *(
            pytest.param(distribution, marks=pytest.mark.slow)
            for distribution in DISTRIBUTIONS
            if distribution not in ("normal", "right gamma", "left exponential", "two humps")
        ),
    ],
)
def test_demand_of_any_shape_that_hides_nothing_is_left_alone(distribution):
    X, demand, _ = shop(distribution, 400)
    rule = learn(X, demand)
    assert rule.share_censored_ == 0.0
    assert rule.diagnosis_.identified == "no"  # orders that scatter would not have been seen
    np.testing.assert_array_equal(rule.band(X).low, 0.0)


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(
    distribution=st.sampled_from(sorted(DISTRIBUTIONS)),
    bend=st.sampled_from([0.0, 80.0, 200.0]),
    seed=st.integers(0, 10_000),
    size=st.sampled_from([1e-3, 1.0, 1e4]),
)
def test_no_distribution_and_no_bend_alone_makes_anybody_order_more(distribution, bend, seed, size):
    X, demand, _ = shop(distribution, 250, seed, bend)
    rule = learn(X, size * demand)
    np.testing.assert_array_equal(rule.band(X).low, 0.0)
    assert rule.diagnosis_.identified == "no"


def test_scattered_orders_look_like_demand_that_is_skewed_to_the_left():
    train = censoring_lab(orders="noisy", share=0.3, n=1200, seed=0).train
    found = learn(train.features, train.sales).diagnosis_
    low, high = found.interval
    assert found.identified == "no"
    assert found.share_censored == 0.0
    assert low == 0.0
    assert high > train.share_censored  # what is true cannot be ruled out
    left = [each for each in found.candidates if each.truth == "skewed_left"]
    assert left
    assert left[0].orders == "absent"
    assert left[0].uncensored_possible


def test_a_distribution_that_the_user_names_is_taken_at_its_word():
    train = censoring_lab(orders="noisy", share=0.3, noise=0.3, n=2500, seed=0).train
    found = learn(train.features, train.sales, families="normal").diagnosis_
    low, high = found.interval
    assert found.identified in ("yes", "weakly")
    assert low <= train.share_censored <= high
    assert len(found.robustness_checks) == 4
    assert all(each.holds and low <= each.share <= high for each in found.robustness_checks)


def test_censoring_that_only_one_half_shows_is_not_believed():
    """Uncensored demand with a shift of its level must not mislead a named distribution."""
    X, demand, _ = shop("normal", 1500)
    later = np.arange(1500) >= 750
    sales = np.where(later, np.minimum(demand, 100 + 0 * demand), demand)
    sales = sales - 0.3 * np.abs(np.random.default_rng(1).standard_normal(1500))
    found = learn(X, sales, families="normal").diagnosis_
    failed = [each for each in found.robustness_checks if not each.holds]
    assert found.identified == "no"
    assert failed or found.share_censored == 0.0


# --- any smooth distribution
# -------------------------------------------------------------------------------


def test_the_smoothed_histogram_is_a_kernel_estimate_of_other_folds():
    generator = np.random.default_rng(3)
    z = np.clip(generator.gumbel(size=400), -4.0, 6.0)
    folds = np.arange(400) % 4
    found = robustness._smoothed(z, z, folds, 1.0) + stats.norm.logpdf(z)
    low, high = np.quantile(z, [0.16, 0.84])
    width = 1.06 * 0.5 * (high - low) * 400**-0.2
    for fold in range(4):
        inside, outside = z[folds != fold], z[folds == fold]
        expected = stats.norm.pdf(outside[:, None], inside, width).mean(axis=1)
        usual = expected > 0.01
        np.testing.assert_allclose(
            np.exp(found[folds == fold])[usual], expected[usual], rtol=0.05, atol=0.002
        )


def test_of_whole_numbers_the_smooth_distribution_is_a_distribution_of_whole_numbers():
    generator = np.random.default_rng(4)
    count = generator.poisson(6.0, 800)
    every = np.arange(0, 40)
    low, high = (
        np.clip(stats.norm.ppf(stats.poisson(6.0).cdf(np.append(count, every) - less)), -8, 8)
        for less in (1, 0)
    )
    folds = np.append(np.arange(800) % 3, np.full(40, 3))  # evaluated by all 800
    relative = np.exp(robustness._smoothed(low, high, folds, 1.0))[800:]
    distribution = relative * stats.poisson(6.0).pmf(every)
    assert distribution.sum() == pytest.approx(1.0, abs=0.01)
    np.testing.assert_allclose(distribution[2:11], stats.poisson(6.0).pmf(every)[2:11], rtol=0.25)


def test_what_piles_up_on_whole_numbers_is_sharper_than_any_smooth_distribution():
    options = {"family": "negative_binomial", "level": 10.0, "spread": 0.3, "n": 1500}
    train = censoring_lab(orders="at_mass", quantile=0.75, seed=1, **options).train
    found = learn(train.features, train.sales).diagnosis_
    low, high = found.interval
    assert found.identified in ("yes", "weakly")
    assert low <= train.share_censored <= high


# --- the share, and how surely --------------------------------------------------------------------


def test_the_error_of_a_share_agrees_with_its_profile():
    train = censoring_lab(orders="noisy", share=0.3, noise=0.3, n=1500, seed=2).train
    rule = learn(train.features, train.sales, families="normal", orders=("absent", "noisy"))
    chosen = rule.fitted_model_.chosen
    curve = rule.diagnosis_.sensitivity
    inside = np.array(curve.rate)[np.array(curve.fit) < 1.92]
    error = robustness.share_error(chosen)
    assert 0.0 < error < 0.1
    assert abs(inside - chosen.share).max() <= 2.0 * error + 0.05
    harmless = min(rule.fitted_model_.ranked, key=lambda each: each.share)
    assert harmless.share == 0.0
    assert robustness.share_error(harmless) == 0.0


def test_of_whole_numbers_some_end_at_their_order_by_chance():
    generator = np.random.default_rng(5)
    X = generator.random((2000, 1))
    demand = generator.poisson(8.0 + 4.0 * X[:, 0]).astype(float)
    sales = np.minimum(demand, 11.0)
    found = learn(X, sales).diagnosis_
    low, high = found.interval
    assert found.share_is_seen
    assert high == pytest.approx(np.mean(sales == 11.0))
    assert low < np.mean(demand > 11.0) < high
    assert "at their orders" in str(found)


def test_a_counted_share_of_measures_is_exact():
    train = censoring_lab(orders="at_mass", n=900, seed=1).train
    found = learn(train.features, train.sales).diagnosis_
    assert found.interval == (found.share_censored, found.share_censored)
    assert found.share_censored == pytest.approx(train.share_censored)
    assert found.identified == "yes"


def test_rows_with_nothing_in_stock_may_have_sold_out_or_not():
    train = store10(seed=1).train
    found = learn(train.features, train.sales).diagnosis_
    low, high = found.interval
    assert low < train.share_censored < high < low + 0.07
    assert found.identified == "yes"
    assert "(counted, not estimated)" in str(found)


def test_rows_without_a_past_may_be_anything():
    train = bank("normal, linear, 900 rows, sales history").train
    rule = LatentBand(random_state=0)
    rule.fit(COST, train.features, train.sales, time=train.dates, series=train.series)
    assert rule.order_rule_.accepted_
    low, high = rule.diagnosis_.interval
    assert low <= train.share_censored <= high
    assert high - low == pytest.approx(np.isnan(rule.order_rule_.censored_).mean())


# --- one capacity ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_one_capacity_is_found_whole(seed):
    """A quantile of the sales would leave it in groups that hardly ever reach it."""
    generator = np.random.default_rng(seed)
    group = generator.integers(0, 6, 900)
    X = (group[:, None] == np.arange(1, 6)).astype(float)
    demand = 100 - 12 * group + 15 * generator.standard_normal(900)
    sales = np.minimum(demand, 95.0)
    found = find_order_plane(X, sales, 0.0, np.ones(900, dtype=bool))
    np.testing.assert_array_equal(found.on, sales == 95.0)


def test_a_capacity_that_hides_a_whole_group_is_not_taken_for_its_order():
    generator = np.random.default_rng(0)
    group = generator.integers(0, 3, 600)
    X = (group[:, None] == np.arange(1, 3)).astype(float)
    demand = np.array([80.0, 90.0, 400.0])[group] + 15 * generator.standard_normal(600)
    sales = np.minimum(demand, 100.0)
    found = find_order_plane(X, sales, 0.0, np.ones(600, dtype=bool))
    assert found is None or found.on.sum() != np.sum(sales == 100.0) or found.coefficients.any()


# --- power ----------------------------------------------------------------------------------------


def test_orders_that_scatter_would_not_have_been_seen(uncensored):
    found = uncensored.diagnosis_
    assert found.share_censored == 0.0
    assert found.identified == "no"
    assert dict(found.power).keys() == set(tuned.SOLD_OUT)
    assert max(chance for _, chance in found.power) < tuned.POWER
    assert found.interval[1] >= max(tuned.SOLD_OUT)
    assert any("would have been seen" in note for note in found.notes)
    assert any("how often you sell out" in note for note in found.notes)


def test_orders_that_hardly_scatter_would_have_been_seen(monkeypatch):
    monkeypatch.setattr(tuned, "ORDER_NOISE", 0.002)
    monkeypatch.setattr(tuned, "LEAST_SPREAD", 1e-4)
    monkeypatch.setattr(tuned, "DRAWS", 5)
    X, demand, _ = shop("normal", 1500)
    found = learn(X, demand, orders=("absent", "noisy")).diagnosis_
    assert min(chance for _, chance in found.power) >= tuned.POWER
    assert found.identified == "yes" or found.interval[1] > 0.0


@pytest.mark.parametrize("share", [0.1, 0.4])
@pytest.mark.parametrize("unlimited", [0.0, 0.5])
def test_draws_of_power_sell_out_as_often_as_asked(uncensored, share, unlimited):
    harmless = uncensored.fitted_model_.chosen
    index = np.arange(1500)
    binding = robustness._binding(harmless, index, share, unlimited)
    model, parameters = binding.fit.problem.model, binding.fit.parameters
    assert model.share_censored(parameters) == pytest.approx(share, abs=1e-6)
    drawn = robustness._drawn(binding, np.random.default_rng(0))
    located = binding.fit.located
    u = (drawn.fit.problem.point - located.location) * np.exp(-located.log_scale)
    # the chance of each draw to be at most this, by the likelihood's own distribution
    orders, family = model.orders(parameters), model.family
    shape = model.shape(parameters)
    lasts = orders.unlimited + (1 - orders.unlimited) * stats.norm.sf(
        (u - orders.level) / orders.spread
    )
    survival = np.exp(family.log_survival(u, shape)) * lasts
    assert stats.kstest(survival, "uniform").pvalue > 1e-3


# --- kept, and shown ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("orders", ["noisy", "never"])
def test_what_was_found_survives_saving_and_needs_no_further_fit(tmp_path, monkeypatch, orders):
    train = censoring_lab(orders=orders, n=500, seed=0).train
    model = LinearDecision(COST, band=LatentBand(random_state=0))
    found = model.fit(train.features, train.sales).diagnosis_
    with monkeypatch.context() as patch:
        patch.setattr(diagnose, "maximise", None)  # a fit would fail
        interval = found.interval
    unmet.save(model, tmp_path / "model")
    kept = unmet.load(tmp_path / "model")
    for name in ("share_range", "robustness_checks", "power", "identified", "interval"):
        assert getattr(kept.diagnosis_, name) == getattr(found, name)
    assert kept.band_rule_.diagnosis_for(COST).share_range == found.share_range
    assert str(kept.diagnosis_) == str(found)
    assert interval == found.share_range
    assert found.to_dict()["power"] == found.power


def test_a_diagnosis_without_a_range_keeps_its_profile():
    assert Diagnosis("LatentBand", 10, share_censored=0.2, share_is_seen=True).interval == (
        0.2,
        0.2,
    )
