"""The search for hyperparameters: Steps 1 and 2 of the paper, for any model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from unmet.bands.searched import quiet
from unmet.checks import Instance, Seed, TrueOrFalse, WholeNumber, refusal
from unmet.errors import InvalidInput, MissingPackage
from unmet.rows import read_column
from unmet.runs import stable_text
from unmet.tuning.evaluate import Build, Candidate, Evaluator, Kind, Outcome, read_build, read_score
from unmet.tuning.ledger import Ledger, Trial, fingerprint, finished
from unmet.tuning.space import Space
from unmet.tuning.splits import RollingOrigin, read_folds, read_known

if TYPE_CHECKING:
    import polars


# --- Which combination to try next: the tree-structured Parzen estimator of Optuna.
#
# A combination depends on the seed, on its number, and on the trials that were finished before its
# batch began: nothing else, so a search that was stopped goes on as if it had not been. That is why
# the sampler is made anew for every number, with a seed of its own, and why the study that it looks
# at lives in memory, filled from what a storage has kept.


class Sampling:
    """A study of Optuna in memory, whose trials have the numbers of ours.

    Parameters
    ----------
    optuna : module
    space : Space
    seed : int
    pruner : pruner of Optuna or None
    name : str
    """

    def __init__(self, optuna: Any, space: Space, seed: int, pruner: Any, name: str) -> None:
        self._optuna, self._space, self._seed = optuna, space, seed
        self.pruning = pruner is not None
        with quiet(optuna):
            self._study = optuna.create_study(
                direction="minimize",
                study_name=name,
                sampler=self._sampler(0),
                pruner=pruner if self.pruning else optuna.pruners.NopPruner(),
            )
        self._asked: dict[int, Any] = {}

    def ask(self, number: int) -> dict[str, Any]:
        """Suggest a combination; those of its batch that are under way are kept clear of."""
        with quiet(self._optuna):
            self._study.sampler = self._sampler(number)
            trial = self._study.ask(self._space.distributions)
        self._asked[number] = trial
        return dict(trial.params)

    def restore(self, done: Trial) -> None:
        """Take up a trial that is finished as one under way, in its place."""
        with quiet(self._optuna):
            trial = self._optuna.trial.create_trial(
                state=self._optuna.trial.TrialState.RUNNING,
                params=done._suggested,
                distributions=self._space.distributions,
                intermediate_values=done.steps() if self.pruning else {},
                system_attrs=done._notes,
            )
            self._study.add_trial(trial)

    def tell(self, trials: Sequence[Trial]) -> None:
        """Finish the trials of a batch."""
        states = self._optuna.trial.TrialState
        with quiet(self._optuna):
            for trial in trials:
                if trial.state == "pruned":
                    self._study.tell(trial.number, state=states.PRUNED)
                else:
                    self._study.tell(trial.number, trial.cost)

    def should_prune(self, number: int, fold: int, cost: float) -> bool:
        """Report the mean cost after a fold, and ask whether to go on."""
        trial = self._asked[number]
        with quiet(self._optuna):
            trial.report(cost, fold)
            return bool(trial.should_prune())

    def notes(self, number: int) -> dict[str, Any]:
        """Give what a pruner has written down; the sampler's own notes are of no further use."""
        if not self.pruning:
            return {}
        found = self._study.get_trials(deepcopy=False)[number].system_attrs
        return {name: note for name, note in found.items() if not name.startswith("tpe:")}

    def _sampler(self, number: int) -> Any:
        """All options are said, so that versions of Optuna with other defaults agree."""
        state = np.random.SeedSequence([self._seed, number]).generate_state(1)
        return self._optuna.samplers.TPESampler(
            seed=int(state[0]), n_startup_trials=10, multivariate=True, constant_liar=True
        )


# --- Batch after batch: choose combinations, price them, keep what they have come to.

Progress = Callable[[int, int, float], Any]


@dataclass(frozen=True)
class _Run:
    """A search that is under way.

    Attributes
    ----------
    evaluator : Evaluator
        Trains and prices.
    sampling : Sampling
        Says what to try.
    ledger : Ledger
        Keeps what was tried.
    space : Space
    build : callable
    trials, batch : int
    progress : callable or None
    """

    evaluator: Evaluator
    sampling: Sampling
    ledger: Ledger
    space: Space
    build: Build
    trials: int
    batch: int
    progress: Progress | None

    def all(self) -> list[Trial]:
        """Finish all trials that are not finished yet."""
        if self.ledger.trials:
            self._report()
        for start in range(0, self.trials, self.batch):
            self._finish(range(start, min(start + self.batch, self.trials)))
        return [self.ledger.trials[number] for number in range(self.trials)]

    def _finish(self, numbers: range) -> None:
        """Choose the combinations of a batch, price those that are new, then tell the sampler."""
        suggested = {}
        for number in numbers:
            if number in self.ledger.trials:
                self.sampling.restore(self.ledger.trials[number])
            else:
                suggested[number] = self.sampling.ask(number)
        for trials in self._evaluate(suggested):
            self.ledger.add(trials)
            self._report()
        self.sampling.tell([self.ledger.trials[number] for number in numbers])

    def _evaluate(self, suggested: Mapping[int, dict[str, Any]]) -> Iterator[list[Trial]]:
        """Trials that are finished together, as soon as they are."""
        candidates = []
        for number, values in suggested.items():
            parameters = self.build(self.space.values(values))
            if parameters is None:
                yield [finished(number, self.space, values, (), "refused")]
            else:
                estimator, n_rows = self.evaluator.estimator, self.evaluator.score.y.size
                candidates.append(Candidate.make(number, estimator, parameters, n_rows))
        if not candidates:
            return
        if self.sampling.pruning:
            yield self._pruned(candidates, suggested)
            return
        trials = (
            finished(candidate.number, self.space, suggested[candidate.number], outcomes)
            for candidate, outcomes in zip(
                candidates,
                self.evaluator.outcomes(candidates, self.evaluator.folds),
                strict=True,
            )
        )
        if self.evaluator.at_once:
            yield list(trials)
        else:
            for trial in trials:
                yield [trial]

    def _pruned(
        self, candidates: Sequence[Candidate], suggested: Mapping[int, dict[str, Any]]
    ) -> list[Trial]:
        """Go fold by fold with the candidates that are still worth it."""
        outcomes: dict[int, list[Outcome]] = {each.number: [] for each in candidates}
        given_up: set[int] = set()
        live, last = list(candidates), len(self.evaluator.folds) - 1
        for place, fold in enumerate(self.evaluator.folds):
            going: list[Candidate] = []
            evaluated = self.evaluator.outcomes(live, [fold])
            for candidate, (outcome,) in zip(live, evaluated, strict=True):
                number = candidate.number
                outcomes[number].append(outcome)
                if isinstance(outcome, str):
                    continue
                mean = float(np.mean(np.asarray(outcomes[number], dtype=np.float64)))
                # after the last fold there is nothing to save
                if self.sampling.should_prune(number, place, mean) and place < last:
                    given_up.add(number)
                else:
                    going.append(candidate)
            live = going
        return [
            finished(
                number,
                self.space,
                suggested[number],
                outcomes[number],
                "pruned" if number in given_up else "complete",
                self.sampling.notes(number),
            )
            for number in outcomes
        ]

    def _report(self) -> None:
        if self.progress is not None:
            done = [self.ledger.trials.get(number) for number in range(self.trials)]
            costs = [each.cost for each in done if each is not None and each.state == "complete"]
            count = sum(each is not None for each in done)
            self.progress(count, self.trials, min(costs, default=float("inf")))


def _best(trials: Sequence[Trial]) -> Trial:
    """Give the cheapest, of equals the first; say why there is none."""
    good = [each for each in trials if each.state == "complete" and np.isfinite(each.cost)]
    if good:
        return min(good, key=lambda trial: trial.cost)
    for trial in trials:
        if trial.sentence is not None:
            raise InvalidInput(
                f"space must hold something that can be trained, got a failure in trial "
                f"{trial.number} and none that was finished: {trial.sentence}"
            )
    if all(trial.state == "refused" for trial in trials):
        raise InvalidInput(
            f"build must allow some of the combinations, got None for all {len(trials)} tried."
        )
    raise InvalidInput("score must be finite for some trial that is not pruned, got none.")


# --- What a search hands back.


@dataclass(frozen=True)
class SearchResult:
    """The best combination, and all that were tried.

    Attributes
    ----------
    best_parameters : dict
        Of the estimator: what `build` made of the best values.
    best_values : dict
        What was sampled, by name.
    best_cost : float
        Mean cost on held-out rows. It is the least of many, so it flatters: price the decisions
        on rows that the search has not seen.
    trials : list of Trial
        In order.
    estimator_ : estimator or None
        With the best parameters, fitted on all rows; None where `refit` is False.
    scored_by : {"realised", "observed", "callable"}
        What the costs are.
    """

    best_parameters: dict[str, Any]
    best_values: dict[str, Any]
    best_cost: float
    trials: list[Trial]
    estimator_: Any
    scored_by: Kind

    def to_polars(self) -> polars.DataFrame:
        """One row per trial: number, state, cost, the values, and the cost of each fold."""
        import polars

        folds = max(len(trial.fold_costs) for trial in self.trials)
        columns: dict[str, list[Any]] = {
            "number": [trial.number for trial in self.trials],
            "state": [trial.state for trial in self.trials],
            "cost": [trial.cost for trial in self.trials],
        }
        for name in self.best_values:
            columns[name] = _cells([trial.values[name] for trial in self.trials])
        for fold in range(folds):
            columns[f"fold {fold}"] = [
                trial.fold_costs[fold] if fold < len(trial.fold_costs) else None
                for trial in self.trials
            ]
        columns["sentence"] = [trial.sentence for trial in self.trials]
        return polars.DataFrame(columns, schema_overrides={"sentence": polars.String})


def _cells(values: list[Any]) -> list[Any]:
    """Numbers and text as they are; anything else, and mixtures, by what they look like."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1 and kinds <= {bool, int, float, str}:
        return values
    if kinds <= {int, float}:
        return [None if value is None else float(value) for value in values]
    return [value if value is None else stable_text(value) for value in values]


# --- The search for hyperparameters: Steps 1 and 2 of the paper, for any model.


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
    the rows and evaluated on the rest, several times; the tree-structured Parzen estimator chooses
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
        The truth, NaN or None where it is not known: held-out decisions are then evaluated by what
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
        Trials that are chosen before any of them is evaluated. A model with ``fit_many`` trains all
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
    optuna = MissingPackage.or_load("search", "optuna", "tune")
    places = Space.read(space, optuna)
    X = X.tocsr() if sparse.issparse(X) else X  # type: ignore[attr-defined]
    observation = read_column("y", y, _count(X))
    known = read_known(fit_parameters, observation.size)
    make = read_build(build, places.entries, estimator)
    given = None if random_state is None else Seed()("random_state", random_state)
    stops = _read_pruner(pruner, optuna)
    WholeNumber(1)("trials", trials)
    WholeNumber(1)("batch", batch)
    if n_jobs != -1:
        WholeNumber(1)("n_jobs", n_jobs)
    TrueOrFalse()("refit", refit)
    Instance(str, "text")("name", name)
    if progress is not None and not callable(progress):
        raise refusal("progress", "a function or None", progress)
    if time is None and isinstance(cv, RollingOrigin):
        time = known.get("time")
    scored = read_score(score, truth, X, observation, known)
    # read before a storage is touched, and once: pairs of rows may be a generator
    folds = read_folds(cv, X, y, observation.size, time, 0)
    scored.check(estimator, folds)
    ledger = Ledger(optuna, storage, name, places)
    seed = ledger.seed if given is None else given
    seed = Seed()("random_state", None) if seed is None else seed
    if isinstance(cv, int | np.integer):
        folds = read_folds(cv, X, y, observation.size, time, seed)
        scored.check(estimator, folds)
    ledger.begin(fingerprint(estimator, places, scored, folds, stops, batch), seed)
    run = _Run(
        evaluator=Evaluator(estimator, folds, scored, n_jobs),
        sampling=Sampling(optuna, places, seed, stops, name),
        ledger=ledger,
        space=places,
        build=make,
        trials=trials,
        batch=batch,
        progress=progress,
    )
    tried = run.all()
    best = _best(tried)
    parameters = dict(make(best.values) or {})
    model = clone(estimator).set_params(**parameters).fit(X, y, **known) if refit else None
    return SearchResult(parameters, best.values, best.cost, tried, model, scored.kind)


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
