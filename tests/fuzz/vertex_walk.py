"""The best vertex of a sum of hinges, in fractions: who proposes multipliers to the judge.

The simplex method of Barrodale and Roberts (1973): a vertex is where as many kinks as there are
parameters hold their decisions; with y the slopes of all other rows, A'y = 0 gives the multipliers
of these kinks, and one outside its box [−below, above] shows which kink to leave, and in which
direction. The walk goes on past kinks until the slope turns. Kinks are moved apart by
infinitesimals, or ties would let it cycle. The multipliers prove −b'y as a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

STEPS = 500
_PRIME = 2**61 - 1


@dataclass
class VertexWalk:
    """A problem of hinges in fractions: rows of the features, and kinks that refer to them.

    Attributes
    ----------
    rows : list of list of Fraction
        Rows a of the parameters: features and intercept, then one unit row per ℓ1 penalty.
    row_of : list of int
        Row of each kink.
    position, below, above : list of Fraction
        Of each kink.
    """

    rows: list[list[Fraction]]
    row_of: list[int]
    position: list[Fraction]
    below: list[Fraction]
    above: list[Fraction]

    def run(self, guess: Sequence[Fraction]) -> Vertex | None:
        """Walk to the best vertex, beginning near a guess; None where that takes too long.

        All arithmetic is in whole numbers. T = N / D expresses each row by those of the basis,
        a_r = Σ_i T_ri a_basis(i); unit rows at its end give the parameters. The entries of N and
        D are minors of the rows, so that the division in a change of basis leaves no rest
        (Edmonds, Bareiss), and nothing needs to be shortened. The basis begins as the parameters
        themselves, which the nearest kinks replace.
        """
        width, count = len(self.rows[0]), len(self.row_of)
        column = [_denominator(row[j] for row in self.rows) for j in range(width)]
        N = [[int(a * c) for a, c in zip(row, column, strict=True)] for row in self.rows]
        N += [[int(i == j) for i in range(width)] for j in range(width)]
        unit, price = _denominator(self.position), _denominator([*self.below, *self.above])
        b = [int(each * unit) for each in self.position]
        below, above = ([int(each * price) for each in side] for side in (self.below, self.above))
        # What moves kinks apart is infinitesimal: it decides only where two are in the same place.
        # Powers, since features may be whole numbers: sums of multiples of k would tie again.
        hair = [pow(3, 7 * k + 1, _PRIME) for k in range(count)]
        basis, D = [-1] * width, 1
        decision = [_dot(row, guess) for row in self.rows]
        far = [abs(decision[r] - b) for r, b in zip(self.row_of, self.position, strict=True)]
        for k in sorted(range(count), key=far.__getitem__):
            row = N[self.row_of[k]]
            free = [i for i in range(width) if basis[i] < 0 and row[i]]
            if free:
                i = max(free, key=lambda i: abs(row[i]))
                N, D = _exchanged(N, D, self.row_of[k], i)
                basis[i] = k
        used = [i for i in range(width) if basis[i] >= 0]
        for _ in range(STEPS):
            inside = {basis[i] for i in used}
            residual = []  # of each kink, times D, and what the infinitesimals add to it
            at, moved = ({i: each[basis[i]] for i in used} for each in (b, hair))
            for k, r in enumerate(self.row_of):
                row = N[r]
                first = sum(row[i] * at[i] for i in used) - D * b[k]
                residual.append((first, sum(row[i] * moved[i] for i in used) - D * hair[k]))
            over = [each > (0, 0) for each in residual]
            load = [0] * len(self.rows)  # slopes of all kinks outside the basis, by row
            for k, r in enumerate(self.row_of):
                if k not in inside:
                    load[r] += above[k] if over[k] else -below[k]
            pull = {i: -sum(y * N[r][i] for r, y in enumerate(load) if y) for i in used}
            worst, leaving, sign = 0, -1, 1
            for i in used:
                k = basis[i]
                for beyond, way in ((pull[i] - above[k] * D, 1), (-below[k] * D - pull[i], -1)):
                    if beyond > worst:
                        worst, leaving, sign = beyond, i, way
            if leaving < 0:
                y = [
                    Fraction(0) if k in inside else self.above[k] if over[k] else -self.below[k]
                    for k in range(count)
                ]
                for i in used:
                    y[basis[i]] = Fraction(pull[i], D * price)
                tail = zip(N[len(self.rows) :], column, strict=True)
                inverse = [[Fraction(row[i], D) * c for i in used] for row, c in tail]
                return Vertex([basis[i] for i in used], inverse, y)
            # Past kinks, until the cost stops falling: costs are not negative, so it does.
            steps = []
            for k, r in enumerate(self.row_of):
                rate = sign * N[r][leaving]
                first, second = residual[k]
                if rate and k not in inside and over[k] != (rate > 0):
                    steps.append((Fraction(-first, rate), Fraction(-second, rate), k))
            slope, entering = -worst, -1
            for _, _, entering in sorted(steps):
                slope += abs(N[self.row_of[entering]][leaving]) * (
                    below[entering] + above[entering]
                )
                if slope >= 0:
                    break
            N, D = _exchanged(N, D, self.row_of[entering], leaving)
            basis[leaving] = entering
        return None


@dataclass(frozen=True)
class Vertex:
    """Where a walk ended.

    Attributes
    ----------
    basis : list of int
        Kinks whose decisions are at their positions.
    inverse : list of list of Fraction
        From the positions of these kinks to the parameters.
    multipliers : list of Fraction
        One per kink, each in its box, with A'y = 0.
    """

    basis: list[int]
    inverse: list[list[Fraction]]
    multipliers: list[Fraction]

    def parameters(self, at: Sequence[Fraction]) -> list[Fraction]:
        """Parameters with the decisions of the basis at these values."""
        return [_dot(row, at) for row in self.inverse]


def _exchanged(N: list[list[int]], D: int, row: int, leaving: int) -> tuple[list[list[int]], int]:
    """Let a row into the basis, in the place of another."""
    new = N[row]
    pivot = new[leaving]
    if pivot < 0:  # the denominator stays positive
        pivot, new = -pivot, [-each for each in new]
    result = []
    for old in N:
        factor = old[leaving]
        if factor:
            entries = [(a * pivot - factor * b) // D for a, b in zip(old, new, strict=True)]
        else:
            entries = [a * pivot // D for a in old]
        entries[leaving] = factor if N[row][leaving] > 0 else -factor
        result.append(entries)
    return result, pivot


def _denominator(values: Iterable[Fraction]) -> Fraction:
    """Power of two that makes all values whole numbers, as small as it can be."""
    lowest = min(
        (
            (each.numerator & -each.numerator).bit_length() - each.denominator.bit_length()
            for each in values
            if each
        ),
        default=0,
    )
    return Fraction(2) ** -lowest


def _dot(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True) if a and b), Fraction(0))
