"""Find the rule that orders followed from the pile-up of observations at its value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import exp, isnan, log, sqrt
from numbers import Real
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from unmet.arrays import Array
from unmet.bands.fingerprint.evidence import Setting
from unmet.bands.fingerprint.lots import Rounding, read_lattice
from unmet.bands.fingerprint.panel import Places, read_panel
from unmet.bands.fingerprint.rules import HistoryRule, read_rules
from unmet.bands.fingerprint.search import Flags, Search, Trial, followers
from unmet.errors import InvalidInput

# --- What an order fingerprint says, in one line.


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


# --- Find the rule that orders followed from the pile-up of observations at its value.

Scope: TypeAlias = Literal["auto", "common", "each"]


class OrderFingerprint(BaseEstimator):
    """The order rule behind a series of sales, found from the sales alone.

    Planners order by rules on past sales: the mean of the last four Mondays times a safety factor,
    say, rounded up to a lot. Wherever demand reaches the order, sales are exactly the rule's value,
    and never above it. Each rule is computed from the series' own past; the factor at which most
    observations are exactly at the order is found by an exact scan; and the rule is accepted if the
    observations have the shape that orders leave (`exceptions`) and are at the order more often
    than both smooth demand and exchangeable orders allow, after Bonferroni's correction for
    everything that was looked at (`level`). Every row with an order then gets a flag.

    Parameters
    ----------
    rules : "auto" or list of HistoryRule or str, default="auto"
        Rules to try. "auto": mean and maximum of the last 1 to 8 same weekdays and of the last 1,
        7, 14 and 28 days, and exponential smoothing by 0.1, 0.2, 0.3 and 0.5 of both.
    lots : "auto" or list of float, default="auto"
        Lots to try; 0 is no rounding. "auto": the unit in which the observations count, and lots of
        which there are more multiples among them than there should be.
    level : float, default=0.001
        Largest corrected p-value at which a rule is accepted.
    exceptions : float, default=0.4
        Largest share of the rows that reached the order which may lie above it, because someone
        ordered more that day.
    scope : {"auto", "common", "each"}, default="auto"
        One rule for all series, one for each, or first one for all and then one for each of those
        that do not follow it.
    random_state : int, RandomState or None, default=None
        Chooses 40,000 rows for a first look when there are more.

    Attributes
    ----------
    accepted_ : bool
        Whether any rule was accepted.
    rule_ : Fingerprint or None
        The accepted rule; of several, the one with most rows at its orders.
    rules_ : dict
        The accepted rule of each series, or None, by its label.
    candidates_ : list of Fingerprint
        Everything that was tried on all series together, best first, then the best of each series
        that was looked at alone.
    order_ : ndarray of shape (n_rows,)
        Order of each row by the accepted rule of its series; NaN where there is none or the past is
        too short.
    censored_ : ndarray of shape (n_rows,)
        1 where the row sold out, 0 where demand was seen, NaN where it is not known: no accepted
        rule, too little history, nothing ordered, or an observation above the order.
    n_tests_ : int
        How many combinations of rule, lot and factor were compared.

    Notes
    -----
    Demand is taken to spread at least like counts of independent customers (Poisson). A demand
    that hardly varies cannot be told from orders and is left alone; nor can one be found whose
    orders followed unseen demand, or change only every few months. A row at its order may be one
    whose demand happened to equal it.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.bands.fingerprint.fingerprint import OrderFingerprint
    >>> demand = np.random.default_rng(0).poisson(40, 364)
    >>> sales = demand.copy()
    >>> for day in range(28, 364):
    ...     sales[day] = min(demand[day], np.ceil(1.1 * sales[day - 28 : day : 7].mean()))
    >>> finding = OrderFingerprint().fit(sales, time=np.arange(364))
    >>> finding.rule_.formula
    '1.1 × mean of the last 4 same weekdays, rounded up to a multiple of 1'
    >>> bool((demand >= sales)[finding.censored_ == 1].all())
    True
    >>> OrderFingerprint().fit(demand, time=np.arange(364)).accepted_
    False
    """

    accepted_: bool
    rule_: Fingerprint | None
    rules_: dict[Any, Fingerprint | None]
    candidates_: list[Fingerprint]
    order_: Array
    censored_: Array
    n_tests_: int

    def __init__(
        self,
        rules: Literal["auto"] | Iterable[HistoryRule | str] = "auto",
        lots: Literal["auto"] | Iterable[float] = "auto",
        *,
        level: float = 0.001,
        exceptions: float = 0.4,
        scope: Scope = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.rules = rules
        self.lots = lots
        self.level = level
        self.exceptions = exceptions
        self.scope = scope
        self.random_state = random_state

    def fit(
        self,
        s: Any,
        time: Any,
        series: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Look for the rule.

        Parameters
        ----------
        s : array-like of shape (n_rows,)
            Observations, not negative, in any order of rows.
        time : array-like of shape (n_rows,)
            Dates, or whole numbers that count days; each at most once in a series.
        series : array-like of shape (n_rows,), optional
            Label of the series of each row, e.g. store and product in one; None is a single one.
        sample_weight : array-like of shape (n_rows,), optional
            Rows of weight 0 are history but no evidence; other weights make no difference.

        Returns
        -------
        OrderFingerprint
            Itself.
        """
        exceptions = _share("exceptions", self.exceptions)
        level = _share("level", self.level)
        if not level:
            raise InvalidInput("level must be above 0, got 0: no evidence is that strong.")
        if self.scope not in ("auto", "common", "each"):
            raise InvalidInput(f'scope must be "auto", "common" or "each", got {self.scope!r:.40}.')
        rules = read_rules(self.rules)
        panel = read_panel(s, time, series, sample_weight)
        lattice = read_lattice(self.lots, panel.s[panel.counts])
        setting = Setting(panel, panel.local_level(), lattice.unit, exceptions)
        generator = check_random_state(self.random_state)
        search = Search(setting, rules, lattice.steps, generator)
        return self._find(search, level)

    def __getstate__(self) -> dict[str, Any]:
        """Turn the rules into pairs: not every format has keys of any type."""
        state: dict[str, Any] = {**super().__getstate__()}
        if "rules_" in state:
            state["rules_"] = list(self.rules_.items())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        rules = {"rules_": dict(state["rules_"])} if "rules_" in state else {}
        super().__setstate__({**state, **rules})

    def _find(self, search: Search, level: float) -> Self:
        """One rule for all series, then one for each of the others, as the scope says."""
        panel = search.setting.panel
        flags = Flags.unknown(search.setting)
        several = len(panel.labels) > 1
        self.candidates_, self.rules_ = [], dict.fromkeys(panel.labels)
        searches = 2 if several and self.scope == "auto" else 1
        rest = np.arange(len(panel.labels))
        if self.scope != "each" or not several:
            rest = self._common(search, level, searches, flags, rest)
        if several and self.scope != "common" and rest.size:
            self._each(search, level, searches, flags, rest)
        accepted = [found for found in self.rules_.values() if found is not None]
        self.accepted_ = bool(accepted)
        self.rule_ = max(accepted, key=lambda found: found.n_at, default=None)
        self.order_ = panel.as_given(flags.order)
        self.censored_ = panel.as_given(flags.censored)
        self.n_tests_ = search.looked_at
        return self

    def _common(
        self, search: Search, level: float, searches: int, flags: Flags, rest: Places
    ) -> Places:
        """Try one rule for all rows; return the series that do not follow it."""
        trials = search.together()
        self.candidates_ = [
            Fingerprint.of(trial, 0, searches * search.looked_at, level) for trial in trials
        ]
        best = self.candidates_[0]
        if not best.accepted:
            return rest
        follow = followers(search.setting, trials[0]) if rest.size > 1 else np.ones(1, dtype=bool)
        flags.mark(trials[0], np.where(follow, trials[0].factor[0], np.nan))
        for place in rest[follow]:
            self.rules_[search.setting.panel.labels[place]] = best
        return rest[~follow]

    def _each(
        self, search: Search, level: float, searches: int, flags: Flags, rest: Places
    ) -> None:
        """Try a rule of its own for each of some series."""
        labels = search.setting.panel.labels
        factors: dict[Trial, Array] = {}  # series that share a trial are marked at once
        for place, (code, trial) in enumerate(zip(rest, search.apart(rest), strict=True)):
            tests = searches * search.looked_at
            found = Fingerprint.of(trial, place, tests, level, labels[code])
            self.candidates_.append(found)
            if found.accepted:
                self.rules_[labels[code]] = found
                factor = factors.setdefault(trial, np.full(len(labels), np.nan))
                factor[code] = trial.factor[place]
        for trial, factor in factors.items():
            flags.mark(trial, factor)


def _share(name: str, value: Any) -> float:
    """Read a number from 0 up to, but not including, 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < 1:
        raise InvalidInput(f"{name} must be a number from 0 to below 1, got {value!r:.40}.")
    return float(value)
