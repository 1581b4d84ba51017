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
