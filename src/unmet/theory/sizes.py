"""How many rows a bound asks for."""

from __future__ import annotations

from unmet.errors import InvalidInput
from unmet.theory.bound import Bound
from unmet.theory.parameters import positive_number

_MOST = 10**90


def sample_size_for(gap: float, bound: Bound) -> int:
    """Fewest rows from which on the bound is at most `gap`.

    Exact: the bound is above `gap` with one row less. Everything but the number of rows is as it
    was when `bound` was made; the learning rate of a network may follow the number of rows
    (``learning_rate=None``), since with a fixed one its bound grows for ever.

    Parameters
    ----------
    gap : float
        Positive, in units of the cost.
    bound : Bound
        Of `linear_bound`, `penalised_bound`, `network_bound`, or from `bound_for`.

    Returns
    -------
    int

    Examples
    --------
    >>> from unmet.theory import penalised_bound
    >>> shape = {"n_features": 5, "largest_truth": 1, "largest_feature": 1, "strength": 0.1}
    >>> bound = penalised_bound(0.8, n_rows=1000, **shape)
    >>> rows = sample_size_for(0.1, bound)
    >>> rows, bound.at(rows).value <= 0.1 < bound.at(rows - 1).value
    (629600, True)
    """
    wanted, start = positive_number("gap", gap), bound._falls_from
    if start is None:
        raise InvalidInput(
            "bound must fall with the number of rows; that of a network with a fixed "
            "learning_rate grows: leave learning_rate out."
        )
    if bound.at(start).value <= wanted:
        # Before it falls the bound may do anything: go back row by row to where it fails.
        while start > 1 and bound.at(start - 1).value <= wanted:
            start -= 1
        return start
    fails, enough = start, 2 * start
    while bound.at(enough).value > wanted:
        fails, enough = enough, 2 * enough
        if enough > _MOST:
            raise InvalidInput(f"gap must be larger: no number of rows brings the bound to {gap}.")
    while enough - fails > 1:
        middle = (fails + enough) // 2
        if bound.at(middle).value > wanted:
            fails = middle
        else:
            enough = middle
    return enough
