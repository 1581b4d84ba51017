"""Hostile linear problems by seed, and a judge in exact arithmetic.

A problem is made of parts that are drawn one by one: features, observations, weights, costs,
band, penalty. Each part is ordinary or hostile, so that most problems mix several kinds. Sizes are
between 1e-30 and 1e30, as promised; some problems have a part beyond, and must be refused.

**The judge** trusts no rounding. It reads the numbers as they were given, as fractions, and prices
the answer with them. What no parameters can go below is proved by multipliers y inside their boxes
with A'y = 0: then every cost is at least −b'y. Who proposes y does not matter (the walk of
`vertex_walk.py`, from the numbers as given), for both conditions are checked here
without rounding. Under ridge the bound is −b'y − Σ (a_j'y)²/(4 ridge), from the optimality
conditions solved in fractions. `test_fuzz_linear.py` compares the judge itself with HiGHS.

**Outcomes.** The error of an answer is its exact cost minus the bound, as a share of the cost of
the best constant decision (of deciding 0 where there is no intercept).

=============  =====================================================================================
certified      error at most 1e-9
close          error at most 1e-6
rounding       error no larger than what the last digits of the best coefficients cost
refused        one of our own errors: numbers beyond 1e±30, or a part that is hostile
refused late   one of our own errors where all parts are ordinary (a failure)
accepted       an answer to numbers beyond 1e±30 (a failure)
wrong          none of these (a failure), nor are the next two
not finite     a coefficient is NaN or infinite (a failure)
foreign        an error or a warning that is not ours (a failure)
unsettled      the judge found no bound that decides
=============  =====================================================================================
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from fuzz import Verdict
from scipy import sparse
from vertex_walk import VertexWalk

from unmet import Band, LinearDecision, Newsvendor
from unmet.errors import InvalidInput, UnmetError
from unmet.rows import SIZES

COUNT = 20_000  # of `make fuzz`
CERTIFIED, CLOSE = Fraction(1, 10**9), Fraction(1, 10**6)
OUTCOMES = (
    "certified",
    "close",
    "rounding",
    "refused",
    "refused late",
    "accepted",
    "wrong",
    "not finite",
    "foreign",
    "unsettled",
)
FAILURES = ("refused late", "accepted", "wrong", "not finite", "foreign")
EPS = Fraction(1, 2**52)


# --- Problems.


@dataclass(frozen=True)
class Case:
    """One fit: everything that is handed to `LinearDecision`."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    underage: Any
    overage: Any
    low: Any
    high: Any
    intercept: bool
    penalty: str | None
    strength: float
    solver: str
    as_sparse: bool
    kinds: tuple[str, ...] = field(default=())

    def fit(self) -> LinearDecision:
        band = None if self.low is None else Band(low=self.low, high=self.high)
        model = LinearDecision(
            Newsvendor(underage=self.underage, overage=self.overage),
            band,
            solver=self.solver,
            penalty=self.penalty,
            strength=self.strength,
            fit_intercept=self.intercept,
        )
        X = sparse.csr_array(self.X) if self.as_sparse else self.X
        return model.fit(X, self.y, sample_weight=self.weight)

    def without_row(self, row: int) -> Case:
        def cut(value):
            return np.delete(value, row) if np.ndim(value) else value

        names = ("y", "weight", "underage", "overage", "low", "high")
        parts = {name: cut(getattr(self, name)) for name in names}
        return replace(self, X=np.delete(self.X, row, axis=0), **parts)

    def without_column(self, column: int) -> Case:
        return replace(self, X=np.delete(self.X, column, axis=1))

    def simpler(self) -> Iterator[Case]:
        """Smaller problems that may still fail: fewer rows, fewer columns, fewer parts."""
        for row in range(len(self.y)):
            if len(self.y) > 2:
                yield self.without_row(row)
        for column in range(self.X.shape[1]):
            if self.X.shape[1] > 1:
                yield self.without_column(column)
        if self.weight is not None:
            yield replace(self, weight=None)
        if self.low is not None:
            yield replace(self, low=None, high=None)
        if self.penalty is not None:
            yield replace(self, penalty=None, strength=1.0)
        if self.as_sparse:
            yield replace(self, as_sparse=False)

    def source(self) -> str:
        """Lines of Python that make the problem again, to the last bit."""
        parts = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "kinds"}
        for name, value in parts.items():
            if isinstance(value, np.ndarray):
                parts[name] = f"np.array({value.tolist()!r})"
            else:
                parts[name] = repr(value)
        return f"Case({', '.join(f'{name}={value}' for name, value in parts.items())})"


def _decades(rng, shape, low, high):
    return 10.0 ** rng.uniform(low, high, shape)


def _signs(rng, shape):
    return rng.choice([-1.0, 1.0], shape)


FEATURES = {
    "plain": lambda rng, n, p: rng.standard_normal((n, p)),
    "whole numbers": lambda rng, n, p: rng.integers(-2, 3, (n, p)).astype(float),
    "one-hot": lambda rng, n, p: np.eye(p)[rng.integers(0, p, n)],
    "collinear": lambda rng, n, p: (
        rng.integers(-3, 4, (n, max(1, p // 2))).astype(float)
        @ rng.integers(-2, 3, (max(1, p // 2), p))
    ),
    "constant columns": lambda rng, n, p: np.where(
        rng.random(p) < 0.5, 0.1 * rng.integers(0, 9, p), rng.standard_normal((n, p))
    ),
    "offset": lambda rng, n, p: rng.standard_normal((n, p)) + _decades(rng, p, 2, 5),
    "zeros": lambda rng, n, p: np.zeros((n, p)),
    "nearly collinear": lambda rng, n, p: (
        rng.standard_normal((n, 1)) + 1e-9 * rng.standard_normal((n, p))
    ),
    "far offset": lambda rng, n, p: rng.standard_normal((n, p)) + _decades(rng, p, 5, 9),
    "Cauchy": lambda rng, n, p: rng.standard_cauchy((n, p)),
    "tiny": lambda rng, n, p: rng.uniform(0.5, 2, (n, p)) * 1e-29,
    "huge": lambda rng, n, p: rng.uniform(-1, 1, (n, p)) * 1e30,
    "columns over 50 decades": lambda rng, n, p: (
        rng.uniform(0.5, 2, (n, p)) * _decades(rng, p, -25, 25)
    ),
    "entries over 10 decades": lambda rng, n, p: _signs(rng, (n, p)) * _decades(rng, (n, p), -5, 5),
}


def _on_plane(rng, X, noise):
    size = np.abs(X).max(axis=0)
    size[size == 0] = 1.0
    plane = (X / size) @ rng.integers(-3, 4, X.shape[1])
    return plane + noise * rng.standard_normal(len(X)) + 2.0


OBSERVATIONS = {
    "plain": lambda rng, X: _on_plane(rng, X, 1.0),
    "on a plane": lambda rng, X: _on_plane(rng, X, 0.0),
    "ties": lambda rng, X: rng.poisson(2.0, len(X)).astype(float),
    "equal": lambda rng, X: np.full(len(X), float(rng.choice([0.0, 3.0, 0.1, 1e-3, 1e6]))),
    "offset": lambda rng, X: _on_plane(rng, X, 1.0) + float(_decades(rng, (), 3, 7)),
    "tiny": lambda rng, X: _on_plane(rng, X, 1.0) * 1e-29,
    "huge": lambda rng, X: rng.uniform(-1, 1, len(X)) * 1e30,
    "over 20 decades": lambda rng, X: _signs(rng, len(X)) * _decades(rng, len(X), -10, 10),
    "one giant": lambda rng, X: np.where(
        np.arange(len(X)) == 0, float(_decades(rng, (), 8, 25)), _on_plane(rng, X, 1.0)
    ),
}
WEIGHTS = {
    "none": lambda rng, n: None,
    "plain": lambda rng, n: rng.exponential(1.0, n) + 1e-3,
    "zeros": lambda rng, n: rng.exponential(1.0, n) * (rng.random(n) < 0.6),
    "over 12 decades": lambda rng, n: _decades(rng, n, -6, 6),
    "over 50 decades": lambda rng, n: _decades(rng, n, -25, 25),
    "tiny": lambda rng, n: rng.uniform(0.5, 2, n) * 1e-29,
    "huge": lambda rng, n: rng.uniform(0, 1, n) * 1e30,
    "one heavy": lambda rng, n: np.where(np.arange(n) == n // 2, 1.0, _decades(rng, (), -30, -5)),
}


def _level(rng):
    alpha = float(rng.choice([0.001, 0.01, 0.3, 0.55, 0.8, 0.95, 0.999]))
    return alpha, 1 - alpha


def _extreme_level(rng):
    alpha = float(rng.choice([1e-6, 1 - 1e-9]))
    return alpha, 1 - alpha


COSTS = {
    "level": lambda rng, n: _level(rng),
    "by row": lambda rng, n: (rng.uniform(1, 9, n), rng.uniform(0.5, 2, n)),
    "over 12 decades": lambda rng, n: (_decades(rng, n, -6, 6), _decades(rng, n, -6, 6)),
    "over 50 decades": lambda rng, n: (_decades(rng, n, -25, 25), _decades(rng, n, -25, 25)),
    "extreme level": lambda rng, n: _extreme_level(rng),
    "tiny": lambda rng, n: (1e-29, 3e-29),
    "huge": lambda rng, n: (1e30, 2e29),
    "1e-15 against 1e15": lambda rng, n: (1e-15, 1e15),
}


def _spread(y):
    return float(np.ptp(y)) or 1.0


BANDS = {
    "none": lambda rng, y: (None, None),
    "narrow": lambda rng, y: (0.05 * _spread(y), 0.2 * _spread(y)),
    "by row": lambda rng, y: (lambda low: (low, low + rng.uniform(0, 0.3, y.size) * _spread(y)))(
        rng.uniform(0, 0.1, y.size) * _spread(y)
    ),
    "no width": lambda rng, y: (0.1 * _spread(y), 0.1 * _spread(y)),
    "holds everything": lambda rng, y: (0.0, min(3 * _spread(y), 1e30)),
    "ends 1e-20 and 1e20": lambda rng, y: (1e-20, 1e20),
    "over 20 decades": lambda rng, y: (lambda low: (low, low * rng.uniform(1, 9, y.size)))(
        _decades(rng, y.size, -10, 10)
    ),
}
ORDINARY = {
    "features": 6,
    "observation": 5,
    "weight": 3,
    "cost": 2,
    "band": 5,
}  # how many of the first kinds of each part are not hostile
BEYOND = 0.03  # share of problems of which one part is beyond the promised sizes


def _kind(rng, part, table, hostile):
    names = list(table)
    if rng.random() < hostile:
        return names[int(rng.integers(ORDINARY[part], len(names)))]
    return names[int(rng.integers(0, ORDINARY[part]))]


def plain(kinds: Sequence[str]) -> bool:
    """Whether no part is hostile."""
    tables = (FEATURES, OBSERVATIONS, WEIGHTS, COSTS, BANDS)
    parts = zip(kinds, tables, ORDINARY.values(), strict=False)
    ordinary = all(kind in list(table)[:count] for kind, table, count in parts)
    return ordinary and tuple(kinds[5:]) in ((), ("l1",), ("l2",))


def generate(seed: int) -> Case:
    """Make the problem of a seed; the seed fixes everything."""
    rng = np.random.default_rng([22, seed])
    n = int(rng.integers(2, 17))
    p = int(rng.integers(1, 7))
    if rng.random() < 0.15:
        p = int(n + rng.integers(0, 8))
    if rng.random() < 0.05:
        n, p = int(rng.integers(40, 400)), int(rng.integers(1, 5))
    hostile = float(rng.choice([0.1, 0.3, 0.6]))
    kinds = []

    def drawn(part, table):
        kinds.append(_kind(rng, part, table, hostile))
        return table[kinds[-1]]

    X = np.ascontiguousarray(drawn("features", FEATURES)(rng, n, p))
    y = drawn("observation", OBSERVATIONS)(rng, X)
    weight = drawn("weight", WEIGHTS)(rng, n)
    underage, overage = drawn("cost", COSTS)(rng, n)
    low, high = drawn("band", BANDS)(rng, y)
    penalty, strength = None, 1.0
    if rng.random() < 0.2:
        penalty = str(rng.choice(["l1", "l2"]))
        wild = rng.random() < hostile
        strength = float(_decades(rng, (), *((-25, 25) if wild else (-3, 1))))
        kinds.append(f"{penalty}, wild" if wild else penalty)
    if rng.random() < BEYOND:
        kinds.append("beyond")
        unit = float(10.0 ** (rng.choice([-1, 1]) * rng.uniform(62, 250)))
        part = rng.integers(4)
        X, y = X * unit if part == 0 and X.any() else X, y * unit if part == 1 else y
        weight = np.full(n, unit) if part == 2 else weight
        if part == 3 or not (part or X.any()) or (part == 1 and not y.any()):
            underage = unit
    # HiGHS has tolerances of its own, and solves no ridge
    solver = "highs" if penalty != "l2" and plain(kinds) and rng.random() < 0.2 else "exact"
    return Case(
        X,
        y,
        weight,
        underage,
        overage,
        low,
        high,
        bool(rng.random() < 0.75),
        penalty,
        strength,
        solver,
        bool(rng.random() < 0.08),
        tuple(kinds),
    )


# --- The problem in fractions.


@dataclass(frozen=True)
class Exact:
    """Kinks (row a, position b, slopes below and above) and ridge, as fractions."""

    rows: list[list[Fraction]]
    position: list[Fraction]
    below: list[Fraction]
    above: list[Fraction]
    ridge: Fraction
    constant: Fraction  # cost of the best constant

    @classmethod
    def of(cls, case: Case) -> Exact:
        n, p = case.X.shape
        weight = [Fraction(1)] * n if case.weight is None else _fractions(case.weight)
        under, over, low, high = (
            _fractions(np.broadcast_to(0.0 if value is None else value, n))
            for value in (case.underage, case.overage, case.low, case.high)
        )
        seen = _fractions(case.y)
        total = sum(weight)
        features = [_fractions(row) for row in case.X]
        zero = Fraction(0)
        rows, position, below, above = [], [], [], []
        for i in range(n):
            if not weight[i]:
                continue
            row = features[i] + [Fraction(1)] * case.intercept
            kinks = [
                (seen[i] + low[i], weight[i] * under[i], zero),
                (seen[i] + high[i], zero, weight[i] * over[i]),
            ]
            if low[i] == high[i]:
                kinks = [(seen[i] + low[i], weight[i] * under[i], weight[i] * over[i])]
            for b, low_slope, high_slope in kinks:
                rows.append(row)
                position.append(b)
                below.append(low_slope)
                above.append(high_slope)
        strength = Fraction(case.strength) * total
        data = len(rows)
        best = [zero]
        if case.intercept:  # the cost of constants is convex: walk down to where its slope turns
            order = sorted(range(data), key=position.__getitem__)
            slope = -sum(below)
            for k in order:
                slope += below[k] + above[k]
                if slope >= 0:
                    best = [position[k]]
                    break
        constant = sum(
            _hinge(best[0] - b, *slopes) for b, *slopes in zip(position, below, above, strict=True)
        )
        if case.penalty == "l1":
            for j in range(p):
                rows.append([Fraction(int(j == k)) for k in range(p)] + [zero] * case.intercept)
                position.append(zero)
                below.append(strength)
                above.append(strength)
        ridge = strength if case.penalty == "l2" else zero
        return cls(rows, position, below, above, ridge, constant)

    @property
    def kinks(self):
        return self.rows, self.position, self.below, self.above

    def cost(self, theta: Sequence[Fraction], width: int) -> Fraction:
        """Exact objective; the first `width` parameters are under ridge."""
        total = self.ridge * sum(t * t for t in theta[:width])
        for row, b, *slopes in zip(*self.kinks, strict=True):
            total += _hinge(_dot(row, theta) - b, *slopes)
        return total

    def rounding(self, theta: Sequence[Fraction]) -> Fraction:
        """What it costs to miss each decision by the last digits of its terms."""
        total = Fraction(0)
        for row, b, *slopes in zip(*self.kinks, strict=True):
            terms = [a * t for a, t in zip(row, theta, strict=True) if a and t]
            residual = sum(terms) - b
            miss = 4 * EPS * (sum(map(abs, terms)) + abs(residual)) + Fraction(5e-324)
            here = _hinge(residual, *slopes)
            total += max(_hinge(residual + miss, *slopes), _hinge(residual - miss, *slopes)) - here
        return total


def _fractions(values) -> list[Fraction]:
    return [Fraction(float(value)) for value in values]


def _dot(row, theta):
    return sum((a * t for a, t in zip(row, theta, strict=True) if a and t), Fraction(0))


def _hinge(residual, below, above):
    return above * residual if residual > 0 else -below * residual


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


@dataclass(frozen=True)
class Bound:
    """A cost that no parameters go below, and parameters that (nearly) reach it."""

    least: Fraction
    theta: list[Fraction]


def least_cost(exact: Exact, guess: Sequence[Fraction]) -> Bound | None:
    """Lower bound of the cost without ridge; None if no multipliers are found that prove one.

    Who proposes the multipliers does not matter, as they are checked here.
    """
    walk = VertexWalk(
        exact.rows, list(range(len(exact.rows))), exact.position, exact.below, exact.above
    )
    vertex = walk.run(guess)
    if vertex is None:
        return None
    y = vertex.multipliers
    boxes = zip(y, exact.below, exact.above, strict=True)
    assert all(-below <= each <= above for each, below, above in boxes)
    for j in range(len(exact.rows[0])):
        assert _dot([row[j] for row in exact.rows], y) == 0
    theta = vertex.parameters([exact.position[k] for k in vertex.basis])
    return Bound(-_dot(y, exact.position), theta)


def least_with_ridge(exact: Exact, guess: Sequence[Fraction], width: int) -> Bound | None:
    """Lower bound with ridge: solve the optimality conditions for kinks that hold decisions fast.

    Kinks at which the guess stands are open at first. One whose multiplier leaves its box becomes a
    line, one that is passed is opened, until nothing changes; any multipliers inside their boxes
    that sum to zero (with an intercept) prove a bound.
    """
    m, free = len(exact.rows), len(exact.rows[0]) > width
    if not exact.constant:  # one decision costs nothing, and nothing costs less
        return Bound(Fraction(0), [Fraction(0)] * width + [exact.position[0]] * free)
    residual = [_dot(exact.rows[k], guess) - exact.position[k] for k in range(m)]
    sizes = sorted(range(m), key=lambda k: abs(residual[k]))
    jumps = sorted(
        range(min(m, width + 2)),
        key=lambda s: -_ratio(residual[sizes[s]], residual[sizes[s - 1]] if s else None),
    )
    best: Bound | None = None
    for start in jumps[:3]:
        opened = set(sizes[:start]) or ({sizes[0]} if free else set())
        sides = [r > 0 for r in residual]
        for _ in range(25):
            if len(opened) > 2 * width + 4:  # ties by the dozen: another start may have fewer
                break
            found = _conditions(exact, width, sorted(opened), sides)
            if found is None:
                break
            theta, y = found
            if all(-exact.below[k] <= y[k] <= exact.above[k] for k in range(m)):
                moments = [_dot([row[j] for row in exact.rows], y) for j in range(width)]
                least = -_dot(y, exact.position) - sum(v * v for v in moments) / (4 * exact.ridge)
                if best is None or least > best.least:
                    best = Bound(least, theta)
            now = [_dot(exact.rows[k], theta) - exact.position[k] for k in range(m)]
            changed = False
            for k in range(m):
                if k in opened and not -exact.below[k] <= y[k] <= exact.above[k]:
                    if free and len(opened) == 1:
                        continue
                    opened.discard(k)
                    sides[k] = y[k] > 0
                    changed = True
                elif k not in opened and now[k] and sides[k] != (now[k] > 0):
                    opened.add(k)
                    changed = True
            if not changed:
                break
    return best


def _ratio(larger: Fraction, smaller: Fraction | None) -> float:
    if smaller is None:
        return 1.0
    return np.inf if not smaller else _float(abs(larger / smaller))


def _conditions(
    exact: Exact, width: int, opened: list[int], sides: list[bool]
) -> tuple[list[Fraction], list[Fraction]] | None:
    """Parameters and multipliers with the decisions of open kinks at their positions."""
    m, free, zero = len(exact.rows), len(exact.rows[0]) > width, Fraction(0)
    y = [exact.above[k] if sides[k] else -exact.below[k] for k in range(m)]
    for k in opened:
        y[k] = zero
    lines = [_dot([row[j] for row in exact.rows], y) for j in range(width)]
    double = 2 * exact.ridge
    # unknown: multipliers of the open kinks, then the intercept
    system = []
    for k in opened:
        row = exact.rows[k]
        entries = [-_dot(row[:width], exact.rows[other][:width]) / double for other in opened]
        right = exact.position[k] + _dot(row[:width], lines) / double
        system.append(entries + [Fraction(1)] * free + [right])
    if free:
        system.append([Fraction(1)] * len(opened) + [zero, -sum(y)])
    found = _solve(system)
    if found is None:
        return None
    for place, k in enumerate(opened):
        y[k] = found[place]
    moments = [_dot([row[j] for row in exact.rows], y) for j in range(width)]
    return [-v / double for v in moments] + found[len(opened) :], y


def _solve(system: list[list[Fraction]]) -> list[Fraction] | None:
    """Solve a square system; dependent unknowns are zero, None where it has no solution."""
    size, used, at = len(system), [], 0
    for c in range(size):
        best = max(range(at, size), key=lambda r: abs(system[r][c]), default=None)
        if best is None or not system[best][c]:
            continue
        system[at], system[best] = system[best], system[at]
        pivot = system[at][c]
        system[at] = [a / pivot for a in system[at]]
        for r in range(size):
            if r != at and system[r][c]:
                factor = system[r][c]
                system[r] = [a - factor * b for a, b in zip(system[r], system[at], strict=True)]
        used.append(c)
        at += 1
    if any(row[-1] for row in system[at:]):
        return None
    found = [Fraction(0)] * size
    for place, c in enumerate(used):
        found[c] = system[place][-1]
    return found


# --- The judge.


def evaluate(case: Case) -> Verdict:
    """Fit, and price the answer exactly."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = case.fit()
    except UnmetError as error:
        late = ordinary(case) or (not beyond(case) and isinstance(error, InvalidInput))
        return Verdict("refused late" if late else "refused", str(error))
    except Exception as error:
        return Verdict("foreign", f"{type(error).__name__}: {error}")
    if beyond(case):
        return Verdict("accepted", "numbers beyond the promised sizes")
    width = case.X.shape[1]
    parameters = [*model.coef_.tolist(), *([float(model.intercept_)] if case.intercept else [])]
    if not np.isfinite(parameters).all() or not np.isfinite(model.solution_.objective):
        return Verdict("not finite", f"coefficients {parameters}")
    exact = Exact.of(case)
    theta = [Fraction(value) for value in parameters]
    cost = exact.cost(theta, width)
    bound = least_with_ridge(exact, theta, width) if exact.ridge else least_cost(exact, theta)
    if bound is None:
        return Verdict("unsettled", "no bound")
    error = cost - bound.least
    share = _float(error / exact.constant) if exact.constant else (np.inf if error else 0.0)
    told = f"error {share:.1e} of the cost of a constant"
    if error <= CERTIFIED * exact.constant:
        return Verdict("certified", told)
    if error <= CLOSE * exact.constant:
        return Verdict("close", told)
    if error <= exact.rounding(bound.theta):
        return Verdict("rounding", told)
    if exact.ridge and exact.cost(bound.theta, width) - bound.least > CERTIFIED * exact.constant:
        return Verdict("unsettled", told)
    return Verdict("wrong", told)


def beyond(case: Case) -> bool:
    """Whether the largest number of some kind is not between 1e-30 and 1e30, nor zero.

    And whether fewer than two rows have weight, which is refused as well.
    """
    shown = [*case.X.T, case.y, case.underage, case.overage]
    shown += [case.weight] if case.weight is not None else []
    shown += [] if case.low is None else [np.append(case.low, case.high)]
    shown += [] if case.penalty is None else [case.strength]
    sizes = np.array([np.abs(each).max() for each in shown])
    if case.weight is not None and np.count_nonzero(case.weight) < 2:
        return True
    return bool(((sizes > 0) & ((sizes < SIZES[0]) | (sizes > SIZES[1]))).any())


def ordinary(case: Case) -> bool:
    """Whether no part is hostile, so that the fit must not be refused."""
    if beyond(case) or not case.kinds:
        return False
    return plain(case.kinds) and case.solver == "exact"
