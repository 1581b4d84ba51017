import numpy as np
import pytest
from gap_on_store10 import gap
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import CensoredData, ecdf
from sklearn.base import clone

from unmet import LinearDecision, Newsvendor, SquaredError
from unmet.bands.classic.kaplan_meier import (
    KaplanMeierBand,
    in_order,
    product_limit_quantile,
    weighted_quantile,
)
from unmet.errors import InvalidInput, Unsupported

COST = Newsvendor(underage=7, overage=3)  # level .7


def _reference(values, censored, level):
    """Smallest value at which scipy's estimate reaches the level; None if it never does."""
    curve = ecdf(CensoredData.right_censored(values, censored)).cdf
    enough = curve.probabilities >= level - 1e-9
    return float(curve.quantiles[np.argmax(enough)]) if enough.any() else None


def _quantile(values, censored, weight, level):
    order = in_order(values, censored)
    found = product_limit_quantile(
        values[order][None], censored[order][None], weight[order][None], np.array([level])
    )
    return found.value[0] if found.reached[0] else None


rows = st.lists(
    st.tuples(st.integers(0, 8), st.booleans(), st.integers(0, 3)), min_size=1, max_size=25
).filter(lambda some: any(weight for _, _, weight in some))


@given(rows, st.sampled_from([0.13, 0.5, 0.65, 0.8, 0.97]))
def test_product_limit_agrees_with_scipy_and_weights_are_repeats(some, level):
    values, censored, times = (np.array(column) for column in zip(*some, strict=True))
    values, censored = values.astype(float), censored.astype(bool)
    again = np.repeat(np.arange(values.size), times)
    expected = _reference(values[again], censored[again], level)
    assert _quantile(values, censored, times.astype(float), level) == expected


@given(rows, st.sampled_from([0.13, 0.65, 0.97]))
def test_plain_quantile_is_numpys_inverted_distribution(some, level):
    values, _, times = (np.array(column, dtype=float) for column in zip(*some, strict=True))
    order = np.argsort(values)
    found = weighted_quantile(values[order][None], times[order][None], np.array([level]))
    expected = np.quantile(
        np.repeat(values, times.astype(int)), level - 1e-10, method="inverted_cdf"
    )
    assert found[0] == expected


def test_where_the_largest_are_censored_the_largest_is_returned_and_said():
    values, censored = np.array([[1.0, 2.0, 6.0, 9.0]]), np.array([[False, False, False, True]])
    weight = np.array([[1.0, 1.0, 1.0, 0.0]])
    beyond = product_limit_quantile(values, censored, np.ones((1, 4)), np.array([0.9]))
    assert (beyond.value[0], beyond.reached[0]) == (9.0, False)
    padded = product_limit_quantile(values, values > 1.5, weight, np.array([0.9]))
    assert (padded.value[0], padded.reached[0]) == (6.0, False)
    inside = product_limit_quantile(values, censored, weight, np.array([0.9]))
    assert (inside.value[0], inside.reached[0]) == (6.0, True)  # without weight it is not there


def _data(n=600, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1, 1, size=(n, 2))
    demand = 40 + X @ [8.0, -3.0] + generator.gamma(3.0, 4.0, size=n)
    order = 45 + X @ [8.0, -3.0] + generator.gamma(3.0, 6.0, size=n)
    return X, np.minimum(demand, order), demand > order


def test_all_rows_as_neighbours_is_the_estimate_of_scipy_on_all_rows():
    X, s, censored = _data(n=200)
    rule = KaplanMeierBand(neighbours=1000, centred=False).fit(COST, X, s, censored=censored)
    truth = _reference(s, censored, 0.7)
    observed = np.quantile(s, 0.7, method="inverted_cdf")
    assert truth > observed
    assert rule.band(X[:5]).low == pytest.approx(truth - observed)
    assert rule.band(X[:5]).high == pytest.approx(truth - observed)


@pytest.mark.parametrize("centred", [True, False])
def test_only_neighbours_count(centred):
    generator = np.random.default_rng(0)
    side = np.repeat([0.0, 1.0], 150)
    demand = 50 + 40 * side + np.where(side > 0, 12, 2) * generator.normal(size=300)
    order = 50 + 40 * side + np.where(side > 0, 12, 2) * generator.normal(size=300)
    s, censored = np.minimum(demand, order), demand > order
    rule = KaplanMeierBand(neighbours=150, centred=centred).fit(
        COST, side[:, None], s, censored=censored
    )
    for value in (0.0, 1.0):
        here = side == value
        truth = _reference(s[here], censored[here], 0.7)
        shift = truth - np.quantile(s[here], 0.7, method="inverted_cdf")
        assert rule.band([[value]]).low == pytest.approx([shift])


def test_scales_of_the_features_do_not_matter():
    X, s, censored = _data()
    plain = KaplanMeierBand(50).fit(COST, X, s, censored=censored)
    factors = np.array([1e9, 1e-9])
    other = KaplanMeierBand(50).fit(COST, X * factors, s, censored=censored)
    assert other.band(X * factors).low == pytest.approx(plain.band(X).low, abs=1e-6)


def test_a_constant_column_changes_nothing():
    X, s, censored = _data()
    wide = np.column_stack([X, np.full(s.size, 0.1)])
    plain = KaplanMeierBand(50).fit(COST, X, s, censored=censored).band(X)
    assert KaplanMeierBand(50).fit(COST, wide, s, censored=censored).band(
        wide
    ).low == pytest.approx(plain.low, abs=1e-6)


@pytest.mark.parametrize("similarity", ["nearest", "kernel", "tree"])
def test_sparse_features_are_read_like_dense_ones(similarity):
    X, s, censored = _data()
    rule = KaplanMeierBand(60, similarity=similarity, centred=False)
    dense = clone(rule).fit(COST, X, s, censored=censored).band(X)
    thin = clone(rule).fit(COST, sparse.csr_array(X), s, censored=censored).band(X)
    assert thin.low == pytest.approx(dense.low, abs=1e-9)


@pytest.mark.parametrize(
    ("similarity", "level", "least"),
    [("nearest", 0.75, 0.9), ("kernel", 0.95, 0.85), ("tree", 0.75, 0.9), ("tree", 0.95, 0.85)],
)
def test_random_orders_are_undone_without_a_family(similarity, level, least):
    assert gap(KaplanMeierBand(similarity=similarity), level, noise=60.0) > least


def test_orders_that_follow_the_features_hide_what_lies_above_them():
    model = LinearDecision(COST, band=KaplanMeierBand(100))
    X, s, _ = _data()
    order = np.quantile(s, 0.4) + X @ [8.0, -3.0]
    censored = s > order
    model.fit(X, np.minimum(s, order), censored=censored)
    assert model.diagnosis_.identified == "no"
    assert "ends below the level of the cost" in model.diagnosis_.notes[0]
    assert 0 < gap(KaplanMeierBand(), 0.75) < 0.6  # a lower bound, and no harm: measured .38


def test_levels_that_are_reached_are_not_complained_about():
    X, s, censored = _data()
    diagnosis = KaplanMeierBand().fit(Newsvendor(2, 3), X, s, censored=censored).diagnosis_
    assert diagnosis.identified == "yes"
    assert diagnosis.notes == ()
    assert diagnosis.share_censored == pytest.approx(censored.mean())


def test_a_kernel_listens_to_the_near_ones():
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(1000, 1))
    demand = (1 + 20 * X[:, 0] ** 2) * generator.exponential(size=1000)
    order = (1 + 20 * X[:, 0] ** 2) * generator.exponential(2.0, size=1000)
    s, censored = np.minimum(demand, order), demand > order
    ends = np.array([[0.02], [0.98]])
    truth = (1 + 20 * ends[:, 0] ** 2) * -np.log(0.3)
    error = {}
    for similarity in ("nearest", "kernel"):
        rule = KaplanMeierBand(800, similarity=similarity).fit(COST, X, s, censored=censored)
        seen = (1 + 20 * ends[:, 0] ** 2) * -np.log(0.3) / 1.5
        error[similarity] = np.abs(rule.band(ends).low - (truth - seen))
    assert (error["kernel"] < error["nearest"]).all()


def test_leaves_are_groups_of_rows():
    group = np.arange(400) % 2
    generator = np.random.default_rng(0)
    demand = np.where(group, 90, 30) + generator.normal(scale=np.where(group, 9, 2), size=400)
    order = np.where(group, 90, 30) + generator.normal(scale=np.where(group, 9, 2), size=400)
    s, censored = np.minimum(demand, order), demand > order
    rule = KaplanMeierBand(150, similarity="tree", centred=False)
    shift = rule.fit(COST, group[:, None], s, censored=censored).band(group[:, None]).low
    for value in (0, 1):
        here = group == value
        truth = _reference(s[here], censored[here], 0.7)
        expected = truth - np.quantile(s[here], 0.7, method="inverted_cdf")
        assert shift[here] == pytest.approx(expected)


def test_costs_by_row_and_repeated_rows():
    X, s, censored = _data()
    X = np.round(X, 0)  # nine distinct rows
    rule = KaplanMeierBand(80).fit(COST, X, s, censored=censored)
    underage = np.where(np.arange(s.size) % 2, 1.0, 9.0)
    mixed = rule.band(X, underage=underage).low
    for value in (1.0, 9.0):
        here = underage == value
        assert mixed[here] == pytest.approx(rule.band(X, underage=value).low[here])


def test_weights_count_as_repeats():
    X, s, censored = _data(n=120)
    weight = np.random.default_rng(1).integers(1, 4, size=120)
    again = np.repeat(np.arange(120), weight)
    weighted = KaplanMeierBand(10**6, centred=False).fit(
        COST, X, s, censored=censored, sample_weight=weight
    )
    repeated = KaplanMeierBand(10**6, centred=False).fit(
        COST, X[again], s[again], censored=censored[again]
    )
    assert weighted.band(X[:1]).low == pytest.approx(repeated.band(X[:1]).low)


def test_one_row():
    rule = KaplanMeierBand().fit(COST, [[1.0]], [5.0], censored=[False])
    assert rule.band([[3.0]]).low == pytest.approx([0.0])


@pytest.mark.parametrize(
    ("error", "sentence", "rule", "known"),
    [
        (InvalidInput, "neighbours must be a whole number of at least 1", KaplanMeierBand(0), {}),
        (InvalidInput, "neighbours must be a whole number of at least 1", KaplanMeierBand(2.5), {}),
        (
            InvalidInput,
            "similarity must be 'nearest', 'kernel' or 'tree', got 'far'",
            KaplanMeierBand(similarity="far"),
            {},
        ),
        (InvalidInput, "centred must be True or False", KaplanMeierBand(centred=2), {}),
        (InvalidInput, "censored must be given to KaplanMeierBand", KaplanMeierBand(), {}),
        (
            InvalidInput,
            "False in at least one row for KaplanMeierBand",
            KaplanMeierBand(),
            {"censored": [True, True, None]},
        ),
    ],
)
def test_bad_input_is_one_sentence(error, sentence, rule, known):
    with pytest.raises(error, match=sentence) as caught:
        rule.fit(COST, [[1.0], [2.0], [3.0]], [4.0, 5.0, 6.0], **known)
    assert str(caught.value).endswith(".")


def test_needs_a_level():
    with pytest.raises(Unsupported, match="SquaredError has no level"):
        KaplanMeierBand().fit(SquaredError(), [[1.0]], [4.0], censored=[False])


def test_repeats_bit_for_bit():
    X, s, censored = _data()
    for similarity in ("nearest", "tree"):
        rule = KaplanMeierBand(similarity=similarity)
        one = clone(rule).fit(COST, X, s, censored=censored).band(X).low
        assert np.array_equal(clone(rule).fit(COST, X, s, censored=censored).band(X).low, one)
