"""Which model decides: candidates on time held out, by what they cost where truths are seen.

A linear model through shifted observations and the distribution itself are two uses of the same
latent model, which is learned once for both. They are compared on the last quarter of each series,
or on rows drawn at random where there are no dates, by `unmet.evaluation.censored_cost`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unmet.arrays import Array
from unmet.censoring.text import number
from unmet.costs import Cost
from unmet.errors import InvalidInput, MissingPackage
from unmet.evaluation import censored_cost
from unmet.evaluation.censored import CensoredCost
from unmet.evaluation.splits import read_times
from unmet.planning.problem_estimators import AUTO, MODELS, by_rule, make_band, make_model
from unmet.rows import Rows

if TYPE_CHECKING:
    from unmet.planning.decision_plan import DecisionPlan
    from unmet.tables.reading import TableRows

HELD_OUT = 0.25
"""Share of the rows that candidates are compared on. More is a surer choice between models that
have learned from less; the one that is chosen then learns from all."""
MIN_HELD_OUT = 20
"""Rows held out that must be known enough to count: fewer say nothing."""
MOSTLY_KNOWN = 0.5
"""Share of the rows of which flags or stock must say something."""
_SAME = 1e-9  # of a cost: what is closer was decided alike
_MIN_GROUPS = 10  # series that are few give no standard error: rows are then taken for such


@dataclass(frozen=True)
class ModelChoice:
    """Which model was chosen, by how much, and why.

    Attributes
    ----------
    model : str
        Short name, as in `DecisionPlan`.
    why : str
        One sentence.
    scored : bool
        Whether rows held out had a say.
    cost : dict from str to float
        Mean cost of each candidate on rows held out, less what is the same for all; empty where
        there was nothing to compare by.
    behind : float or None
        How much more per row the best of the others costs, or less where that was within the error.
    standard_error : float or None
        Of `behind`.
    n_rows : int
        Rows held out that counted.
    """

    model: str
    why: str
    scored: bool = False
    cost: dict[str, float] = field(default_factory=dict)
    behind: float | None = None
    standard_error: float | None = None
    n_rows: int = 0

    @property
    def plain(self) -> str:
        """The same without a word of statistics."""
        if not self.scored or self.behind is None:
            return self.why
        rival = min((name for name in self.cost if name != self.model), key=self.cost.__getitem__)
        start = f"Orders follow {LABELS[self.model]}"
        if abs(self.behind) <= _SAME * max(self.cost.values()):
            return f"{start}; {LABELS[rival]} would order the same."
        tried = f"on {self.n_rows:,} rows that neither had seen"
        if self.behind > 0:
            return f"{start}: {tried}, {LABELS[rival]} costs {number(self.behind)} a row more."
        return (
            f"{start}: {tried}, {LABELS[rival]} costs {number(-self.behind)} a row less, which may "
            "be chance."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, for JSON."""
        return asdict(self)


def candidates(model: Any) -> tuple[str, ...]:
    """Names of the models that a plan may choose from; one where it has chosen itself."""
    names = AUTO if isinstance(model, str) and model == "auto" else model
    listed = (names,) if isinstance(names, str) or not isinstance(names, Sequence) else names
    wrong = [name for name in listed if name not in MODELS]
    if wrong or not listed or len(set(listed)) < len(listed):
        known = ", ".join(repr(each) for each in MODELS)
        raise InvalidInput(
            f"model must be 'auto', one of {known}, or several of these, got {model!r}."
        )
    return tuple(listed)


def may_choose(plan: DecisionPlan) -> bool:
    """Whether a plan leaves the choice open: several models of orders, from all rows together."""
    orders = plan.problem == "newsvendor" and plan.band == "latent" and not plan.by
    return orders and len(candidates(plan.model)) > 1


def may_pool(plan: DecisionPlan) -> bool:
    """Whether groups may share one distribution; where nothing is known each has its linear model.

    No backtest: with flags the shared distribution closed 91, 89 and 137% of the gap on two
    bakeries and a restaurant (nine, three and five series) and 126% on 88 series of sixty days,
    where lines shifted by a common band closed 31, 56, 134 and 107%.
    """
    orders = plan.problem == "newsvendor" and plan.band == "latent"
    several = candidates(plan.model)
    return orders and "distribution" in several and len(several) > 1


def choose(plan: DecisionPlan, features: Any, rows: TableRows) -> ModelChoice | None:
    """Choose among the candidates of a plan; None where it names a single one.

    Parameters
    ----------
    plan : DecisionPlan
    features : array or sparse matrix
        As the encoder gives them.
    rows : TableRows
    """
    if plan.by and may_pool(plan) and known_flags(plan, rows) is not None:
        return ModelChoice(
            "distribution",
            f"Orders follow {LABELS['distribution']}, one for all groups of {', '.join(plan.by)}: "
            f"it is known which rows sold out, so they share slopes, spread and shape as far as "
            "they are alike.",
        )
    if not may_choose(plan):
        return None
    backtest = Backtest.of(plan, features, rows, candidates(plan.model))
    return backtest if isinstance(backtest, ModelChoice) else backtest.choose(plan.cost)


class Backtest:
    """Candidates that have learned from the earlier part, to be compared for any cost.

    Parameters
    ----------
    names : sequence of str
    rule : LatentBand
        Fitted to the rows to learn from.
    parts : pair of TableRows
        Rows to learn from, and rows held out.
    features : pair of arrays
        Theirs.
    censored : ndarray of shape (n_held_out,)
        What is known of the rows held out.
    seed : int
    words : str
        Which rows were held out.
    """

    def __init__(
        self,
        names: Sequence[str],
        rule: Any,
        parts: tuple[TableRows, TableRows],
        features: tuple[Any, Any],
        censored: Array,
        seed: int,
        words: str,
    ) -> None:
        self.names, self.rule, self.parts, self.features = names, rule, parts, features
        self.censored, self.seed, self.words = censored, seed, words

    @classmethod
    def of(
        cls, plan: DecisionPlan, features: Any, rows: TableRows, names: Sequence[str]
    ) -> Backtest | ModelChoice:
        """Hold rows out and learn from the others; or say why there is nothing to compare by."""
        flags = known_flags(plan, rows)
        if flags is None:
            plain = names[0] if "linear" not in names else "linear"
            return ModelChoice(
                plain,
                f"Orders follow {LABELS[plain]}: neither flags nor stock say which rows sold out, "
                "and sales alone would choose the model that orders least.",
            )
        held, words = _held_out(rows, flags.size, plan.random_state)
        index = np.flatnonzero(~held), np.flatnonzero(held)
        parts = tuple(_take(rows, each) for each in index)
        split = tuple(features[each] for each in index)
        simplest = "distribution" if "distribution" in names else names[0]
        few = ModelChoice(
            simplest,
            f"Orders follow {LABELS[simplest]}: there are too few rows to compare it with others.",
        )
        if np.count_nonzero(flags[held] == 0) < MIN_HELD_OUT:
            return few
        rule = make_band("latent", plan.sellout_rate, plan.random_state)
        past = parts[0]
        try:
            given = Rows.of(
                evaluated_rows(plan.cost, past),
                split[0],
                past.observed,
                past.weight,
                past.flag,
                past.stock,
                past.time,
                past.series,
                at_least=2,
            )
            learned = clone(rule).fit_rows(given, plan.cost)
        except InvalidInput:
            return few
        return cls(
            names,
            learned,
            (parts[0], parts[1]),
            (split[0], split[1]),
            flags[held],
            plan.random_state,
            words,
        )

    def score(self, cost: Cost) -> tuple[CensoredCost, list[str]]:
        """Compare the candidates for a cost; what was left out is said."""
        (past, coming), (learned, asked) = self.parts, self.features
        decided: dict[str, Array] = {}
        left_out: list[str] = []
        for name in self.names:
            if name in AUTO:
                estimator = by_rule(name, cost, self.rule, learned, past)
                decided[name] = estimator.decide(asked, None, 0, None, None)
                continue
            band = clone(self.rule)
            known = {"censored": past.flag, "stock": past.stock, "time": past.time}
            try:
                model = make_model(name, cost, band, self.seed).fit(
                    learned,
                    past.observed,
                    sample_weight=past.weight,
                    underage=past.underage,
                    overage=past.overage,
                    series=past.series,
                    **known,
                )
            except MissingPackage as error:
                left_out.append(f"{LABELS[name]} was left out, because {error}")
                continue
            decided[name] = model.decide(asked, None, 0)
        series = coming.series
        if series is not None and np.unique(series).size < _MIN_GROUPS:
            series = None
        evaluated = evaluated_rows(cost, coming)
        found = censored_cost(
            evaluated,
            decided,
            coming.observed,
            self.censored,
            groups=series,
            sample_weight=coming.weight,
        )
        return found, left_out

    def choose(self, cost: Cost) -> ModelChoice:
        """Choose for a cost; what cannot be told apart goes to the distribution."""
        found, left_out = self.score(cost)
        best = found.best
        names = list(found.cost)
        preferred = "distribution" if "distribution" in names else names[0]
        model = best
        if best != preferred:
            behind, error = found.difference(preferred, best)
            if behind <= max(error, _SAME * max(found.cost.values())):
                model = preferred
        others = {name: each for name, each in found.cost.items() if name != model}
        if not others:
            return ModelChoice(model, f"Orders follow {LABELS[model]}. {' '.join(left_out)}")
        rival = min(others, key=others.__getitem__)
        more, error = found.difference(rival, model)
        start = f"Orders follow {LABELS[model]}: on {found.n_known:,} rows held out ({self.words}) "
        size = f"{number(abs(more))} per row (standard error {number(error)})"
        if abs(more) <= _SAME * max(found.cost.values()):
            why = f"{start}it decides as {LABELS[rival]} does."
        elif model == best:
            why = f"{start}it costs {size} less than {LABELS[rival]}."
        else:
            why = f"{start}{LABELS[rival]} costs {size} less, which chance explains."
        if found.reached < 0.5:
            why += " Most decisions lie above nearly all orders, where nobody can tell."
        return ModelChoice(
            model, " ".join([why, *left_out]), True, found.cost, more, error, found.n_known
        )


LABELS = {
    "linear": "a linear model",
    "distribution": "the estimated distribution of demand",
    "neural": "a network",
    "boosted": "boosted trees",
}
"""What readers are told of each model."""


def known_flags(plan: DecisionPlan, rows: TableRows) -> Array | None:
    """Which rows sold out, as flags and stock say it; None where too few rows say anything."""
    if plan.problem != "newsvendor":
        return None
    nothing = np.zeros((rows.observed.size, 1))
    read = Rows.of(plan.cost, nothing, rows.observed, censored=rows.flag, stock=rows.stock)
    flags = read.censored
    if flags is None or np.mean(~np.isnan(flags)) < MOSTLY_KNOWN or (flags == 1.0).all():
        return None
    return flags


def evaluated_rows(cost: Cost, rows: TableRows) -> Cost:
    """Put in the costs that rows give."""
    given = {"underage": rows.underage, "overage": rows.overage}
    return cost.with_rows(**{name: each for name, each in given.items() if each is not None})


def _held_out(rows: TableRows, n_rows: int, seed: int) -> tuple[NDArray[np.bool_], str]:
    """Rows that candidates are compared on: the last of each series, or some at random."""
    held = np.zeros(n_rows, dtype=np.bool_)
    if rows.time is None:
        count = round(HELD_OUT * n_rows)
        held[np.random.default_rng(seed).choice(n_rows, count, replace=False)] = True
        return held, "drawn at random"
    when, _ = read_times(rows.time, n_rows)
    label = np.zeros(n_rows, dtype=np.intp)
    if rows.series is not None:
        label = np.unique(rows.series, return_inverse=True)[1].reshape(-1)
    order = np.lexsort((when, label))
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    for own in np.split(order, starts[1:]):
        # whole days: rows of the same day are not the future of each other
        cut = when[own[int((1.0 - HELD_OUT) * own.size)]] if own.size > 1 else np.inf
        held[own] = when[own] >= cut
    words = "the last quarter of the days"
    return held, words if starts.size == 1 else f"{words} of each series"


def _take(rows: TableRows, index: NDArray[np.intp]) -> TableRows:
    """Keep some rows."""
    names = ("underage", "overage", "stock", "weight", "flag", "time", "series")
    some: dict[str, Any] = {
        name: None if (each := getattr(rows, name)) is None else each[index] for name in names
    }
    return replace(rows, table=rows.table[index], observed=rows.observed[index], **some)
