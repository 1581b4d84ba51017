"""Slow and certain ways to allocate: a linear program, and every combination of lots."""

import itertools

import numpy as np
from scipy import sparse
from scipy.optimize import linprog


def by_linear_program(under, over, values, use, budget, lower, upper):
    """Sample average problem as a linear program: least expected cost, and the budget's dual."""
    n, m = values.shape
    one, nothing = sparse.eye_array(n * m), sparse.csr_array((1, 2 * n * m))
    excess = sparse.hstack([sparse.kron(sparse.eye_array(n), np.ones((m, 1))), one, -one])
    prices = np.concatenate([np.zeros(n), np.repeat(under / m, m), np.repeat(over / m, m)])
    solved = linprog(
        prices,
        A_ub=sparse.hstack([sparse.csr_array(use[np.newaxis]), nothing]).tocsr(),
        b_ub=[budget],
        A_eq=excess.tocsr(),
        b_eq=values.ravel(),
        bounds=[*zip(lower, upper, strict=True), *[(0, None)] * (2 * n * m)],
        method="highs",
    )
    assert solved.status == 0
    return solved.fun, -solved.ineqlin.marginals[0]


def by_every_combination(under, over, values, use, budget, lower, upper, step):
    """Least expected cost of all lots within bounds and budget."""
    choices = []
    for i, row in enumerate(values):
        first, last = np.ceil(lower[i] / step[i] - 1e-9), np.floor(upper[i] / step[i] + 1e-9)
        lots = step[i] * np.arange(first, last + 1)
        paid = [
            np.mean(under[i] * np.maximum(row - y, 0) + over[i] * np.maximum(y - row, 0))
            for y in lots
        ]
        choices.append(list(zip(lots, paid, strict=True)))
    return min(
        sum(paid for _, paid in chosen)
        for chosen in itertools.product(*choices)
        if sum(w * y for w, (y, _) in zip(use, chosen, strict=True)) <= budget * (1 + 1e-12)
    )


def random_case(seed, most_products, most_values):
    """A small problem with many ties: few different numbers, also uses of 0."""
    generator = np.random.default_rng(seed)
    n, m = generator.integers(1, most_products + 1), generator.integers(1, most_values + 1)
    lower = generator.choice([0.0, 0.0, 1.0], n)
    return {
        "under": generator.choice([1.0, 2.0, 3.3, 9.0], n),
        "over": generator.choice([0.5, 1.0, 4.0], n),
        "values": generator.integers(0, 7, size=(n, m)) * generator.choice([1.0, 1.7]),
        "use": generator.choice([0.0, 1.0, 1.0, 2.5], n),
        "lower": lower,
        "upper": lower + generator.choice([0.0, 2.0, 9.0], n),
    }
