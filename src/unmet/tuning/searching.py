"""The search for hyperparameters: Steps 1 and 2 of the paper, for any model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from unmet.bands.optuna_package import import_optuna
from unmet.errors import InvalidInput, MissingPackage
from unmet.models.checks import read_seed, true_or_false, whole
from unmet.rows import read_column
from unmet.tuning.candidates import Build, read_build
from unmet.tuning.evaluating import Evaluator
from unmet.tuning.fingerprint import fingerprint
from unmet.tuning.folds import read_folds
from unmet.tuning.known import read_known
from unmet.tuning.ledger import Ledger
from unmet.tuning.result import SearchResult
from unmet.tuning.running import Progress, Run
from unmet.tuning.sampling import Sampling
from unmet.tuning.scoring import read_score
from unmet.tuning.space import Space
from unmet.tuning.splits import RollingOrigin


def search(
    estimator: Any,
    space: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    truth: Any = None,
    score: Any = None,
    build: Build | None = None,
    cv: Any = 5,
    time: Any = None,
    fit_parameters: Mapping[str, Any] | None = None,
    trials: int = 50,
    batch: int = 1,
    pruner: Any = None,
    storage: Any = None,
    name: str = "search",
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int = 1,
    refit: bool = True,
    progress: Progress | None = None,
) -> SearchResult:
    """Find the parameters whose decisions cost least on rows that were held out.

    Step 1 of App. training, Algorithm 1, for any model: each combination is trained on a part of
    the rows and priced on the rest, several times; the tree-structured Parzen estimator chooses
    what to try next. The paper used that of Hyperopt, which is no longer maintained; here it is
    that of Optuna (``pip install 'unmet[tune]'``).

    Parameters
    ----------
    estimator : estimator
        A model of this package, a pipeline that ends in one, or with a callable `score` any
        regressor. Give it a whole number as ``random_state``, or results cannot be repeated.
    space : mapping from name to Uniform, Whole, Choice or a distribution of Optuna
        Names are parameters of the estimator (``"linear__strength"`` in a pipeline), or whatever
        `build` understands.
    X : table, array-like or sparse matrix of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
        Observations.
    truth : array-like of shape (n_rows,), optional
        The truth, NaN or None where it is not known: held-out decisions are then priced by what
        they really cost, on the rows that have one. Training never sees it.
    score : {"realised", "observed"} or callable, default=None
        None is "realised" with a `truth` and else "observed", with a warning: the ε-insensitive
        cost on held-out observations, with each candidate's own cost and band (Algorithm 1). It
        cannot tell that sales are censored, and it falls with every wider band. A callable is
        given the fitted model, X and y of the held-out rows; smaller is better.
    build : callable, default=None
        Makes parameters of the estimator from the values sampled, both as dicts; None instead of
        them where a combination is not allowed.
    cv : int, splitter or pairs of row numbers, default=5
        An int is that many random splits into 75% and 25%, the same for all trials.
        `RollingOrigin` needs `time`.
    time : array-like of shape (n_rows,), optional
        For `RollingOrigin`; None takes that of `fit_parameters`.
    fit_parameters : mapping, optional
        What ``fit`` is told, with one entry per row: ``sample_weight``, ``underage``,
        ``overage``, ``censored``, ``stock``, ``time``, ``series``. The first three also count
        in the score.
    trials : int, default=50
        In all, those of a storage among them.
    batch : int, default=1
        Trials that are chosen before any of them is priced. A model with ``fit_many`` trains all
        of them on all folds in one call, which is much faster than one after another.
    pruner : None, "median" or a pruner of Optuna, default=None
        Goes fold by fold and gives up combinations that look bad after some of them.
    storage : None, path or storage of Optuna, default=None
        Where finished trials are kept. A path is a journal file. The same call finds them again
        and goes on: killed at any moment it ends with the same trials as without.
    name : str, default="search"
        Of the study in the storage, which may hold several.
    random_state : int, RandomState or None, default=None
        Seed of the combinations and of the random splits. None is another one for each search,
        but a storage keeps it.
    n_jobs : int, default=1
        Threads of ``fit_many``, processes for other models; -1 is as many as there are cores.
        Answers do not depend on it.
    refit : bool, default=True
        Whether to fit the best on all rows.
    progress : callable, default=None
        Called with the number of trials done, of trials in all, and the least cost so far.

    Returns
    -------
    SearchResult

    Examples
    --------
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.simulate import censoring_lab
    >>> from unmet.tuning import Uniform, search
    >>> data = censoring_lab("normal", orders="noisy", n=200, n_test=50).train
    >>> model = LinearDecision(Newsvendor(underage=4, overage=1), penalty="l2")
    >>> result = search(
    ...     model,
    ...     {"strength": Uniform(1e-4, 1, log=True)},
    ...     data.features,
    ...     data.sales,
    ...     truth=data.demand,
    ...     trials=12,
    ...     random_state=0,
    ... )
    >>> result.scored_by, result.estimator_.strength == result.best_parameters["strength"]
    ('realised', True)
    """
    optuna = import_optuna(MissingPackage.for_extra("search", "optuna", "tune"))
    places = Space.read(space, optuna)
    X = X.tocsr() if sparse.issparse(X) else X  # type: ignore[attr-defined]
    observation = read_column("y", y, _count(X))
    known = read_known(fit_parameters, observation.size)
    make = read_build(build, places.entries, estimator)
    given = None if random_state is None else read_seed(random_state)
    stops = _read_pruner(pruner, optuna)
    whole("trials", trials, 1)
    whole("batch", batch, 1)
    whole_jobs = n_jobs if n_jobs == -1 else whole("n_jobs", n_jobs, 1)
    true_or_false("refit", refit)
    if not isinstance(name, str):
        raise InvalidInput(f"name must be text, got {name!r:.60}.")
    if progress is not None and not callable(progress):
        raise InvalidInput(f"progress must be a function or None, got {progress!r:.60}.")
    if time is None and isinstance(cv, RollingOrigin):
        time = known.get("time")
    scored = read_score(score, truth, X, observation, known)
    # read before a storage is touched, and once: pairs of rows may be a generator
    folds = read_folds(cv, X, y, observation.size, time, 0)
    scored.check(estimator, folds)
    ledger = Ledger(optuna, storage, name, places)
    seed = ledger.seed if given is None else given
    seed = read_seed(None) if seed is None else seed
    if isinstance(cv, int | np.integer):
        folds = read_folds(cv, X, y, observation.size, time, seed)
        scored.check(estimator, folds)
    ledger.begin(fingerprint(estimator, places, scored, folds, stops, batch), seed)
    run = Run(
        evaluator=Evaluator(estimator, X, observation, known, folds, scored, whole_jobs),
        sampling=Sampling(optuna, places, seed, stops, name),
        ledger=ledger,
        space=places,
        build=make,
        trials=trials,
        batch=batch,
        progress=progress,
    )
    records = run.all()
    best = run.best(records)
    values = places.values(best.suggested)
    parameters = dict(make(values) or {})
    model = clone(estimator).set_params(**parameters).fit(X, y, **known) if refit else None
    tried = [run.trial(record) for record in records]
    return SearchResult(parameters, values, best.cost, tried, model, scored.kind)


def _read_pruner(pruner: Any, optuna: Any) -> Any:
    if pruner is None or isinstance(pruner, optuna.pruners.BasePruner):
        return pruner
    if pruner == "median":
        return optuna.pruners.MedianPruner()
    raise InvalidInput(f"pruner must be None, 'median' or a pruner of Optuna, got {pruner!r:.60}.")


def _count(X: Any) -> int:
    """Count the rows of whatever holds features."""
    try:
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)
    except TypeError:
        raise InvalidInput(f"X must be a table or an array of rows, got {X!r:.60}.") from None
