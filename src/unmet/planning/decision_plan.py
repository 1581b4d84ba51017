"""A plan: which column is what, what mistakes cost, and the model that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array, Features
from unmet.censoring import Diagnosis, LatentBand
from unmet.costs import AgeReplacement, Cost
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.base import DecisionModel
from unmet.estimators.explaining import DecisionExplainer
from unmet.planning.decision_report import Comparison, keep_history
from unmet.planning.model_selection import ModelChoice, candidates, choose, may_choose
from unmet.planning.problem_estimators import (
    PROBLEMS,
    AgeEstimator,
    BandChoice,
    ModelEstimator,
    Rate,
    RevenueEstimator,
    make_band,
    make_cost,
    make_model,
)
from unmet.tables.encoding import TableEncoder, as_categories
from unmet.tables.reading import BAD_ROWS, TableRows, as_polars, read_rows, require_columns
from unmet.validation import OneOf

if TYPE_CHECKING:
    import polars


# --- Groups of rows that get a model of their own.

_SHOWN = 5


def with_groups(features: Features, table: polars.DataFrame, by: Sequence[str]) -> polars.DataFrame:
    """Numbers and the columns of the groups in one table, as `GroupedDecision` takes them."""
    import polars as pl

    dense = features.toarray() if sparse.issparse(features) else features
    names = [f"feature {place}" for place in range(dense.shape[1])]
    groups = [as_categories(table[name]).alias(name) for name in by]
    return pl.DataFrame(dense, schema=names).with_columns(groups)


def unseen_groups(
    table: polars.DataFrame, by: Sequence[str], seen: dict[str, list[str]]
) -> list[str]:
    """Name groups that have no model of their own."""
    import polars as pl

    groups = pl.DataFrame([as_categories(table[name]).alias(name) for name in by])
    known = pl.DataFrame({name: seen[name] for name in by})
    strange = groups.join(known, on=list(by), how="anti").unique(maintain_order=True)
    if not strange.height:
        return []
    shown = "; ".join(", ".join(row) for row in strange.head(_SHOWN).iter_rows())
    more = f" and {strange.height - _SHOWN:,} more" if strange.height > _SHOWN else ""
    return [
        f"Groups of {', '.join(by)} never seen in training are decided by the model of "
        f"all: {shown}{more}."
    ]


# --- A plan: which column is what, what mistakes cost, and the model that follows.

_BLOCK = 250_000  # rows decided on at a time: bounded memory


@dataclass(frozen=True)
class Decisions:
    """Decisions of a table's rows.

    Attributes
    ----------
    decision : ndarray of shape (n_rows,)
        inf where no planned replacement pays.
    ignoring : ndarray of shape (n_rows,), or None
        What would be decided if observations were taken for the truth.
    notes : tuple of str
        What a user should know of these rows: values never seen, values filled in.
    """

    decision: Array
    ignoring: Array | None
    notes: tuple[str, ...]


class DecisionPlan(BaseEstimator):
    """Decisions from a table in the words of a planner.

    Parameters
    ----------
    observed : str
        Column of observations: sales, offered prices, times in service.
    features : sequence of str
        Columns that decisions may depend on: numbers, or text, which becomes categories.
    problem : {"newsvendor", "pricing", "replacement"}, default="newsvendor"
        Order quantities, prices, or ages of replacement.
    underage, overage : float, default=None
        Cost of a unit too little and too much; for prices, of a unit too low and too high.
    underage_column, overage_column : str, default=None
        Columns that give these costs row by row instead.
    service_level : float, default=None
        Share of rows whose order should cover the demand, instead of two costs.
    planned, failure : float, default=None
        Costs of a planned replacement and of a failure.
    goal : {"cost", "revenue"}, default="cost"
        For prices: least cost, or most revenue above `unit_cost`.
    unit_cost : float, default=0.0
    model : {"auto", "linear", "distribution", "neural", "boosted"}, or several, default="auto"
        Of several the one is taken that costs least on time held out, which can be told where flags
        or stock say which rows sold out; ties go to the distribution. "auto" is ``("linear",
        "distribution")``. Where nothing says it, a line. With `by` and flags the distribution of
        all groups together.
    band : {"latent", "searched", "none"} or (low, high), default="latent"
        How far above the observation the truth may lie: see `unmet.censoring`.
    sellout_rate : float or (float, float), default=None
        Share of rows that sold out, where you know it.
    when_unidentified : {"least_censoring", "minimax_regret", "expected_cost"},
    default="least_censoring"
        What orders follow where the data cannot tell how much is hidden: the least that may be, the
        minimax regret, or the least expected cost; see `LatentBand`.
    censored_column : str, default=None
        Flags: yes where the truth is at least the observation (sold out, suspended); may be empty.
    failed_column, accepted_column : str, default=None
        Flags of the other two problems: the part had failed; the offer was accepted.
    stock_column, weight_column : str, default=None
        What was available, and the weight of each row.
    bad_rows : {"drop", "clip", "refuse"}, default="drop"
        What becomes of rows with negative sales, or with less stock than sales: they are left out,
        or 0 sales and as much stock as was sold are taken, or the table is refused.
    date : str, default=None
        Column of dates; with it, an order rule on past sales is looked for.
    series : sequence of str, default=()
        Columns that tell series apart; None of them where `by` does.
    calendar : sequence of str, default=()
        Calendar features to make of the date; see `TableEncoder`.
    categories : sequence of str, default=()
        Features that are categories although they look like numbers.
    by : sequence of str, default=()
        One model for each group of these columns, shrunk to the pooled estimate.
    random_state : int, default=0

    Attributes
    ----------
    diagnosis_ : Diagnosis or None
        What the data say about censoring.
    encoder_ : TableEncoder or None
    estimator_, ignoring_ : estimators
        With the band, and without; `ignoring_` is None where there is no band.
    notes_ : tuple of str
        What was done to the table.
    n_rows_ : int
        Rows learned from.
    choice_ : ModelChoice or None
        Which of several models was chosen, by how much, and why; None where one was named, or where
        there is nothing to choose from.
    comparison_ : Comparison or None
        With other methods on rows held out, where somebody has made one and put it here: it is
        saved with the plan and shown in its reports.
    history_ : dict or None
        The last observations of each item, for reports; None without dates.
    explainer_ : DecisionExplainer or None
        What `explain` asks, where `fit` was told to keep it.

    Examples
    --------
    >>> from unmet.simulate import store10
    >>> table = store10(seed=0).train.to_polars()
    >>> plan = DecisionPlan("sales", ["weekday", "month", "category"], underage=3, overage=1)
    >>> plan = plan.fit(table)
    >>> plan.diagnosis_.identified
    'yes'
    >>> plan.decide(table.head(3)).decision
    array([109., 304., 263.])
    """

    # of plans that were saved before there were such words
    service_level: float | None = None
    bad_rows: str = "drop"
    explainer_: DecisionExplainer | None = None

    def __init__(
        self,
        observed: str,
        features: Sequence[str] = (),
        *,
        problem: str = "newsvendor",
        underage: float | None = None,
        overage: float | None = None,
        underage_column: str | None = None,
        overage_column: str | None = None,
        service_level: float | None = None,
        planned: float | None = None,
        failure: float | None = None,
        goal: str = "cost",
        unit_cost: float = 0.0,
        model: str | Sequence[str] = "auto",
        band: BandChoice = "latent",
        sellout_rate: Rate = None,
        when_unidentified: str = "least_censoring",
        censored_column: str | None = None,
        failed_column: str | None = None,
        accepted_column: str | None = None,
        stock_column: str | None = None,
        weight_column: str | None = None,
        bad_rows: str = "drop",
        date: str | None = None,
        series: Sequence[str] = (),
        calendar: Sequence[str] = (),
        categories: Sequence[str] = (),
        by: Sequence[str] = (),
        random_state: int = 0,
    ) -> None:
        self.observed = observed
        self.features = features
        self.problem = problem
        self.underage = underage
        self.overage = overage
        self.underage_column = underage_column
        self.overage_column = overage_column
        self.service_level = service_level
        self.planned = planned
        self.failure = failure
        self.goal = goal
        self.unit_cost = unit_cost
        self.model = model
        self.band = band
        self.sellout_rate = sellout_rate
        self.when_unidentified = when_unidentified
        self.censored_column = censored_column
        self.failed_column = failed_column
        self.accepted_column = accepted_column
        self.stock_column = stock_column
        self.weight_column = weight_column
        self.bad_rows = bad_rows
        self.date = date
        self.series = series
        self.calendar = calendar
        self.categories = categories
        self.by = by
        self.random_state = random_state

    def fit(self, table: Any, *, explain: bool = False) -> Self:
        """Learn from a table of pandas, polars or pyarrow.

        Parameters
        ----------
        table : table
            One row per observation.
        explain : bool, default=False
            Whether to keep what `explain` needs: at most two more models, at even costs, trained on
            the same rows. Bands are not learned again.

        Returns
        -------
        DecisionPlan
            Itself.
        """
        self.check()
        rows = self.rows(table)
        self.encoder_ = self.encoder(rows.table)
        features = self.encode(rows.table)
        if self.by:
            groups = features.select(self.by).unique(maintain_order=True)
            self.groups_ = {name: groups[name].to_list() for name in self.by}
        self.choice_: ModelChoice | None = choose(self, features, rows)
        self.estimator_ = self.estimator().fit(features, rows)
        self.ignoring_ = None
        if self.has_band:
            plain = self.estimator(ignoring=True)
            untold = replace(rows, flag=None, stock=None, time=None, series=None)
            self.ignoring_ = None if plain is None else plain.fit(features, untold)
        remarks: list[str] = []
        if self.encoder_ is not None:
            remarks = self.encoder_.doubts_ + self.encoder_.remarks(rows.table)
        told = rows.flag is not None or rows.stock is not None
        if told and self.band not in ("latent", "searched"):
            remarks.append(
                f"Flags and stock only evaluate decisions here: band {self.band!r} learns nothing "
                "from them."
            )
        self.notes_ = (*rows.notes, *remarks)
        self.n_rows_ = rows.observed.size
        self.comparison_: Comparison | None = None
        self.history_ = keep_history(self, rows, features)
        self.explainer_ = None
        if explain:
            explainer = DecisionExplainer(self._explained())
            self.explainer_ = explainer.fit(features, rows.observed, sample_weight=rows.weight)
        return self

    def _explained(self) -> DecisionModel:
        """Model of orders that can be taken apart."""
        model = getattr(self.estimator_, "model_", None)
        if self.problem != "newsvendor" or not isinstance(model, DecisionModel) or self.by:
            raise Unsupported(
                "Only orders of one model for all rows are taken apart, got "
                + (f"by={list(self.by)}." if self.by else f"problem {self.problem!r}.")
            )
        return model

    @property
    def diagnosis_(self) -> Diagnosis | None:
        """What the data say about censoring; None where nothing was asked."""
        check_is_fitted(self, "estimator_")
        found: Diagnosis | None = self.estimator_.diagnosis_
        return found

    @property
    def cost(self) -> Cost:
        """What a decision costs; numbers that rows give are 1 here."""
        numbers = (self.underage, self.overage, self.planned, self.failure, self.service_level)
        return make_cost(self.problem, *numbers)

    @property
    def level(self) -> float | None:
        """α, where it is one number."""
        if self.problem == "replacement" or self.goal == "revenue":
            return None
        if self.underage_column is not None or self.overage_column is not None:
            return None
        return float(getattr(self.cost, "level"))  # noqa: B009  # costs with two slopes have it

    @property
    def model_name(self) -> str:
        """Short name of the model: the one named, or chosen in `fit`; before it, the first."""
        chosen: ModelChoice | None = getattr(self, "choice_", None)
        names = candidates(self.model)
        return names[0] if chosen is None else chosen.model

    @property
    def has_band(self) -> bool:
        """Whether the truth may lie above the observation."""
        return self.band is not None and self.band != "none"

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns that a file should give as text, whatever they look like.

        A category 007 is not 7; which features are categories is known for sure after `fit`.
        """
        encoder = getattr(self, "encoder_", None)
        found = self.categories if encoder is None else encoder.categories_
        plain = [name for name in (*self.by, *self.series) if name not in self.features]
        return tuple(dict.fromkeys((*found, *plain)))

    @property
    def words(self) -> str:
        """The plan in a few words."""
        if isinstance(self.band, tuple):
            band = f"band {self.band[0]:g} to {self.band[1]:g}"
        else:
            band = {"latent": "latent band", "searched": "searched band"}.get(
                str(self.band), "no band"
            )
        rate = self.sellout_rate
        if rate is not None:
            shown = f"{rate:g}" if not isinstance(rate, tuple) else f"{rate[0]:g} to {rate[1]:g}"
            band += f", sell-out rate {shown}"
        if self.when_unidentified != "least_censoring":
            band += f", when unidentified {self.when_unidentified}"
        model, told = self.model_name, self.censored_column or self.stock_column
        if told and may_choose(self) and not hasattr(self, "estimator_"):
            model = " or ".join(candidates(self.model))
        return f"this plan: {model}, {band}"

    def decide(
        self,
        table: Any,
        step: ArrayLike | None = 1,
        lower: ArrayLike | None = 0,
        upper: ArrayLike | None = None,
        minimum: ArrayLike | None = None,
    ) -> Decisions:
        """Decide for each row of a table.

        Parameters
        ----------
        table : table of pandas, polars or pyarrow
            Has the feature columns; others are not looked at.
        step, lower, upper, minimum : as for `LinearDecision.decide`

        Returns
        -------
        Decisions
        """
        check_is_fitted(self, "estimator_")
        rows = as_polars(table)
        if not rows.height:
            raise InvalidInput("table must have at least one row, got none.")
        require_columns(rows, self.by, "by")
        remarks = [] if self.encoder_ is None else self.encoder_.remarks(rows)
        if self.by:
            remarks += unseen_groups(rows, self.by, self.groups_)
        decided, ignoring = self._decide(rows, (step, lower, upper, minimum))
        never = int(np.isinf(decided).sum())
        if never:
            remarks += [f"For {never:,} rows no planned replacement pays: replace at failure."]
        return Decisions(decided, ignoring, tuple(remarks))

    def explain(
        self,
        table: Any,
        step: ArrayLike | None = 1,
        lower: ArrayLike | None = 0,
        upper: ArrayLike | None = None,
        minimum: ArrayLike | None = None,
        *,
        contributions: bool = False,
    ) -> polars.DataFrame:
        """Take orders apart: usual sales, hidden demand, cost of running out, rounding.

        Parameters
        ----------
        table : table of pandas, polars or pyarrow
            As in `decide`.
        step, lower, upper, minimum : as for `LinearDecision.decide`
        contributions : bool, default=False
            Whether to say as well what each column of the table adds to the order before rounding
            or takes away from it; of a linear model and of trees.

        Returns
        -------
        polars.DataFrame
            ``usual_sales``, ``hidden_demand``, ``cost_of_running_out`` and ``rounding`` of each
            row, and the ``decision`` that is their sum. With `contributions` also
            ``mean_decision`` and ``from_`` each column, whose sum is the decision less its
            rounding.

        Examples
        --------
        >>> from unmet.simulate import store10
        >>> table = store10(seed=0).train.to_polars()
        >>> plan = DecisionPlan("sales", ["category"], underage=3, overage=1, band=(20, 20))
        >>> parts = plan.fit(table, explain=True).explain(table.head(1))
        >>> round(parts["hidden_demand"][0]), round(parts["decision"][0])
        (20, 136)
        """
        import polars as pl

        check_is_fitted(self, "estimator_")
        if self.explainer_ is None:
            raise InvalidInput(
                "This plan has not kept what takes orders apart: fit it with explain=True "
                "(unmet fit --explain)."
            )
        rows, found = as_polars(table), []
        if not rows.height:
            raise InvalidInput("table must have at least one row, got none.")
        for start in range(0, rows.height, _BLOCK):
            part = rows.slice(start, _BLOCK)
            room = [_take(each, start, part.height) for each in (step, lower, upper, minimum)]
            parts = self.explainer_.explain(
                self.encode(part), *room[:3], minimum=room[3], contributions=contributions
            )
            columns = parts.columns()
            if parts.contributions is not None and self.encoder_ is not None:
                columns["mean_decision"] = parts.contributions[:, -1]
                for place, source in enumerate(self.encoder_.sources):
                    name = f"from_{source}"
                    columns[name] = columns.get(name, 0.0) + parts.contributions[:, place]
            found.append(pl.DataFrame(columns))
        return pl.concat(found)

    def check(self) -> None:
        """Refuse words that do not fit together, before anything is read."""
        check_words(self)

    def rows(self, table: Any) -> TableRows:
        """Read what the rows of a table say, leaving out those without an observation."""
        columns = as_polars(table)
        named = [*self.features, *self.by]
        require_columns(columns, named, "features and by")
        for name in (self.observed, self.censored_column, self.failed_column, self.accepted_column):
            if name is not None and name in self.features:
                raise InvalidInput(
                    f"features must not be what is to be explained, got {name!r} among them."
                )
        return read_rows(
            columns,
            self.observed,
            underage=self.underage_column,
            overage=self.overage_column,
            stock=self.stock_column,
            weight=self.weight_column,
            date=self.date,
            flag=self.censored_column or self.failed_column or self.accepted_column,
            opposite=self.failed_column is not None,
            series=tuple(self.series) or tuple(self.by),
            bad_rows=self.bad_rows if self.problem == "newsvendor" else None,
        )

    def encoder(self, table: polars.DataFrame) -> TableEncoder | None:
        """Fit an encoder of the features to a table; None where there are no features."""
        if not self.features and not self.calendar:
            if self.problem == "replacement":
                return None  # one age for all
            raise InvalidInput("features must name at least one column, got none.")
        encoder = TableEncoder(
            list(self.features), list(self.categories), self.date, list(self.calendar)
        )
        fitted: TableEncoder = encoder.fit(table)
        return fitted

    def encode(self, table: polars.DataFrame) -> Any:
        """Give the features as numbers, with the columns of groups where there are some."""
        if self.encoder_ is None:
            return None
        features = self.encoder_.transform(table)
        return features if not self.by else with_groups(features, table, self.by)

    def estimator(self, *, ignoring: bool = False) -> Any:
        """Make what decides, not fitted; `ignoring` takes observations for the truth.

        None where nothing could ignore it.
        """
        cost, seed = self.cost, self.random_state
        if self.problem == "replacement":
            assert isinstance(cost, AgeReplacement)
            rule = LatentBand(self.sellout_rate, families="lifetimes", random_state=seed)
            return AgeEstimator(cost, rule, know_flags=not ignoring)
        if self.goal == "revenue":
            rule = LatentBand(self.sellout_rate, random_state=seed)
            return None if ignoring else RevenueEstimator(cost, rule, self.unit_cost)
        band = (
            None
            if ignoring
            else make_band(self.band, self.sellout_rate, seed, self.when_unidentified)
        )
        model = make_model(self.model_name, cost, band, seed)
        if self.by:
            from unmet import GroupedDecision

            model = GroupedDecision(model, by=list(self.by), random_state=seed)
        return ModelEstimator(model, offers=self.problem == "pricing")

    def _decide(
        self, table: polars.DataFrame, limits: tuple[Any, ...]
    ) -> tuple[Array, Array | None]:
        """Decide with the band and without, block by block."""
        estimators = [each for each in (self.estimator_, self.ignoring_) if each is not None]
        if self.encoder_ is None:
            found = [np.full(table.height, each.decide(None, *limits)[0]) for each in estimators]
        else:
            parts: list[list[Array]] = [[] for _ in estimators]
            for start in range(0, table.height, _BLOCK):
                part = table.slice(start, _BLOCK)
                taken = [_take(limit, start, part.height) for limit in limits]
                features = self.encode(part)
                for each, kept in zip(estimators, parts, strict=True):
                    kept.append(each.decide(features, *taken))
            found = [np.concatenate(kept) for kept in parts]
        return found[0], found[1] if len(found) > 1 else None


def _take(limit: Any, start: int, count: int) -> Any:
    """Slice a limit that differs by row."""
    return (
        limit if limit is None or np.ndim(limit) == 0 else np.asarray(limit)[start : start + count]
    )


# --- Whether the words of a plan fit together.


def check_words(plan: DecisionPlan) -> None:
    """Refuse words that do not fit together, before anything is read."""
    OneOf(*PROBLEMS)("problem", plan.problem)
    OneOf("cost", "revenue")("goal", plan.goal)
    OneOf(*BAD_ROWS)("bad_rows", plan.bad_rows)
    _check_costs(plan)
    _check_flags(plan)
    make_band(plan.band, plan.sellout_rate, plan.random_state, plan.when_unidentified)
    names = candidates(plan.model)
    if "distribution" in names and plan.model != "auto" and plan.band != "latent":
        raise InvalidInput(f"model 'distribution' needs band 'latent', got band {plan.band!r}.")
    if (plan.goal == "revenue" or plan.problem == "replacement") and plan.band != "latent":
        raise InvalidInput(
            f"Prices of most revenue and ages of replacement need band 'latent', got {plan.band!r}."
        )
    if (plan.goal == "revenue" or plan.problem == "replacement") and plan.model != "auto":
        raise InvalidInput(
            "Prices of most revenue and ages of replacement follow the estimated distribution, so "
            f"model must be 'auto', got {plan.model!r}."
        )
    if plan.goal == "revenue" and plan.problem != "pricing":
        raise InvalidInput(f"goal 'revenue' is for problem 'pricing', got {plan.problem!r}.")
    if plan.unit_cost != 0.0 and plan.goal != "revenue":
        raise InvalidInput(f"unit_cost is for goal 'revenue', got goal {plan.goal!r}.")
    explained = (plan.observed, plan.censored_column, plan.failed_column, plan.accepted_column)
    for field in ("by", "series"):
        wrong = [name for name in explained if name is not None and name in getattr(plan, field)]
        if wrong:
            raise InvalidInput(
                f"{field} must tell groups of rows apart and not be what is to be explained, got "
                f"{wrong[0]!r}."
            )
    if plan.by and (plan.problem == "replacement" or plan.goal == "revenue"):
        raise InvalidInput("by is for models of orders and prices that cost by the unit.")


def _check_costs(plan: DecisionPlan) -> None:
    if plan.service_level is not None:
        _check_service_level(plan)
        return
    if plan.problem == "replacement":
        plan.cost  # noqa: B018  # complains of what is missing
        return
    for name in ("underage", "overage"):
        number, column = getattr(plan, name), getattr(plan, f"{name}_column")
        if number is not None and column is not None:
            raise InvalidInput(f"{name} and {name}_column must not both be given, got both.")
        if number is None and column is None and plan.goal == "cost":
            raise InvalidInput(f"{name} must be given, a number or a column, got neither.")
    plan.cost  # noqa: B018
    for name in ("planned", "failure"):
        if getattr(plan, name) is not None:
            raise InvalidInput(f"{name} is for problem 'replacement', got {plan.problem!r}.")


def _check_service_level(plan: DecisionPlan) -> None:
    """Refuse a service level beside costs, or for anything but orders."""
    if plan.problem != "newsvendor":
        raise InvalidInput(f"service_level is for problem 'newsvendor', got {plan.problem!r}.")
    names = ("underage", "overage", "underage_column", "overage_column", "planned", "failure")
    given = [name for name in names if getattr(plan, name) is not None]
    if given:
        raise InvalidInput(
            f"service_level and {given[0]} must not both be given, got {plan.service_level!r} and "
            f"{getattr(plan, given[0])!r}."
        )
    plan.cost  # noqa: B018  # complains of a number that is none


def _check_flags(plan: DecisionPlan) -> None:
    """Each problem has its own flags."""
    allowed = {
        "newsvendor": ("censored_column", "stock_column"),
        "pricing": ("accepted_column",),
        "replacement": ("censored_column", "failed_column"),
    }[plan.problem]
    for name in ("censored_column", "failed_column", "accepted_column", "stock_column"):
        if getattr(plan, name) is None:
            continue
        if name not in allowed:
            raise InvalidInput(
                f"{name} is not for problem {plan.problem!r}, which takes {' and '.join(allowed)}."
            )
        # orders can be evaluated by them, whatever the band learns from
        if plan.band not in ("latent", "searched") and plan.problem != "newsvendor":
            raise InvalidInput(f"{name} is only used by band 'latent', got {plan.band!r}.")
    if plan.censored_column is not None and plan.failed_column is not None:
        raise InvalidInput("censored_column and failed_column must not both be given, got both.")
