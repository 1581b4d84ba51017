"""Plans of prices and of ages of replacement."""

import numpy as np
import polars as pl
import pytest
from scipy import optimize

from unmet import CustomPricing, LatentBand, Limits, LinearDecision
from unmet.costs import AgeReplacement
from unmet.errors import InvalidInput, Unsupported
from unmet.evaluation import best_price
from unmet.lifetimes import Weibull, expected_cost, latent_ages, replacement_age
from unmet.planning import compare, evaluate
from unmet.planning.plan_options import plan_from_options
from unmet.report import render, report_data


@pytest.fixture(scope="module")
def offers():
    generator = np.random.default_rng(1)
    quantity = generator.uniform(0, 5, 400).round(2)
    worth = 60 + 6 * quantity + generator.normal(0, 6, 400)
    price = (60 + 6 * quantity + generator.normal(-2, 6, 400)).round(1)
    return pl.DataFrame(
        {"quantity": quantity, "price": price, "accepted": price <= worth, "worth": worth}
    )


@pytest.fixture(scope="module")
def parts():
    generator = np.random.default_rng(2)
    load = generator.uniform(0, 1, 300).round(3)
    life = 100 * np.exp(-0.6 * load) * generator.weibull(3.0, 300)
    limit = generator.uniform(30, 150, 300)
    return pl.DataFrame(
        {
            "load": load,
            "hours": np.minimum(life, limit),
            "failed": life <= limit,
            "life": life,
        }
    ).with_columns(suspended=~pl.col("failed"))


OFFERS = {"observed": "price", "features": ["quantity"], "problem": "pricing"}
PARTS = {"observed": "hours", "problem": "replacement", "planned": 1.0, "failure": 6.0}


@pytest.fixture(scope="module")
def revenue(offers):
    plan = plan_from_options(**OFFERS, accepted_column="accepted", goal="revenue", unit_cost=20)
    return plan.fit(offers)


def test_prices_that_cost_by_the_unit(offers):
    plan = plan_from_options(**OFFERS, accepted_column="accepted", underage=1, overage=4).fit(
        offers
    )
    X, y = offers[["quantity"]].to_numpy(), offers["price"].to_numpy()
    known = Limits.offers(y, offers["accepted"].to_numpy())
    model = LinearDecision(CustomPricing(1, 4), LatentBand(random_state=0))
    model.fit(X, y, censored=known)
    np.testing.assert_array_equal(plan.decide(offers, None).decision, model.decide(X, None))
    assert plan.ignoring_ is not None


def test_prices_of_most_revenue(offers, revenue):
    X, y = offers[["quantity"]].to_numpy(), offers["price"].to_numpy()
    known = Limits.offers(y, offers["accepted"].to_numpy())
    rule = LatentBand(random_state=0).fit(CustomPricing(1, 1), X, y, censored=known)
    expected = best_price(rule, X, unit_cost=20)
    found = revenue.decide(offers, None)
    np.testing.assert_allclose(found.decision, expected, rtol=1e-6)
    assert found.ignoring is None
    rounded = revenue.decide(offers, 5, 0, 70).decision
    assert (rounded % 5 == 0).all()
    assert (np.abs(rounded - np.minimum(expected, 70)) <= 2.5 + 1e-9).all()
    with pytest.raises(InvalidInput, match="minimum must not be given for prices and ages"):
        revenue.decide(offers, None, minimum=5)


def test_revenue_against_brute_force(offers, revenue):
    """On the true worths no common shift of the prices earns much more."""
    evaluated = evaluate(revenue, offers, "worth")["plan"]
    price, worth = revenue.decide(offers, None).decision, offers["worth"].to_numpy()

    def earned(shift):
        return np.where(price + shift <= worth, price + shift - 20, 0.0).mean()

    assert -evaluated.cost == pytest.approx(earned(0.0))
    assert earned(0.0) > 0.97 * max(earned(shift) for shift in np.linspace(-15, 15, 61))


def test_every_offer_needs_its_answer(offers):
    gaps = offers.with_columns(accepted=pl.when(pl.int_range(pl.len()) != 7).then("accepted"))
    with pytest.raises(InvalidInput, match=r"must say whether each offer .* row 9"):
        plan_from_options(**OFFERS, accepted_column="accepted", goal="revenue").fit(gaps)


@pytest.mark.slow
def test_ages_with_either_flag(parts):
    failed = plan_from_options(**PARTS, features=["load"], failed_column="failed").fit(parts)
    suspended = plan_from_options(**PARTS, features=["load"], censored_column="suspended").rows(
        parts
    )
    np.testing.assert_array_equal(failed.rows(parts).flag, suspended.flag)
    found = failed.decide(parts, None)
    assert np.corrcoef(found.decision, parts["load"])[0, 1] < -0.9
    assert found.ignoring is not None
    assert (found.ignoring < found.decision).mean() > 0.9  # who ignores it replaces too early
    assert report_data(failed)["stake"] is None
    evaluated = evaluate(failed, parts, "life")
    assert evaluated["plan"].cost < evaluated["ieo"].cost
    cost = AgeReplacement(planned=1.0, failure=6.0)
    rate = cost.rate_of(found.decision, parts["life"].to_numpy())
    assert evaluated["plan"].cost == pytest.approx(float(rate))


def test_one_age_for_all(parts):
    plan = plan_from_options(**PARTS, failed_column="failed").fit(parts)
    found = plan.decide(parts.head(4), None)
    same = replacement_age(
        AgeReplacement(planned=1.0, failure=6.0),
        parts["hours"].to_numpy(),
        censored=parts["suspended"].to_numpy(),
        method="weibull",
        confidence=0.9,
    )
    assert found.decision.tolist() == [same.age] * 4
    told = plan.diagnosis_
    assert (told.share_is_seen, told.identified, told.decision) == (True, None, same.age)
    assert told.share_censored == pytest.approx(parts["suspended"].mean())
    assert plan.decide(parts.head(1), 10).decision[0] == pytest.approx(same.age, abs=5)
    content = report_data(plan)
    assert content["inputs"]["costs"] == "planned 1, failure 6"
    assert content["answer"][0].startswith(f"Replace at age {same.age:.4g}: cost ")
    assert content["answer"][1].startswith("Confidence interval of the age: ")
    assert content["answer"][-1].endswith(
        "of the parts were replaced before they failed (counted)."
    )
    page = render(content)
    assert "was not estimated, because the model has no band" not in page
    assert "were taken as" not in page
    untold = report_data(plan_from_options(**PARTS).fit(parts))
    assert untold["answer"][-1].endswith("Times in service are taken as lifetimes.")
    with pytest.raises(InvalidInput, match="compare needs features"):
        compare(plan_from_options(**PARTS, failed_column="failed"), parts)


def test_where_no_plan_pays(parts):
    words = {**PARTS, "failure": 1.001}
    found = (
        plan_from_options(**words, failed_column="failed").fit(parts).decide(parts.head(3), None)
    )
    if np.isinf(found.decision).all():
        assert found.notes == ("Replace at failure in 3 rows: planned replacement costs more.",)
    else:
        assert found.decision[0] > parts["hours"].max()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"band": "none"}, "replacement ages need band 'latent'"),
        ({"model": "neural"}, "for prices of maximum revenue and replacement ages, got 'neural'"),
        ({"by": ["load"]}, "replacement ages, got 'auto' and ['load']"),
        ({"censored_column": "suspended", "failed_column": "failed"}, "must not be given with"),
        (
            {"accepted_column": "failed"},
            "columns['accepted'] must not be given with problem 'replacement'",
        ),
    ],
)
def test_words_of_ages_that_do_not_fit(words, sentence):
    with pytest.raises(InvalidInput) as error:
        plan_from_options(**PARTS, **words).check()
    assert sentence in str(error.value)


def test_decisions_outside_of_the_data_say_so(offers, parts):
    cheap = offers.filter(pl.col("price") < 60)  # hardly anybody has refused so little
    words = {**OFFERS, "accepted_column": "accepted", "goal": "revenue", "unit_cost": 20}
    plan = plan_from_options(**words).fit(cheap)
    found, top = plan.decide(cheap, None), cheap["price"].max()
    above = found.decision > top
    assert above.any()
    np.testing.assert_array_equal(
        found.outside_data, np.where(above, "above all offered prices", "")
    )
    assert any(
        "prices of training rows are above all offered prices" in note for note in plan.notes_
    )
    strange = plan.decide(cheap.head(1).with_columns(quantity=pl.lit(99.0)), None)
    assert strange.outside_data[0].endswith("features outside of the training data")
    young = parts.with_columns(hours=pl.min_horizontal("life", 30), failed=pl.col("life") < 30)
    ages = plan_from_options(**PARTS, failed_column="failed").fit(young).decide(young, None)
    assert 30 < ages.decision[0] < np.inf
    assert (ages.outside_data == "beyond the longest time in service").all()
    assert plan.decide(cheap, None, None).decision.min() >= 0


def test_ages_of_lives_that_bend_follow_them():
    """Together for the fleet, whatever rows are asked for, and by trees where these tell more."""
    generator = np.random.default_rng(4)
    load = generator.uniform(-1, 1, 600)
    scale = 100 * np.exp(-2 * np.abs(load))
    life, limit = scale * generator.weibull(3.0, 600), generator.uniform(0.3, 1.5, 600) * scale
    table = pl.DataFrame({"load": load, "hours": np.minimum(life, limit), "failed": life <= limit})
    words = {**PARTS, "features": ["load"], "failed_column": "failed"}
    bent, straight = (plan_from_options(**words, model=m).fit(table) for m in ("auto", "linear"))
    cost, true = AgeReplacement(planned=1.0, failure=6.0), Weibull(3.0, scale)

    def rate(plan):
        ages = plan.decide(table, None).decision
        paid = expected_cost(cost.at_rate(0.0), true, ages).sum()
        return paid / true.interval_mean(ages).sum()

    assert rate(bent) < 0.8 * rate(straight)
    some = bent.decide(table.head(5), None).decision
    np.testing.assert_allclose(some, bent.decide(table, None).decision[:5])
    learned = bent.estimator_.rule_
    ages = latent_ages(learned, table[["load"]].to_numpy(), cost, together=True)
    np.testing.assert_allclose(ages[:5], some, rtol=1e-6)


def test_offers_that_are_accepted_more_often_at_higher_prices():
    generator = np.random.default_rng(0)
    price = generator.uniform(40, 80, 300)
    luck = generator.random(300)
    table = pl.DataFrame({"quantity": generator.normal(size=300), "price": price})
    words = {**OFFERS, "accepted_column": "accepted", "goal": "revenue", "unit_cost": 20}
    rises = table.with_columns(accepted=pl.Series(luck < (price - 30) / 60))
    with pytest.raises(InvalidInput, match="must be accepted less often at higher prices"):
        plan_from_options(**words).fit(rises)
    same = table.with_columns(accepted=pl.Series(luck < 0.5))
    assert "not clearly accepted less often" in " ".join(
        plan_from_options(**words).fit(same).notes_
    )
    falls = table.with_columns(accepted=pl.Series(luck < (90 - price) / 60))
    assert "accepted less often" not in " ".join(plan_from_options(**words).fit(falls).notes_)


def test_parts_in_service_before_records_began_have_features_too():
    """Against the truncated likelihood that SciPy maximises; boosted trees are refused."""
    generator = np.random.default_rng(0)
    load = generator.uniform(-1, 1, 900)
    life = 100 * np.exp(-0.5 * load) * generator.weibull(3, 900)
    began = np.where(generator.random(900) < 0.7, generator.uniform(0, 140, 900), 0.0)
    seen = life > began  # those that failed before are in no record
    load, life, began = load[seen], life[seen], began[seen]
    end = began + generator.uniform(5, 90, life.size)
    hours, failed = np.minimum(life, end), life <= end
    table = pl.DataFrame({"load": load, "hours": hours, "failed": failed, "began": began})
    words = {**PARTS, "features": ["load"], "failed_column": "failed"}
    plan = plan_from_options(**words, entry_column="began").fit(table)

    def minus(v):
        logs = np.log(np.stack([hours, np.maximum(began, 1e-12)]))
        z, before = np.exp(v[2]) * (logs - v[0] - v[1] * load)
        return -(failed * (v[2] + z) - np.exp(z) + np.exp(before)).sum()

    level, slope, log_shape = optimize.minimize(minus, [4.0, 0.0, 0.5], method="Nelder-Mead").x
    X = np.array([[-0.7], [0.7]])
    expected = Weibull(np.exp(log_shape), np.exp(level + slope * X[:, 0])).quantile(0.3)
    found = plan.estimator_.rule_.quantile(X, 0.3)
    np.testing.assert_allclose(found, expected, rtol=0.03)
    ignored = plan_from_options(**words).fit(table).estimator_.rule_.quantile(X, 0.3)
    assert (ignored > 1.08 * found).all()  # as if no part had failed before records began
    with pytest.raises(Unsupported, match=r"model must not be 'boosted' with .*entry"):
        plan_from_options(**words, entry_column="began", model="boosted").fit(table)
    with pytest.raises(InvalidInput, match="entry must be below the time of each row"):
        plan_from_options(**words, entry_column="began").fit(table.with_columns(began="hours"))
