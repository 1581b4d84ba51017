"""A plan from your own features: the columns, the cost of mistakes, and the decision model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array, Band, slices
from unmet.censoring import BandRule, Diagnosis, LatentBand
from unmet.costs import AgeReplacement, Cost, CustomPricing, Revenue
from unmet.costs.base import A_COST
from unmet.errors import InvalidInput, Note, Unsupported
from unmet.estimators.base import DecisionModel
from unmet.estimators.explaining import DecisionExplainer
from unmet.evaluation.backtest import ModelChoice
from unmet.planning.decision_models import (
    DISTRIBUTIONS,
    ModelEstimator,
    RuleEstimator,
    candidates,
    choose,
    make_model,
)
from unmet.planning.decision_report import Comparison, keep_history
from unmet.tables.encoding import TableEncoder, as_categories
from unmet.tables.reading import (
    BAD_ROWS,
    TableRows,
    as_polars,
    finite,
    numbers,
    read_rows,
    require_columns,
)
from unmet.validation import OneOf

Problem: TypeAlias = Literal["newsvendor", "pricing", "replacement"]
FLAGS: dict[str, tuple[str, ...]] = {
    "newsvendor": ("censored", "stock"),
    "pricing": ("accepted",),
    "replacement": ("censored", "failed", "entry"),
}
"""Columns of each problem that say what became of a row."""
COLUMNS = (
    *("date", "series", "censored", "stock", "accepted", "failed", "entry", "weight"),
    *("underage", "overage"),
)
"""Keys of `DecisionPlan.columns`."""


OUTSIDE = {
    "newsvendor": ("orders", "above the largest sales", ""),
    "pricing": ("prices", "above all offered prices", "below all offered prices"),
    "replacement": ("ages", "beyond the longest time in service", ""),
}
"""Decisions of each problem, and what is said of those beyond the largest and smallest seen."""
STRANGE = "features outside of the training data"

_BLOCK = 250_000  # rows decided on at a time: bounded memory
_SHOWN = 5  # groups that a sentence names


@dataclass(frozen=True)
class Decisions:
    """Decisions for the rows of a table.

    Attributes
    ----------
    decision : ndarray of shape (n_rows,)
        Decisions; inf if no planned replacement pays.
    ignoring : ndarray of shape (n_rows,), or None
        Decisions of the model that takes observations for the truth.
    notes : tuple of str
        Findings about these rows: unknown values, imputed values.
    outside_data : ndarray of str, of shape (n_rows,)
        Why a decision lies outside of all observations, such as "above every price asked"; empty
        otherwise. Only the shape of a model supports such a decision.

    Examples
    --------
    >>> from unmet import Band, DecisionPlan, Newsvendor
    >>> from unmet.simulate import store10
    >>> table = store10(seed=0).train.to_polars()
    >>> plan = DecisionPlan("sales", ["category"], Newsvendor(3, 1), band=Band(0, 40))
    >>> found = plan.fit(table).decide(table.head(2))
    >>> bool((found.decision > found.ignoring).all())
    True
    """

    decision: Array
    ignoring: Array | None
    notes: tuple[str, ...]
    outside_data: NDArray[np.str_]


class DecisionPlan(BaseEstimator):
    """Decisions from a table with your own features: orders, prices or replacement ages.

    Parameters
    ----------
    observed : str
        Column of observations: sales, offered prices, times in service.
    features : sequence of str
        Columns that decisions may depend on: numbers, or text, which becomes categories. No
        features, that is (), is allowed only for a single age for all parts.
    cost : Cost
        Cost of mistakes, which determines the kind of decision: orders (`Newsvendor`), prices
        (`CustomPricing`, or `Revenue` for the most revenue) or replacement ages (`AgeReplacement`).
    columns : mapping of str to str, default=None
        Further columns by their meaning:

        - ``date``; with a date, the plan searches for an order rule on past sales;
        - ``series``, one or several columns that identify a series (by default those of `by`);
        - ``weight``;
        - ``underage`` and ``overage``, costs of each row that replace those of `cost`;
        - ``censored``, true if the truth is at least the observation (sold out, suspended); may be
          empty;
        - ``stock``, the available stock;
        - ``accepted``, for offers;
        - ``failed``, for parts, and ``entry``, their age when records began (delayed entry).
    calendar : sequence of str, default=()
        Calendar features to make from the date; see `TableEncoder`.
    categories : sequence of str, default=()
        Features that are categories although they look like numbers.
    by : sequence of str, default=()
        Columns that identify a group. The plan fits one model per group, shrunk to the pooled
        estimate. With () it fits a single model.
    model : str or sequence of str, default="auto"
        "seasonal" (series and weekday only, if there are dates), "linear", "distribution",
        "neural", "boosted" or "blend" (the mean of linear model and trees). If you give several,
        the plan takes the one that costs least on held-out rows; this needs flags or stock that
        show which rows sold out, and ties go to the distribution. "auto" is ``("linear",
        "distribution")``; the linear model if nothing shows which rows sold out; and with `by` and
        flags the distribution of all groups together. For prices with the most revenue and for
        ages, "linear" and "distribution" use a distribution whose location is linear in the
        features. "boosted", which is also "auto", uses boosted trees if they predict held-out rows
        better.
    band : "auto", Band, band rule or None, default="auto"
        How far above the observation the truth may lie; see `unmet.censoring`. "auto" is
        `LatentBand`. None takes observations for the truth.
    bad_rows : {"drop", "clip", "refuse"}, default="drop"
        What to do with rows whose sales are negative or exceed their stock. "drop" leaves them out,
        "clip" takes 0 sales and as much stock as was sold, "refuse" raises an error.
    random_state : int, default=0
        Seed of models, rules and splits.

    Attributes
    ----------
    diagnosis_ : Diagnosis or None
        How much the observations hide; None if it was not estimated.
    encoder_ : TableEncoder or None
        Encoder of the features.
    estimator_, ignoring_ : estimators
        Model with the band, and model without; `ignoring_` is None if there is no band.
    notes_ : tuple of str
        Changes that were made to the table.
    n_rows_ : int
        Number of training rows.
    choice_ : ModelChoice or None
        The chosen model, by how much it won, and why. None if you named a single model, or if there
        is nothing to choose from.
    comparison_ : Comparison or None
        Comparison with other methods, if you made one and stored it here: it is saved with the plan
        and shown in its reports.
    history_ : dict or None
        The last observations of each item, for reports; None without dates.
    explainer_ : DecisionExplainer or None
        Models that `explain` needs, if `fit` was told to keep them.
    reach_ : dict of str to pairs of float
        Smallest and largest training value of observations and numeric features.

    Examples
    --------
    >>> from unmet import DecisionPlan, Newsvendor
    >>> from unmet.simulate import store10
    >>> table = store10(seed=0).train.to_polars()
    >>> plan = DecisionPlan("sales", ["weekday", "month", "category"], Newsvendor(3, 1))
    >>> plan = plan.fit(table)
    >>> plan.diagnosis_.identified
    'yes'
    >>> plan.decide(table.head(3)).decision
    array([109., 304., 263.])
    """

    def __init__(
        self,
        observed: str,
        features: Sequence[str],
        cost: Cost,
        *,
        columns: Mapping[str, Any] | None = None,
        calendar: Sequence[str] = (),
        categories: Sequence[str] = (),
        by: Sequence[str] = (),
        model: str | Sequence[str] = "auto",
        band: Band | BandRule | str | None = "auto",
        bad_rows: str = "drop",
        random_state: int = 0,
    ) -> None:
        self.observed = observed
        self.features = features
        self.cost = cost
        self.columns = columns
        self.calendar = calendar
        self.categories = categories
        self.by = by
        self.model = model
        self.band = band
        self.bad_rows = bad_rows
        self.random_state = random_state

    # --- What was said.

    @property
    def problem(self) -> Problem:
        """Kind of decision: "newsvendor" (orders), prices or replacement ages."""
        if isinstance(self.cost, AgeReplacement):
            return "replacement"
        return "pricing" if isinstance(self.cost, CustomPricing | Revenue) else "newsvendor"

    @property
    def rule(self) -> Band | BandRule | None:
        """Band, or the rule that estimates it."""
        if isinstance(self.band, str):
            return LatentBand(random_state=self.random_state)
        return self.band

    @property
    def latent(self) -> bool:
        """Whether the distribution of the truth is estimated."""
        return isinstance(self.rule, LatentBand)

    @property
    def from_distribution(self) -> bool:
        """Whether decisions come from the distribution of the truth, without a model."""
        return isinstance(self.cost, AgeReplacement | Revenue)

    @property
    def level(self) -> float | None:
        """Critical ratio α, if it is a single number."""
        if self.column("underage") or self.column("overage"):
            return None
        found = getattr(self.cost, "level", None)
        return None if found is None or np.ndim(found) else float(found)

    @property
    def sellout_rate(self) -> Any:
        """Share of rows that sold out, if you gave it."""
        return getattr(self.rule, "sellout_rate", None)

    @property
    def date(self) -> str | None:
        """Column of dates."""
        return self.column("date")

    @property
    def series(self) -> tuple[str, ...]:
        """Columns that identify a series."""
        named = (self.columns or {}).get("series") or ()
        return (named,) if isinstance(named, str) else tuple(named)

    @property
    def flag(self) -> str | None:
        """Column that shows which rows are censored, accepted or failed."""
        return self.column("censored") or self.column("failed") or self.column("accepted")

    def column(self, key: str) -> str | None:
        """Give the name of a column of `columns`; None if there is none."""
        found: str | None = (self.columns or {}).get(key)
        return found

    @property
    def model_name(self) -> str:
        """Short name of the model: the named or the chosen one; before `fit` the first."""
        chosen: ModelChoice | None = getattr(self, "choice_", None)
        return candidates(self.model)[0] if chosen is None else chosen.model

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns that a file should give as text, whatever they look like.

        A category 007 is not 7. Which features are categories is certain only after `fit`.
        """
        encoder = getattr(self, "encoder_", None)
        found = self.categories if encoder is None else encoder.categories_
        plain = [name for name in (*self.by, *self.series) if name not in self.features]
        return tuple(dict.fromkeys((*found, *plain)))

    @property
    def words(self) -> str:
        """The plan in a few words."""
        rule, rate = self.rule, self.sellout_rate
        band = "no band"
        if isinstance(rule, Band):
            band = f"band {rule.low:g} to {rule.high:g}"
        elif rule is not None:
            band = f"{type(rule).__name__.removesuffix('Band').lower()} band"
        if rate is not None:
            shown = f"{rate:g}" if not isinstance(rate, tuple) else f"{rate[0]:g} to {rate[1]:g}"
            band += f", sell-out rate {shown}"
        followed = getattr(rule, "when_unidentified", "expected_cost")
        if followed != "expected_cost":
            band += f", when unidentified {followed}"
        return f"this plan: {self.model_name}, {band}"

    def check(self) -> None:
        """Refuse parameters that do not fit together, before any data are read."""
        A_COST("cost", self.cost)
        OneOf(*BAD_ROWS)("bad_rows", self.bad_rows)
        if isinstance(self.band, str):
            OneOf("auto")("band", self.band)
        names = candidates(self.model)
        if "seasonal" in names and self.date is None:
            raise InvalidInput("model 'seasonal' needs a column of dates: name it (date=).")
        if "distribution" in names and self.model != "auto" and not self.latent:
            raise InvalidInput(
                f"model 'distribution' needs band 'latent', got {self.rule or 'none'!r}."
            )
        if self.from_distribution and not self.latent:
            raise InvalidInput(
                "Prices of maximum revenue and replacement ages need band 'latent', got "
                f"{self.rule or 'none'!r}."
            )
        known_model = isinstance(self.model, str) and self.model in DISTRIBUTIONS
        if self.from_distribution and (not known_model or self.by):
            known = ", ".join(repr(each) for each in DISTRIBUTIONS)
            raise InvalidInput(
                f"model must be one of {known}, without by, for prices of maximum revenue and "
                f"replacement ages, got {self.model!r} and {list(self.by)}."
            )
        self._check_columns()

    def _check_columns(self) -> None:
        """Each problem has its own flags, and what is to be explained explains nothing."""
        allowed, given = FLAGS[self.problem], self.columns or {}
        for key in given:
            OneOf(*COLUMNS)("columns", key)
        for key in ("censored", "stock", "accepted", "failed", "entry"):
            if given.get(key) is None:
                continue
            if key not in allowed:
                raise InvalidInput(
                    f"columns[{key!r}] must not be given with problem {self.problem!r}, which "
                    f"takes {' and '.join(f'columns[{each!r}]' for each in allowed)}."
                )
            # orders can be evaluated by them, whatever the band learns from
            if not hasattr(self.rule, "fit") and self.problem != "newsvendor":
                raise InvalidInput(
                    f"columns[{key!r}] needs band 'latent' or 'searched', got "
                    f"{self.rule or 'none'!r}."
                )
        if given.get("entry") and self.model == "boosted":
            raise Unsupported(
                "model must not be 'boosted' with columns['entry'], because trees cannot use entry "
                "ages: use model='linear'."
            )
        if given.get("censored") and given.get("failed"):
            raise InvalidInput(
                "columns['censored'] must not be given with columns['failed']: leave one out."
            )
        for name, listed in (("features", self.features), ("by", self.by), ("series", self.series)):
            for each in (self.observed, self.flag):
                if each is not None and each in listed:
                    raise InvalidInput(
                        f"{name} must not include the observation or its flags, got {each!r}: "
                        "leave it out."
                    )

    # --- Learning.

    def fit(self, table: Any, *, explain: bool = False) -> Self:
        """Learn from a table of pandas, polars or pyarrow.

        Parameters
        ----------
        table : table
            One row per observation.
        explain : bool, default=False
            Whether to keep what `explain` needs: at most two more models, at equal costs, trained
            on the same rows. Bands are not fitted again.

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
        if "seasonal" in candidates(self.model):  # it may be what was chosen
            self.encoder_ = self.encoder(rows.table)
            features = self.encode(rows.table)
        self.estimator_ = self.estimator().fit(features, rows, **self.began(rows))
        self.ignoring_ = None
        if self.rule is not None:
            plain = self.estimator(ignoring=True)
            untold = replace(rows, flag=None, stock=None, time=None, series=None)
            self.ignoring_ = None if plain is None else plain.fit(features, untold)
        remarks: list[str] = []
        if self.encoder_ is not None:
            remarks = self.encoder_.doubts_ + self.encoder_.remarks(rows.table)
        told = rows.flag is not None or rows.stock is not None
        if told and not hasattr(self.rule, "fit"):
            remarks.append(
                "Flags and stock were used for evaluation only, because the band is fixed."
            )
        self.notes_ = (*rows.notes, *remarks, *getattr(self.estimator_, "notes_", ()))
        self.n_rows_ = rows.observed.size
        self.reach_ = self.reach(rows)
        some = np.unique(np.linspace(0, self.n_rows_ - 1, 2000).astype(np.intp))
        decided = self.decide(rows.table[some], 1 if self.problem == "newsvendor" else None)
        self.notes_ += self._count_outside(decided.outside_data, " of training rows")
        ages = decided.decision[np.isfinite(decided.decision)]
        if self.from_distribution and self.encoder_ is not None and ages.size:
            low, high = np.quantile(ages, [0.05, 0.95])
            self.estimator_.found_["text"] = (
                f"{OUTSIDE[self.problem][0].capitalize()} of the training rows are {low:,.4g} to "
                f"{high:,.4g} (90% of them), {ages.mean():,.4g} on average."
            )
        self.comparison_: Comparison | None = None
        self.history_ = keep_history(self, rows, features)
        self.explainer_: DecisionExplainer | None = None
        if explain:
            model = getattr(self.estimator_, "model_", None)
            if self.problem != "newsvendor" or not isinstance(model, DecisionModel) or self.by:
                raise Unsupported(
                    "explain needs problem 'newsvendor' and one model for all rows, got "
                    + (f"by={list(self.by)}." if self.by else f"problem {self.problem!r}.")
                )
            self.explainer_ = DecisionExplainer(model).fit(
                features, rows.observed, sample_weight=rows.weight
            )
        return self

    @property
    def diagnosis_(self) -> Diagnosis | None:
        """Diagnosis of the band rule; None if censoring was not estimated."""
        check_is_fitted(self, "estimator_")
        found: Diagnosis | None = self.estimator_.diagnosis_
        return found

    def rows(self, table: Any) -> TableRows:
        """Read the columns of a table, leaving out rows without an observation."""
        columns = as_polars(table)
        require_columns(columns, self.features, "features")
        require_columns(columns, self.by, "by")
        taken = ("underage", "overage", "stock", "weight", "date")
        return read_rows(
            columns,
            self.observed,
            **{key: self.column(key) for key in taken},
            flag=self.flag,
            opposite=self.column("failed") is not None,
            series=self.series or tuple(self.by),
            bad_rows=self.bad_rows if self.problem == "newsvendor" else None,
        )

    def began(self, rows: TableRows) -> dict[str, Array]:
        """Give the ages of parts when records began, for the estimator; empty without a column."""
        name = self.column("entry")
        return {} if name is None else {"entry": finite(rows.table, name, "columns['entry']")}

    def reach(self, rows: TableRows) -> dict[str, tuple[float, float]]:
        """Find the smallest and largest observation, and value of each numeric feature."""
        seen = {self.observed: rows.observed}
        if self.encoder_ is not None:  # of the calendar, a trend always goes on
            known = [name for name in self.encoder_.medians_ if name in self.features]
            seen |= {name: numbers(rows.table, name, "features") for name in known}
        return {n: (float(np.nanmin(each)), float(np.nanmax(each))) for n, each in seen.items()}

    def encoder(self, table: pl.DataFrame, model: str = "") -> TableEncoder | None:
        """Fit an encoder of the features of a model; None for a single age for all parts."""
        features, categories, calendar = self.features, self.categories, self.calendar
        if (model or self.model_name) == "seasonal":
            features, categories, calendar = self.series, self.series, ("weekday",)
        if not features and not calendar:
            if self.problem == "replacement":
                return None
            raise InvalidInput(
                "features must have at least one column, got none: name one (features=)."
            )
        encoder = TableEncoder(list(features), list(categories), self.date, list(calendar))
        fitted: TableEncoder = encoder.fit(table)
        return fitted

    def encode(self, table: pl.DataFrame) -> Any:
        """Give the features as numbers, with the columns of groups if there are any."""
        if self.encoder_ is None:
            return None
        features = self.encoder_.transform(table)
        if not self.by:
            return features

        dense = features.toarray() if sparse.issparse(features) else features
        names = [f"feature {place}" for place in range(dense.shape[1])]
        groups = [as_categories(table[name]).alias(name) for name in self.by]
        return pl.DataFrame(dense, schema=names).with_columns(groups)

    def estimator(self, *, ignoring: bool = False) -> Any:
        """Make the unfitted estimator; `ignoring` takes observations for the truth.

        None if there is nothing to ignore.
        """
        cost, rule = self.cost, self.rule
        if isinstance(cost, AgeReplacement | Revenue):
            assert isinstance(rule, LatentBand)
            rule = clone(rule)
            if rule.location == "auto":
                rule.location = DISTRIBUTIONS[str(self.model)]
            if isinstance(cost, Revenue):
                return None if ignoring else RuleEstimator(cost, rule)
            if rule.families == "auto":
                rule.families = "lifetimes"
            return RuleEstimator(cost, rule, know_flags=not ignoring)
        model = make_model(self.model_name, cost, None if ignoring else rule, self.random_state)
        if self.by:
            from unmet import GroupedDecision

            model = GroupedDecision(model, by=list(self.by), random_state=self.random_state)
        return ModelEstimator(model, offers=self.problem == "pricing")

    # --- Deciding.

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
            Rows with the feature columns; other columns are ignored.
        step, lower, upper, minimum
            Lots, bounds and minimum order quantity, as for `LinearDecision.decide`.

        Returns
        -------
        Decisions
            Decisions, and findings about the rows.
        """
        check_is_fitted(self, "estimator_")
        rows = _some_rows(table)
        require_columns(rows, self.by, "by")
        remarks = [] if self.encoder_ is None else self.encoder_.remarks(rows)
        if self.by:
            remarks += self._unseen_groups(rows)
        limits = (step, lower, upper, minimum)
        estimators = [each for each in (self.estimator_, self.ignoring_) if each is not None]
        if self.encoder_ is None:
            found = [np.full(rows.height, each.decide(None, *limits)[0]) for each in estimators]
        else:
            parts = [
                [each.decide(features, *room) for each in estimators]
                for features, room in self._blocks(rows, limits)
            ]
            found = [np.concatenate(each) for each in zip(*parts, strict=True)]
        if self.reach_[self.observed][0] >= 0.0:  # so no decision is below 0
            found = [np.maximum(each, 0.0) for each in found]
        never = int(np.isinf(found[0]).sum())
        if never:
            remarks += [f"Replace at failure in {never:,} rows: planned replacement costs more."]
        outside = self._outside(found[0], rows)
        remarks += self._count_outside(outside)
        ignoring = found[1] if len(found) > 1 else None
        return Decisions(found[0], ignoring, tuple(remarks), outside)

    def _outside(self, decision: Array, rows: pl.DataFrame) -> NDArray[np.str_]:
        """Say of each decision why it lies outside of what was observed; nothing where inside."""
        _, above, below = OUTSIDE[self.problem]
        low, high = self.reach_[self.observed]
        said = np.where(np.isfinite(decision) & (decision > high), above, "")
        said = np.where(decision < low, below, said)
        strange = np.zeros(decision.size, dtype=np.bool_)
        for name, (least, most) in self.reach_.items():
            if name != self.observed:
                values = numbers(rows, name, "features")
                strange |= (values < least) | (values > most)
        both = np.where(said == "", STRANGE, np.char.add(said, f"; {STRANGE}"))
        return np.asarray(np.where(strange, both, said))

    def _count_outside(self, outside: NDArray[np.str_], which: str = "") -> tuple[str, ...]:
        """Count decisions outside of what was observed, a sentence for each reason."""
        what, *reasons = OUTSIDE[self.problem]
        low, high = self.reach_[self.observed]
        ends = {reasons[0]: f" ({high:,.4g})", reasons[1]: f" ({low:,.4g})", STRANGE: ""}
        counts = {each: int((np.char.find(outside, each) >= 0).sum()) for each in ends if each}
        return tuple(
            Note(
                f"{count:,} of {outside.size:,} {what}{which} "
                f"{'have' if reason == STRANGE else 'are'} {reason}{ends[reason]}: check them "
                "(column outside_data).",
                count / outside.size,
            )
            for reason, count in counts.items()
            if count
        )

    def explain(
        self,
        table: Any,
        step: ArrayLike | None = 1,
        lower: ArrayLike | None = 0,
        upper: ArrayLike | None = None,
        minimum: ArrayLike | None = None,
        *,
        contributions: bool = False,
    ) -> pl.DataFrame:
        """Split orders into usual sales, hidden demand, cost of running out, and rounding.

        Parameters
        ----------
        table : table of pandas, polars or pyarrow
            As in `decide`.
        step, lower, upper, minimum
            Lots, bounds and minimum order quantity, as for `LinearDecision.decide`.
        contributions : bool, default=False
            Whether to add the contribution of each column of the table to the order before
            rounding, for a linear model and for trees.

        Returns
        -------
        polars.DataFrame
            ``usual_sales``, ``hidden_demand``, ``cost_of_running_out`` and ``rounding`` of each
            row, and their sum, the ``decision``. With `contributions` also ``mean_decision`` and a
            column ``from_…`` for each column, whose sum is the decision minus its rounding.

        Examples
        --------
        >>> from unmet import Band, DecisionPlan, Newsvendor
        >>> from unmet.simulate import store10
        >>> table = store10(seed=0).train.to_polars()
        >>> plan = DecisionPlan("sales", ["category"], Newsvendor(3, 1), band=Band(20, 20))
        >>> parts = plan.fit(table, explain=True).explain(table.head(1))
        >>> round(parts["hidden_demand"][0]), round(parts["decision"][0])
        (20, 136)
        """
        check_is_fitted(self, "estimator_")
        if self.explainer_ is None:
            raise InvalidInput("explain needs a plan fitted with explain=True: fit it again.")
        found = []
        for features, room in self._blocks(_some_rows(table), (step, lower, upper, minimum)):
            parts = self.explainer_.explain(
                features, *room[:3], minimum=room[3], contributions=contributions
            )
            columns = parts.columns()
            if parts.contributions is not None and self.encoder_ is not None:
                columns["mean_decision"] = parts.contributions[:, -1]
                for place, source in enumerate(self.encoder_.sources):
                    name = f"from_{source}"
                    columns[name] = columns.get(name, 0.0) + parts.contributions[:, place]
            found.append(pl.DataFrame(columns))
        return pl.concat(found)

    def _blocks(
        self, rows: pl.DataFrame, limits: tuple[Any, ...]
    ) -> Iterator[tuple[Any, list[Any]]]:
        """Features of some rows at a time, with the limits that hold for them."""
        for part in slices(rows.height, _BLOCK):
            room = [each if np.ndim(each) == 0 else np.asarray(each)[part] for each in limits]
            yield self.encode(rows[part]), room

    def _unseen_groups(self, table: pl.DataFrame) -> list[str]:
        """Name groups that have no model of their own."""
        by = list(self.by)
        groups = pl.DataFrame([as_categories(table[name]).alias(name) for name in by])
        known = pl.DataFrame({name: self.groups_[name] for name in by})
        strange = groups.join(known, on=by, how="anti").unique(maintain_order=True)
        if not strange.height:
            return []
        shown = "; ".join(", ".join(row) for row in strange.head(_SHOWN).iter_rows())
        more = f" and {strange.height - _SHOWN:,} more" if strange.height > _SHOWN else ""
        return [
            Note(
                f"New groups of {', '.join(by)} were decided by the model of all groups: "
                f"{shown}{more}."
            )
        ]


def _some_rows(table: Any) -> pl.DataFrame:
    rows = as_polars(table)
    if not rows.height:
        raise InvalidInput("table must have at least one row, got none.")
    return rows
