import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmet import Band, LinearDecision, Newsvendor, SquaredError
from unmet.errors import InvalidInput

NOTHING = np.zeros((1, 1))


def _constant(s, cost, band=None, **parameters):
    """A model that must give every row the same decision."""
    return LinearDecision(cost, band, **parameters).fit(np.zeros((len(s), 1)), s)


@given(
    seed=st.integers(0, 10**6),
    level=st.sampled_from([0.04, 0.3, 0.8, 0.97]),
    step=st.floats(0.1, 60),
    band=st.sampled_from([None, Band(0, 5), Band(2, 30)]),
    squared=st.booleans(),
)
def test_the_lot_is_the_cheapest_of_all_lots(seed, level, step, band, squared):
    s = np.random.default_rng(seed).gamma(1.5, 10.0, size=37)
    cost = Newsvendor.at_level(level)
    if squared:
        cost, band = SquaredError(), None
    chosen = _constant(s, cost, band).decide(NOTHING, step=step)[0]
    lots = step * np.arange(0, np.ceil((s.max() + 40) / step) + 1)
    cheapest = min(cost.loss(np.full(37, lot), s, band).mean() for lot in lots)
    assert chosen == pytest.approx(step * round(chosen / step))
    assert cost.loss(np.full(37, chosen), s, band).mean() <= cheapest * (1 + 1e-7) + 1e-9


def test_small_lots_are_rounded_to_the_nearest_and_large_ones_by_the_level():
    s = np.linspace(100, 200, 1000)
    model = _constant(s, Newsvendor.at_level(0.9))
    small, large = model._shift_cost.thresholds(np.array([5.0, 1e5]))
    assert small == pytest.approx(0.5, abs=0.02)
    assert large == pytest.approx(0.1, abs=0.01)
    several = model._shift_cost.thresholds(np.array([10.0, 100.0, 1000.0]))
    assert (np.diff(several) < 0).all()


def test_rounding_pays_on_the_truth():
    generator = np.random.default_rng(1)
    X = generator.normal(size=(3000, 2))
    truth = 60 + X @ [15, -10] + generator.normal(scale=4, size=3000)
    cost = Newsvendor(underage=19, overage=1)
    model = LinearDecision(cost).fit(X[:1500], truth[:1500])
    rest, known = X[1500:], truth[1500:]
    plain = model.predict(rest)

    def paid(decision):
        return cost.cost(np.maximum(decision, 0), known).mean()

    for step in (2, 6, 12, 24):
        ours = paid(model.decide(rest, step=step))
        naive = [step * f(plain / step) for f in (np.floor, np.ceil, np.round)]
        assert ours <= min(paid(decision) for decision in naive) * 1.01


def test_bounds_are_kept_also_where_they_are_no_lots():
    model = _constant(np.array([50.0, 50, 50]), Newsvendor(3, 1))
    X = np.zeros((4, 1))
    assert model.decide(X, step=12, lower=[0, 55, 0, 0], upper=[100, 100, 47, 11]).tolist() == [
        48,
        60,
        36,
        0,
    ]
    assert model.decide(X, step=None, lower=None, upper=[60, 40, 30, 20]).tolist() == pytest.approx(
        [50, 40, 30, 20]
    )
    assert model.decide(X, step=[1, 7, 20, 60]).tolist() == [50, 49, 60, 60]


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"step": 0}, "step must be a positive number or None, got 0.0."),
        (
            {"upper": [1, 2]},
            "upper must be a number or have one entry per row, got 2 entries for 1 rows.",
        ),
        (
            {"lower": 7, "upper": 3, "step": None},
            "lower must be at most upper, got lower 7.0 and upper 3.0 in row 0.",
        ),
        (
            {"lower": 13, "upper": 23, "step": 12},
            "lower and upper must have a multiple of step between them, "
            "got lower 13.0 and upper 23.0 in row 0.",
        ),
    ],
)
def test_bad_lots(keywords, sentence):
    model = _constant(np.array([50.0, 51, 50]), Newsvendor(3, 1))
    with pytest.raises(InvalidInput) as caught:
        model.decide(NOTHING, **keywords)
    assert str(caught.value) == sentence
