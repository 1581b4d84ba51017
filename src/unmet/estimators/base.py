"""Code that all decision models share: reading costs and bands, and methods of a fitted model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, Self, TypeAlias, TypeVar, cast

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from unmet.arrays import Array, Band, Features, PerRow, common_rows
from unmet.censoring.model import Diagnosis
from unmet.censoring.rule import BandRule
from unmet.costs import Cost, Newsvendor
from unmet.costs.base import A_COST
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.lots import GroupShiftCost, ShiftCost, to_lots
from unmet.persistence import save
from unmet.rows import Rows, read_column, read_features, read_weights
from unmet.solvers.blocks.dask import map_rows
from unmet.solvers.blocks.source import BlockSource
from unmet.validation import one_thread, refusal

Method = TypeVar("Method", bound=Callable[..., Any])
ChosenBand: TypeAlias = tuple[Band | None, BandRule | None, Diagnosis | None]

_EVEN = Newsvendor(underage=1.0, overage=1.0)


# --- What a model is given: a cost, a band or a rule for one, and what is known of its rows.


def read_cost(cost: Any) -> Cost:
    """Read the cost of an estimator; None is the cost of the median."""
    known: Cost = _EVEN if cost is None else A_COST("cost", cost)
    return known


def read_band(band: Any) -> Band | BandRule | None:
    """Read the band or rule of an estimator: None is no band, a name is a rule with defaults."""
    if band is None or isinstance(band, Band | BandRule):
        return band
    if isinstance(band, str) and band in ("latent", "searched"):
        # a model without them does not need them
        from unmet.censoring import LatentBand, SearchedBand

        return LatentBand() if band == "latent" else SearchedBand()
    allowed = "a Band, a band rule such as LatentBand(), 'latent', 'searched' or None"
    raise refusal("band", allowed, band)


def choose_band(
    model: BaseEstimator,
    cost: Cost,
    band: Band | BandRule | None,
    given: Rows,
    learned: dict[int, BandRule] | None = None,
) -> ChosenBand:
    """Find the band for a cost, the rule that gave it (if any), and the diagnosis of the rule.

    A copy of the rule learns from all given rows; the estimator's own rule stays unfitted.
    `learned` holds rules that already learned from these rows, from the first cost that used them.
    """
    if not isinstance(band, BandRule):
        return band, None, None
    learned = {} if learned is None else learned
    rows, first = given.evaluated(cost), id(band) not in learned
    if first:
        bare = clone(model).set_params(band=None)
        learned[id(band)] = clone(band).fit_rows(rows, cost, estimator=bare)
    rule = learned[id(band)]
    found = rule.diagnosis_ if first else rule.diagnosis_for(cost)
    return rule.band_rows(rows), rule, found


def check_used(band: Band | BandRule | None, **known: Any) -> None:
    """Refuse flags that no rule would read, which would be a silent mistake; dates do no harm."""
    for name, value in known.items():
        if value is not None and not isinstance(band, BandRule):
            raise InvalidInput(
                f"{name} is only used by a band rule such as LatentBand(), got band={band!r}."
            )


# --- One BLAS thread inside a fit.


def one_blas_thread() -> AbstractContextManager[Any]:
    """Let the linear algebra inside the ``with`` use one thread.

    The matrices of a solver are small. Threads that wait for each other in every product cost more
    than they save. The limit belongs to the process: if fits overlap in several Python threads, the
    first one that ends lifts it.
    """
    return one_thread("blas")


# --- Rows that are not in memory.


def is_dask(X: Any) -> bool:
    """Whether `X` is a Dask data frame; does not import Dask."""
    return bool(nw.dependencies.is_dask_dataframe(X))


def check_in_memory(model: Any, X: Any) -> None:
    """Refuse a Dask or Spark frame, before a function reads all of it by accident."""
    known = isinstance(X, BlockSource) or is_dask(X)
    table = hasattr(type(X), "columns") and not hasattr(X, "__array__")
    if not known and (not table or nw.dependencies.is_into_dataframe(X)):
        return
    package = type(X).__module__.partition(".")[0]
    remedy = {
        "dask": "read a sample of it, frame.sample(frac=0.1).compute(), or use LinearDecision",
        "polars": "read the rows by X.collect()",
        "unmet": "read a sample of the rows, or use LinearDecision",
    }.get(package, "fit in a function that gets tables, see docs/guides/scale.md")
    raise Unsupported(
        f"X must be a table in memory for {type(model).__name__}, "
        f"got {package} {type(X).__name__}: {remedy}."
    )


def by_partition(method: Method) -> Method:
    """Let a method that gives one number per row accept a Dask frame and return a Dask Series."""

    @wraps(method)
    def decided(self: Any, X: Any, *values: Any, **named: Any) -> Any:
        if not is_dask(X):
            check_in_memory(self, X)
            return method(self, X, *values, **named)
        check_is_fitted(self)
        self._check_names(X._meta)
        given = signature(method).bind(self, X, *values, **named).arguments
        return map_rows(self, method.__name__, X, dict(list(given.items())[2:]))

    return cast(Method, decided)


# --- Tables in, the same kind of tables out, with one more column.


def open_frame(frame: Any, *columns: str | None) -> nw.DataFrame[Any]:
    """Open a table in memory that has these columns and at least one row."""
    if not nw.dependencies.is_into_dataframe(frame):
        raise Unsupported(
            "The frame must be a table of pandas, polars or pyarrow in memory, got a "
            f"{type(frame).__name__}."
        )
    opened: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
    for each in columns:
        if each is not None and each not in opened.columns:
            raise InvalidInput(
                f"The frame must have the column {each!r}, got the columns "
                f"{', '.join(map(str, opened.columns[:20]))}."
            )
    if not len(opened):
        raise InvalidInput("The frame must have at least one row, got none.")
    return opened


def numbers(frame: nw.DataFrame[Any], *names: str) -> Array:
    """Give columns of finite numbers next to each other, of shape (n_rows, n_columns)."""
    return np.column_stack([read_column(name, frame[name].to_native()) for name in names])


def with_column(frame: nw.DataFrame[Any], name: str, values: Array) -> nw.DataFrame[Any]:
    """Add a column of numbers at the end; refuse a name that is taken."""
    if not isinstance(name, str):
        raise InvalidInput(f"name must be the text over a column, got {name!r}.")
    if name in frame.columns:
        raise InvalidInput(f"name must be that of a new column, got {name!r}, which is there.")
    column = nw.new_series(name, values, backend=frame.implementation)
    return frame.with_columns(column)


# --- The base class.


class DecisionModel(RegressorMixin, BaseEstimator):
    """A scikit-learn estimator whose predictions are decisions.

    A subclass fits and predicts. After the fit it has ``cost_`` and the two private attributes that
    `score` and `decide` read.
    """

    cost: Any
    band: Any
    cost_: Cost
    _by_row: tuple[str, ...]
    """Names of the costs that `fit` was given row by row; they say nothing about new rows."""
    _shift_cost: ShiftCost
    least_: float = -np.inf
    """Predictions are never below this; `unmet.lifetimes.lifetimes.fit_rate` sets it: ages are
    positive."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        underage: ArrayLike | None = None,
        overage: ArrayLike | None = None,
        censored: Any = None,
        stock: Any = None,
        time: Any = None,
        series: Any = None,
    ) -> Self:
        """Learn from features and observations.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features), or Dask frame
            Features from pandas, polars, numpy or scipy.sparse: finite numbers, at least two rows.
            `BoostedDecision` also accepts missing entries and categories, and `GroupedDecision` the
            columns of its groups. `LinearDecision` and `GroupedDecision` accept a Dask data frame,
            with Dask Series of the same frame instead of arrays. The first leaves rows in their
            partitions, the second reads them into memory. `LinearDecision` also accepts a source of
            `unmet.solvers.blocks`, which contains all columns; then give no other arguments.
        y : array-like of shape (n_rows,)
            Observations s: sales, accepted prices, replacement times. The name y is scikit-learn's;
            the y of the paper is the decision.
        sample_weight : array-like of shape (n_rows,), optional
            Non-negative weights of the rows. Only ratios matter, and rows of weight 0 do not count.
            None weights all rows equally.
        underage, overage : float or array-like of shape (n_rows,), optional
            Costs that replace those of `cost`, usually one per row. None keeps those of `cost`.
        censored : array-like of shape (n_rows,), or Limits, optional
            Flags for a band rule: True if the truth is at least the observation, False if the truth
            is the observation, None or NaN if unknown. `Limits` give a lower and an upper limit of
            each truth.
        stock : array-like of shape (n_rows,), optional
            Available stock, for a band rule: s ≥ stock means censored, s < stock means seen.
        time, series : array-like of shape (n_rows,), optional
            Date and series of each row, for a band rule. `GroupedDecision` uses its groups as
            series if you give none.

        Returns
        -------
        DecisionModel
            Itself.
        """
        known = sample_weight, censored, stock, time, series
        return self._fit(X, y, {"underage": underage, "overage": overage}, known)

    def _fit(self, X: Any, y: Any, costs: dict[str, Any], known: tuple[Any, ...]) -> Self:
        """Learn, with costs of rows by name and what else is known in the order of `Rows.of`."""
        raise NotImplementedError

    def _read(
        self,
        X: Any,
        y: Any,
        costs: dict[str, Any],
        known: tuple[Any, ...],
        read: Callable[[Any], Features] | None = None,
    ) -> tuple[Rows, Band | BandRule | None]:
        """Read what `fit` is given, and the parameters that all models have."""
        check_in_memory(self, X)
        cost, band = read_cost(self.cost).with_rows(**costs), read_band(self.band)
        check_used(band, censored=known[1], stock=known[2])
        features = read_features(X, at_least=2) if read is None else read(X)
        observation = read_column("y", y, features.shape[0])
        return Rows.of(cost, features, observation, *known, at_least=2), band

    def _read_validation(self, given: Any, X: Any, costs: dict[str, Any]) -> tuple[Any, Any]:
        """Check a pair (X, truth) against the features that are trained on, names included."""
        if not isinstance(given, tuple) or len(given) != 2:
            raise InvalidInput(f"validation must be a pair (X, truth) or None, got {given!r:.60}.")
        for name, value in costs.items():
            if np.ndim(value):
                raise InvalidInput(f"validation needs one {name} for all rows, got one each.")
        reader = type(self)()
        reader._learn_names(X)
        try:
            reader._check_names(given[0])
        except InvalidInput as error:
            said = " ".join(str(error).split())
            raise InvalidInput(f"validation must have the features of X: {said}") from None
        return given

    @abstractmethod
    def predict(self, X: Any) -> Array:
        """Decide for each row."""

    @by_partition
    def decide(
        self,
        X: Any,
        step: ArrayLike | None = 1,
        lower: ArrayLike | None = 0,
        upper: ArrayLike | None = None,
        *,
        minimum: ArrayLike | None = None,
    ) -> Array:
        """Decide in whole lots, within bounds, and with a minimum order quantity.

        Of the two lots next to `predict`, the method takes the one that would have cost less on the
        training rows, if all their decisions had been off by the same amount. For a newsvendor with
        small lots, this is the nearest lot. For large lots it is the upper lot as soon as the
        decision is more than a share 1 − α of the way there, with the critical ratio α = underage /
        (underage + overage).

        Parameters
        ----------
        X : table, array-like, sparse matrix or Dask frame of shape (n_rows, n_features)
            Features. With a Dask frame, every argument with one entry per row is a Dask Series of
            the same frame.
        step : float or array-like of shape (n_rows,), default=1
            Size of a lot. Decisions are multiples of it. None keeps fractions.
        lower, upper : float or array-like of shape (n_rows,), default=0 and None
            Bounds of the decisions, which hold even if they are not multiples of `step`. None is no
            bound. `upper` is the capacity of one row; for a capacity that rows share use
            `unmet.allocate`.
        minimum : float or array-like of shape (n_rows,), optional
            Minimum order quantity: decisions are 0 or at least this. None is no minimum.

        Returns
        -------
        ndarray of shape (n_rows,), or Dask Series
            Decisions. A Dask Series is computed partition by partition, when it is needed.

        Notes
        -----
        `minimum` is rounded up to a lot. A decision below it goes down to 0 or up to it, whichever
        would have cost less on the training rows, and to 0 if both cost the same. Capacity comes
        first: the decision is 0 if the minimum exceeds `upper`. A `lower` above 0 excludes 0. The
        decision is then at least both, and it is an error if that exceeds `upper`. With a minimum
        no decision is negative, whatever `lower` is.

        Examples
        --------
        >>> from unmet import LinearDecision, Newsvendor
        >>> model = LinearDecision(Newsvendor(underage=3, overage=1))
        >>> model = model.fit([[1], [2], [3], [4]], [11, 19, 31, 39])
        >>> model.predict([[0.3], [2], [3], [4]]).round(1).tolist()
        [4.0, 21.0, 31.0, 41.0]
        >>> model.decide([[0.3], [2], [3], [4]], step=6, upper=36, minimum=24).tolist()
        [0.0, 24.0, 30.0, 36.0]
        """
        return to_lots(*self._with_shifts(X), step, lower, upper, minimum)

    def _with_shifts(self, X: Any) -> tuple[Array, ShiftCost | GroupShiftCost]:
        """Decide for each row, and say what it costs when decisions are off."""
        return self.predict(X), self._shift_cost

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        underage: ArrayLike | None = None,
        overage: ArrayLike | None = None,
    ) -> float:
        """Compute the negative mean realised cost (eq. nvcost), so that greater is better.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Truth. Observations in its place favor decisions that are too low.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows. None weights all rows equally.
        underage, overage : float or array-like of shape (n_rows,), optional
            Costs of these rows. Needed if `fit` was given one per row; None takes the costs of
            `fit`.

        Returns
        -------
        float
            Negative mean cost.
        """
        decision = np.asarray(self._predict_at(X, underage=underage, overage=overage))
        truth = read_column("y", y, decision.size)
        share = read_weights(sample_weight, truth.size)
        given = {"underage": underage, "overage": overage}
        for name in self._by_row:
            if given[name] is None:
                raise InvalidInput(
                    f"{name} must be given to score, because fit was given one per row, got None."
                )
        cost = self.cost_.with_rows(**given)
        common_rows({"y": truth, **cost.parameters()})
        paid = cost.cost(decision, truth)
        return -float(paid.mean() if share is None else paid @ share)

    def _predict_at(self, X: Any, **costs: ArrayLike | None) -> Array:  # noqa: ARG002
        """Decide for rows whose costs are known; most models cannot use them any more."""
        return self.predict(X)

    def save(self, path: str | Path, *, about: dict[str, Any] | None = None) -> Path:
        """Write this model to one file that holds no code; `unmet.load` reads it.

        Parameters
        ----------
        path : str or Path
            File to write. Any name works; ``.unmet`` is customary.
        about : dict, optional
            Further information to store with the model, as plain JSON.

        Returns
        -------
        Path
            The file.

        See Also
        --------
        unmet.save : Saves pipelines, band rules and your own costs as well.
        """
        return save(self, path, about=about)

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters of this model, and of its cost and band.

        Parameters
        ----------
        **parameters
            New values by name. ``cost__underage`` is the underage of the cost, ``band__high`` the
            upper end of the band. Costs and bands never change: the model gets a new one, and the
            old one stays as it is wherever else you use it.

        Returns
        -------
        DecisionModel
            Itself.

        Examples
        --------
        >>> from unmet import LinearDecision, Newsvendor
        >>> cost = Newsvendor(underage=3, overage=1)
        >>> LinearDecision(cost).set_params(cost__underage=9).cost
        Newsvendor(underage=9.0, overage=1.0)
        >>> cost
        Newsvendor(underage=3.0, overage=1.0)
        """
        nested: dict[str, dict[str, Any]] = {}
        others = dict(parameters)
        for name in parameters:
            holder, inside, inner = name.partition("__")
            held = parameters.get(holder, getattr(self, holder, None))
            if inside and isinstance(held, PerRow):
                nested.setdefault(holder, {})[inner] = others.pop(name)
            elif inside and held is None and holder in ("cost", "band"):
                raise InvalidInput(f"{name} needs a {holder} that has it, got {holder}=None.")
        super().set_params(**others)
        for holder, values in nested.items():
            setattr(self, holder, getattr(self, holder).set_params(**values))
        return self

    def to_state(self) -> dict[str, Any]:
        """Give what a saved model holds: everything except the numbers of single training rows.

        If cost or band have one number per row, none of these is kept.
        """
        state, nothing = dict(vars(self)), np.empty(0, dtype=np.intp)
        for name in ("cost_", "band_"):
            if state.get(name) is not None:
                state[name] = state[name].take(nothing)
        return state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.regressor_tags.poor_score = True  # scikit-learn means R², ours is minus a cost
        return tags

    def _keep_choice(
        self, cost: Cost, chosen: ChosenBand, costs: dict[str, Any], shift_cost: ShiftCost
    ) -> None:
        """Set the fitted attributes that all models have."""
        self.__dict__.pop("least_", None)  # of an earlier fit
        self.cost_ = cost
        self.band_, self.band_rule_, self.diagnosis_ = chosen
        self._by_row = tuple(name for name, value in costs.items() if np.ndim(value))
        self._shift_cost = shift_cost

    def _learn_names(self, X: Any) -> None:
        """Set ``n_features_in_`` and ``feature_names_in_``."""
        validate_data(self, X, skip_check_array=True)

    def _check_names(self, X: Any) -> None:
        """Compare with what `fit` has seen."""
        try:
            validate_data(self, X, reset=False, skip_check_array=True)
        except ValueError as error:
            raise InvalidInput(str(error)) from None
