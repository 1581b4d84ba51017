"""Numbers between 1e-30 and 1e30 are promised; others are refused in a sentence when read."""

from itertools import product

import numpy as np
import pytest
from block_problems import Watched
from scipy import sparse

from unmet import Band, LinearDecision, Newsvendor, SquaredError
from unmet.errors import InvalidInput


def rows(n_rows=40, n_features=3, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n_rows, n_features))
    return X, 3 + X @ np.arange(1.0, n_features + 1) + generator.gamma(2.0, 1.0, n_rows)


@pytest.mark.parametrize("size", [1e-32, 1e32])
def test_each_size_out_of_range_has_its_sentence(size):
    X, y = rows()
    cost, one = Newsvendor(4, 1), np.array([1.0, 1.0, size])
    told = r"must be between 1e-30 and 1e\+30 in size"

    def refuses(what, model, *given, **named):
        with pytest.raises(InvalidInput, match=f"largest number of {what} {told}"):
            model.fit(*given, **named)

    for model, container in product(
        (LinearDecision(cost), LinearDecision(SquaredError())), (np.asarray, sparse.csr_array)
    ):
        huge = r"X must hold numbers up to 1e\+30 in size, got .* in row \d+, column 2: state"
        tiny = f"largest number of column 2 of X {told}"
        with pytest.raises(InvalidInput, match=tiny if size < 1 else huge):
            model.fit(container(X * one), y)
    refuses("y", LinearDecision(cost), X, y * size)
    refuses("band (low|high)", LinearDecision(cost, Band(size / 2, size)), X, y)
    refuses("cost overage", LinearDecision(Newsvendor(1, size)), X, y)
    refuses("sample_weight", LinearDecision(cost), X, y, sample_weight=np.full(40, size))
    with pytest.raises(InvalidInput, match=f"largest number of y {told}"):
        LinearDecision().fit_path(X, y * size, costs=[cost, Newsvendor(2, 1)])
    with pytest.raises(InvalidInput, match=r"strength must be 0 or between 1e-30 and 1e\+30, got"):
        LinearDecision(cost, penalty="l2", strength=size).fit(X, y)


def test_one_huge_cell_among_many_rows_is_found():
    X, y = rows(5000, 4)
    X[4321, 2] = 1e31
    with pytest.raises(InvalidInput, match=r"got 1e\+31 in row 4321, column 2: state it in"):
        LinearDecision(Newsvendor(4, 1)).fit(X, y)


def test_one_huge_cell_in_blocks_is_found():
    X, y = rows(5000, 4)
    X[4321, 2] = 1e31
    with pytest.raises(InvalidInput, match=r"features must hold numbers up to 1e\+30 in size, got"):
        LinearDecision(Newsvendor(4, 1)).fit(Watched(X, y))


@pytest.mark.parametrize("band", [None, Band(0.5, 2.0)])
@pytest.mark.parametrize("penalty", [None, "l1", "l2"])
@pytest.mark.parametrize(
    ("column", "height", "slope"), [(-40, -60, 20), (90, 90, -90), (-90, -90, 90)]
)
def test_units_at_the_ends_of_the_range_give_the_same_answer(band, penalty, column, height, slope):
    X, y = rows()
    power = {None: 0, "l1": slope + column, "l2": slope + 2 * column - height}[penalty]
    costs = 4.0, 1.0
    usual = LinearDecision(Newsvendor(*costs), band, penalty=penalty, strength=0.25).fit(X, y)
    ends = None if band is None else Band(*np.ldexp([band.low, band.high], height).tolist())
    model = LinearDecision(
        Newsvendor(*np.ldexp(costs, slope).tolist()),
        ends,
        penalty=penalty,
        strength=float(np.ldexp(0.25, power)),
    ).fit(np.ldexp(X, column), np.ldexp(y, height))
    back = np.ldexp(model.predict(np.ldexp(X, column)), -height)
    assert back == pytest.approx(usual.predict(X), rel=1e-3)
    objective = np.ldexp(model.solution_.objective, -slope - height)
    assert objective == pytest.approx(usual.solution_.objective, rel=1e-9)
