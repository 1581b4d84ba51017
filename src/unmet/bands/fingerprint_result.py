"""What an order fingerprint says, in one line."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import exp, isnan, log, sqrt
from typing import Any

from unmet.bands.fingerprint_lots import Rounding
from unmet.bands.fingerprint_search import Trial


@dataclass(frozen=True, repr=False)
class Fingerprint:
    """One candidate order rule and what speaks for it.

    Attributes
    ----------
    rule : str
        What the planner computes from the past, in words.
    factor : float
        Safety factor; NaN where no factor that was looked at puts an observation at its order.
    lot : float or None
        Orders are multiples of it; None where they are not rounded.
    rounding : {"up", "nearest", "down", "none"}
    sold_out : float
        Share of the rows with an order whose observation is exactly at it.
    n_rows, n_at, n_above : int
        Rows with an order, rows at it, rows above it.
    binding : float
        Of the rows that reached the order, beyond those that would be at it by chance, the share
        that it bound. 1: nothing was ever observed above it.
    z : float
        Strength of the evidence on the scale of a standard normal variable; 0 where already the
        shape of the observations speaks against the rule.
    p_value, p_corrected : float
        Bound on the chance of such a pile-up without the rule; the same after all factors, rules
        and lots that were tried.
    accepted : bool
    series : object
        Label of the series it is about; None where it is about all of them.
    """

    rule: str
    factor: float
    lot: float | None
    rounding: Rounding
    sold_out: float
    n_rows: int
    n_at: int
    n_above: int
    binding: float
    z: float
    p_value: float
    p_corrected: float
    accepted: bool
    series: Any = None

    @classmethod
    def of(
        cls, trial: Trial, place: int, tests: int, level: float, series: Any = None
    ) -> Fingerprint:
        """Read what a trial found in one group, after so many tests.

        Parameters
        ----------
        trial : Trial
        place : int
            Which of its groups.
        tests : int
            Bonferroni's factor.
        level : float
            Largest corrected p-value that is accepted.
        series : object
            Label.
        """
        found = trial.evidence
        n_rows, n_at = int(found.n_rows[place]), int(found.n_at[place])
        log_p = min(float(found.log_p[place]), 0.0)
        corrected = min(log_p + log(max(tests, 1)), 0.0)
        return cls(
            rule=trial.rule.name,
            factor=float(trial.factor[place]),
            lot=trial.step.lot or None,
            rounding=trial.step.rounding,
            sold_out=n_at / max(n_rows, 1),
            n_rows=n_rows,
            n_at=n_at,
            n_above=int(found.n_above[place]),
            binding=float(found.binding[place]),
            z=sqrt(2 * abs(log_p)),
            p_value=exp(log_p),
            p_corrected=exp(corrected),
            accepted=bool(found.fits[place]) and corrected <= log(level),
            series=series,
        )

    @property
    def formula(self) -> str:
        """The order in words: factor × rule, rounded."""
        plain = self.factor == 1 or isnan(self.factor)
        asked = self.rule if plain else f"{self.factor:g} × {self.rule}"
        if self.lot is None:
            return asked
        if self.rounding == "nearest":
            return f"{asked}, rounded to the nearest multiple of {self.lot:g}"
        return f"{asked}, rounded {self.rounding} to a multiple of {self.lot:g}"

    def __str__(self) -> str:
        where = "" if self.series is None else f" in series {self.series}"
        verdict = "accepted" if self.accepted else "not accepted"
        return (
            f"order = {self.formula}{where}: {verdict}, sold out in {self.sold_out:.1%} of "
            f"{self.n_rows} rows, {self.n_above} above it, z = {self.z:.1f}, "
            f"p = {self.p_corrected:.1g} after correction"
        )

    def __repr__(self) -> str:
        return f"<Fingerprint: {self}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, for JSON; a factor that was not found is None."""
        return asdict(self) | {"factor": None if isnan(self.factor) else self.factor}
