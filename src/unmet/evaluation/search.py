"""Search of hyperparameters for any model, with Optuna: Steps 1 and 2 of the paper."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from unmet.arrays import Band, Places, common_rows, read_missing
from unmet.censoring import BandRule
from unmet.censoring.searched import quiet
from unmet.costs import Cost
from unmet.errors import InvalidInput, MissingPackage, UnmetError, Unsupported
from unmet.estimators.base import read_band, read_cost
from unmet.rows import read_column, read_weights
from unmet.validation import Seed, WholeNumber, is_whole

if TYPE_CHECKING:
    from optuna import Study, Trial

__all__ = ["search"]

Parameters = Mapping[str, Any]

NO_TRUTH = (
    "search has no truth to score on, so it prices held-out decisions on the observations, with "
    "the candidate's own band: that prefers orders that are too low and bands that are too wide. "
    "Give truth where some rows have one, or accept it with score='observed'."
)


def search(
    estimator: Any,
    space: Callable[[Trial], Parameters | None],
    X: Any,
    y: Any,
    *,
    truth: Any = None,
    score: Any = None,
    cv: Any = 5,
    fit_parameters: Mapping[str, Any] | None = None,
    trials: int = 50,
    batch: int = 1,
    random_state: int | np.random.RandomState | None = None,
) -> Study:
    """Search the parameters whose decisions cost least on held-out rows.

    This is Step 1 of App. training, Algorithm 1, for any model. Each combination is trained on a
    part of the rows and evaluated on the rest, several times. The tree-structured Parzen estimator
    chooses the next combination. The paper used that of Hyperopt, which is no longer maintained;
    this function uses that of Optuna (``pip install 'unmet[tune]'``).

    Parameters
    ----------
    estimator : estimator
        A model of this package, a pipeline that ends in one, or, with a callable `score`, any
        regressor. Give it an int as ``random_state``; otherwise results cannot be repeated.
    space : callable
        Function that gets a trial of Optuna, asks it for values (``trial.suggest_float("strength",
        1e-4, 1, log=True)``) and returns parameters of the estimator by name
        (``"linear__strength"`` in a pipeline), or None if a combination is not allowed.
    X : table, array-like or sparse matrix of shape (n_rows, n_features)
        Features.
    y : array-like of shape (n_rows,)
        Observations.
    truth : array-like of shape (n_rows,), optional
        The truth, NaN or None if unknown. Held-out decisions are then evaluated by their realised
        cost, on the rows with a truth. Training never sees it.
    score : "observed" or callable, default=None
        How to evaluate held-out decisions. None uses `truth`. Without a truth, it is "observed"
        with a warning: the ε-insensitive cost on held-out observations, with each candidate's own
        cost and band (Algorithm 1). That score does not see that sales are censored, and it falls
        with every wider band. A callable gets the fitted model, X and y of the held-out rows;
        smaller is better.
    cv : int, splitter or pairs of row numbers, default=5
        Splits. An int is the number of random splits into 75% and 25%, the same for all trials. For
        dated rows give ``RollingOrigin(...).split(X, groups=dates)``.
    fit_parameters : mapping, optional
        Arguments of ``fit`` with one entry per row: ``sample_weight``, ``underage``, ``overage``,
        ``censored``, ``stock``, ``time``, ``series``. The first three also count in the score.
    trials : int, default=50
        Number of combinations to try. More trials take longer and find better parameters.
    batch : int, default=1
        Number of trials that are chosen before any of them is evaluated. A model with ``fit_many``
        trains all of them on all folds in one call, which is much faster. Larger batches learn less
        from earlier trials.
    random_state : int, RandomState or None, default=None
        Seed of the combinations and of the random splits. None draws a new seed in each search.

    Returns
    -------
    optuna.Study
        Study in memory, with `trials`, `best_trial`, `best_value` and `best_params`;
        ``space(study.best_trial)`` gives the best parameters. The value of a trial is its mean cost
        over the folds, or inf if it was refused or could not be trained. ``trial.user_attrs`` holds
        "fold_costs" and, for those, "sentence". The best value is the least of many and therefore
        too low: evaluate the decisions on rows that the search has not seen.

    Examples
    --------
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.evaluation.search import search
    >>> from unmet.simulate import censoring_lab
    >>> data = censoring_lab("normal", orders="noisy", n=200, n_test=50).train
    >>> model = LinearDecision(Newsvendor(underage=4, overage=1), penalty="l2")
    >>> def space(trial):
    ...     return {"strength": trial.suggest_float("strength", 1e-4, 1, log=True)}
    >>> study = search(
    ...     model, space, data.features, data.sales, truth=data.demand, trials=12, random_state=0
    ... )
    >>> best = model.set_params(**space(study.best_trial)).fit(data.features, data.sales)
    >>> best.strength == study.best_params["strength"]
    True
    """
    optuna = MissingPackage.or_load("search", "optuna", "tune")
    if not callable(space):
        raise InvalidInput(
            f"space must be a function of a trial that returns parameters, got {space!r:.60}."
        )
    WholeNumber(1)("trials", trials)
    WholeNumber(1)("batch", batch)
    seed = Seed()("random_state", random_state)
    pricing = _Pricing(estimator, X, y, truth, score, cv, fit_parameters, seed)
    # A combination depends on the seed, on its number, and on the trials before its batch.
    with quiet(optuna):
        study = optuna.create_study(study_name="search")
        for start in range(0, trials, batch):
            asked, models, named = [], [], []
            for number in range(start, min(start + batch, trials)):
                state = np.random.SeedSequence([seed, number]).generate_state(1)
                # all options are said, so that versions of Optuna with other defaults agree
                study.sampler = optuna.samplers.TPESampler(
                    seed=int(state[0]), n_startup_trials=10, multivariate=True, constant_liar=True
                )
                asked.append(study.ask())
                parameters = space(asked[-1])
                if parameters is None:
                    continue
                models.append((len(asked) - 1, pricing.candidate(parameters)))
                named.append(tuple(parameters))
            outcomes = pricing.outcomes([model for _, model in models], named)
            found = dict(zip([place for place, _ in models], outcomes, strict=True))
            for place, trial in enumerate(asked):
                costs = found.get(place, ["space does not allow this combination."])
                sentences = [each for each in costs if isinstance(each, str)]
                paid = [np.inf if isinstance(each, str) else each for each in costs]
                trial.set_user_attr("fold_costs", paid)
                if sentences:
                    trial.set_user_attr("sentence", sentences[0])
                study.tell(trial, np.inf if sentences else float(np.mean(paid)))
    if not np.isfinite(study.best_value):
        said = [trial.user_attrs.get("sentence") for trial in study.trials]
        why = next((each for each in said if each is not None), "score is not finite.")
        raise InvalidInput(f"space must hold something that can be trained: {why}")
    return study  # type: ignore[no-any-return]


# --- Training candidates on folds and evaluating them: all at once where the model can.

Outcome = float | str
"""Cost on the held-out rows of a fold, or the sentence that says why there is none."""


class _Pricing:
    """What all candidates are trained and evaluated on; smaller is better."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        truth: Any,
        score: Any,
        cv: Any,
        known: Mapping[str, Any] | None,
        seed: int,
    ) -> None:
        self.estimator = estimator
        self.X: Any = X
        if sparse.issparse(X):
            self.X = self.X.tocsr()
        n_rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        self.y = read_column("y", y, n_rows)
        self.known = {name: value for name, value in (known or {}).items() if value is not None}
        for name, value in self.known.items():
            size = n_rows if np.isscalar(value) else len(value)
            if size != n_rows:
                raise InvalidInput(
                    f"fit_parameters must have one entry per row of X, got {size} for {name} "
                    f"and {n_rows} rows."
                )
        if score not in (None, "observed") and not callable(score):
            raise InvalidInput(f"score must be 'observed', a callable or None, got {score!r:.60}.")
        if truth is not None and score is not None:
            raise InvalidInput(f"truth is only used where score is None, got score={score!r:.60}.")
        if truth is None and score is None:
            warnings.warn(NO_TRUTH, UserWarning, stacklevel=3)
        self.call = score if callable(score) else None
        self.truth = None if truth is None else read_missing("truth", truth, n_rows)
        if self.call is None and "cost" not in _last_step(estimator).get_params(deep=False):
            name = type(_last_step(estimator)).__name__
            raise Unsupported(f"search needs a callable score for {name}, which has no cost.")
        self.folds = _read_folds(cv, self.X, y, n_rows, seed)
        for place, (_, held_out) in enumerate(self.folds):
            if self.truth is not None and np.isnan(self.truth[held_out]).all():
                raise InvalidInput(
                    "truth must be known for some held-out row of every split, "
                    f"got none in split {place}."
                )

    def candidate(self, parameters: Any) -> Any:
        """Set parameters on a copy; names that the estimator lacks are a mistake of `space`."""
        try:
            model = clone(self.estimator).set_params(**parameters)
        except (AttributeError, TypeError, ValueError) as error:
            kind, text = type(self.estimator).__name__, " ".join(str(error).split()).rstrip(".")
            raise InvalidInput(f"space must return parameters of {kind}, got {text}.") from None
        for per_row in _per_row(model).values():
            rows = {"y": np.broadcast_to(0.0, self.y.size), **per_row.parameters()}
            common_rows(rows)  # a longer one would be cut without a word
        return model

    def outcomes(
        self, models: Sequence[Any], named: Sequence[Sequence[str]]
    ) -> list[list[Outcome]]:
        """Outcomes of all folds, for each model; `named` are the parameters that were set.

        Call `fit_many` once for all; where that fails, for each, to see whose fault it is.
        """
        if not hasattr(self.estimator, "fit_many") or not models:
            return [[self._outcome(model, fold) for fold in self.folds] for model in models]
        jobs = []
        for model, names in zip(models, named, strict=True):
            given = model.get_params(deep=False)
            changed = {name: given[name] for name in {each.partition("__")[0] for each in names}}
            jobs += [{**changed, "rows": train} for train, _ in self.folds]
        try:
            fitted = iter(self.estimator.fit_many(self.X, self.y, jobs, n_jobs=1, **self.known))
        except UnmetError as error:
            if len(models) == 1:
                return [[str(error)] * len(self.folds)]
            alone = zip(models, named, strict=True)
            return [self.outcomes([model], [names])[0] for model, names in alone]
        return [
            [self._outcome(model, fold, next(fitted)) for fold in self.folds] for model in models
        ]

    def _outcome(self, model: Any, fold: tuple[Places, Places], fitted: Any = None) -> Outcome:
        """Give a cost, or the sentence of our own error; every other error is a bug and raised."""
        train, held_out = fold
        try:
            if fitted is None:
                fitted = clone(model)
                chosen = {name: value.take(train) for name, value in _per_row(model).items()}
                _last_step(fitted).set_params(**chosen)
                told = {name: _take(value, train) for name, value in self.known.items()}
                fitted.fit(_take(self.X, train), self.y[train], **told)
            return self._cost(model, fitted, held_out)
        except UnmetError as error:
            return str(error)

    def _cost(self, model: Any, fitted: Any, rows: Places) -> float:
        """Mean cost of a fitted model on rows that it has not seen."""
        if self.call is not None:
            paid = self.call(fitted, _take(self.X, rows), self.y[rows])
            if not isinstance(paid, Real) or isinstance(paid, bool) or np.isnan(float(paid)):
                raise InvalidInput(f"score must return a number, got {paid!r:.60}.")
            return float(paid)
        if self.truth is not None:
            rows = rows[~np.isnan(self.truth[rows])]
        held_out = _take(self.X, rows)
        by_row = {name: _take(self._told(name), rows) for name in ("underage", "overage")}
        cost = read_cost(_last_step(model).cost).take(rows).with_rows(**by_row)
        decision = fitted.predict(held_out)
        if self.truth is not None:
            losses = cost.cost(decision, self.truth[rows])
        else:
            band = _band(model, fitted, held_out, rows, cost)  # Algorithm 1
            losses = cost.loss(decision, self.y[rows], band)
        share = read_weights(_take(self._told("sample_weight"), rows), rows.size)
        return float(losses.mean() if share is None else losses @ share)

    def _told(self, name: str) -> Any:
        """Find what `fit` is told under a name, or under that name of a pipeline's step."""
        found = [v for told, v in self.known.items() if told.rpartition("__")[2] == name]
        return found[0] if found else None


def _band(model: Any, fitted: Any, held_out: Any, rows: Places, cost: Cost) -> Band | None:
    """Band of held-out rows: given, or by the rule that the model has fitted."""
    given = read_band(getattr(_last_step(model), "band", None))
    if not isinstance(given, BandRule):
        return None if given is None else given.take(rows)
    if isinstance(fitted, Pipeline):
        held_out = fitted[:-1].transform(held_out)
    band: Band = _last_step(fitted).band_rule_.band(held_out, cost=cost)
    return band


def _last_step(model: Any) -> Any:
    """Give the estimator that decides: of a pipeline its last step."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def _per_row(model: Any) -> dict[str, Cost | Band]:
    """Cost and band of the estimator that decides, by name, where they are given."""
    given = _last_step(model).get_params(deep=False)
    return {n: given[n] for n in ("cost", "band") if isinstance(given.get(n), Cost | Band)}


def _take(values: Any, rows: Places) -> Any:
    """Choose rows of a table or column, in its own kind; None and single numbers hold for all."""
    if values is None:
        return None
    array = values if hasattr(values, "shape") else np.asarray(values)
    return array if array.shape == () else _safe_indexing(array, rows)


def _read_folds(cv: Any, X: Any, y: Any, n_rows: int, seed: int) -> list[tuple[Places, Places]]:
    """Row numbers to learn from and held out, of random splits, a splitter or pairs."""
    from sklearn.model_selection import ShuffleSplit, check_cv  # slow to import

    try:
        if is_whole(cv):
            splits = WholeNumber(1)("cv", cv)
            pairs = ShuffleSplit(splits, test_size=0.25, random_state=seed).split(np.empty(n_rows))
        else:
            pairs = check_cv(cv).split(X, y)
        folds = [(np.asarray(train), np.asarray(held)) for train, held in pairs]
    except InvalidInput:
        raise
    except (TypeError, ValueError) as error:  # of scikit-learn
        why = str(error).rstrip(".")
        raise InvalidInput(f"cv must split {n_rows} rows, got {cv!r:.60}: {why}.") from None
    good = all(part.size and part.dtype.kind in "iu" for fold in folds for part in fold)
    if not folds or not good:
        raise InvalidInput("cv must hold pairs of row numbers to learn from and numbers held out.")
    return [(train.astype(np.intp), held.astype(np.intp)) for train, held in folds]
