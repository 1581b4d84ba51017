"""Decisions by a small neural network: a scikit-learn estimator around the network solvers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array, Band, common_rows
from unmet.censoring.rule import BandRule
from unmet.costs import Cost
from unmet.errors import InvalidInput
from unmet.estimators.base import (
    ChosenBand,
    DecisionModel,
    by_partition,
    check_used,
    choose_band,
    one_blas_thread,
    read_band,
    read_cost,
)
from unmet.estimators.lots import ShiftCost
from unmet.rows import Rows, check_sizes, read_features
from unmet.solvers.losses import Index, ScalingName
from unmet.solvers.neural.networks import ActivationName, FeatureScaling, Network
from unmet.solvers.neural.optimisers import (
    DtypeName,
    EarlyStopping,
    NetworkOptions,
    NetworkSolver,
    ScheduleName,
)
from unmet.solvers.neural.training import Task, Trained, train
from unmet.validation import (
    Constraint,
    Maybe,
    Number,
    OneOf,
    Seed,
    TrueOrFalse,
    WholeNumber,
    n_threads,
    read_parameters,
    refusal,
)

_ALLOWED: dict[str, Constraint] = {
    "activation": OneOf(*get_args(ActivationName)),
    "solver": OneOf(*get_args(NetworkSolver)),
    "max_iter": Maybe(WholeNumber(1)),
    "batch_size": Maybe(WholeNumber(1)),
    "learning_rate": Maybe(Number(above=0)),
    "schedule": OneOf(*get_args(ScheduleName), None),
    "strength": Number(least=0),
    "scaling": OneOf(*get_args(ScalingName)),
    "early_stopping": TrueOrFalse(),
    "validation_fraction": Number(above=0, below=1),
    "n_iter_no_change": WholeNumber(1),
    "n_restarts": WholeNumber(1),
    "dtype": OneOf(*get_args(DtypeName)),
    "random_state": Seed(),
}


class NeuralDecision(DecisionModel):
    """Decisions by a neural network that is trained on the cost itself.

    With a newsvendor cost and a band this is NN-εNVC of the paper (§CustNN), without a band NN-NVC
    ("IEO"), and with `SquaredError` NN-MSE ("EAS"). The class scales features and observations
    itself.

    Parameters
    ----------
    cost : Cost, default=None
        Cost of decisions. None is ``Newsvendor(underage=1, overage=1)``, which gives the median.
    band : Band, band rule, "latent" or "searched", default=None
        Range in which the truth may lie, relative to the observation, or a rule such as
        `LatentBand` that estimates it. None takes observations for the truth.
    hidden_layer_sizes : tuple of int, default=(9, 5)
        Width of each hidden layer. Wider and more layers fit more complex decisions and need more
        rows. An empty tuple gives linear decisions.
    activation : {"sigmoid", "relu", "silu", "tanh"}, default="sigmoid"
        Activation of the hidden layers. "relu" gives piecewise-linear decisions, the others smooth
        ones.
    solver : {"lbfgs", "adam"}, default="lbfgs"
        "lbfgs" processes all rows at once, with a cost that is smoothed less and less. It is the
        better choice for networks and data of the paper's size. "adam" processes mini-batches and
        suits more rows.
    max_iter : int, default=None
        Largest number of passes over the data; more passes fit the training rows better. None is
        200 for "lbfgs" and 80 for "adam". A line search in progress may take a few more.
    batch_size : int, default=None
        Rows of a mini-batch. Smaller batches give noisier steps. None is a fiftieth of the rows,
        between 32 and 512.
    learning_rate : float, default=None
        Step size of Adam, above 0. Larger values learn faster and may diverge. None is 0.02, and
        0.02 · √(10 / width) for layers wider than 10.
    schedule : {"cosine", "constant"}, default=None
        Whether Adam's learning rate falls to 0 ("cosine") or stays. None is "cosine".
    strength : float, default=0.0
        Non-negative λ of the penalty λ Σ θ² on all weights except biases. Larger values shrink
        weights more and give smoother decisions. It is relative to the mean cost in scaled units.
    scaling : {"standard", "min-max"}, default="standard"
        Units in which the network learns: mean 0 and variance 1, or the range from 0 to 1. The
        latter is the paper's for sales, and leaves dummies as they are.
    early_stopping : bool, default=False
        Whether to hold out rows and keep the network that costs least on them.
    validation_fraction : float, default=0.25
        Share of the rows that early stopping holds out.
    n_iter_no_change : int, default=30
        Number of epochs without progress after which early stopping ends.
    n_restarts : int, default=1
        Number of networks to train from different starts; the best one is kept. More restarts take
        longer and depend less on the seed.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the arithmetic. "float64" is slower and rarely changes decisions.
    random_state : int, RandomState or None, default=None
        Seed of the first weights, of the held-out rows and of the order of rows. None draws a new
        seed in each fit.

    Attributes
    ----------
    network_ : Network
        Parameters and units, as NumPy arrays; it decides without the estimator.
    weights_, biases_ : lists of ndarray
        Weights of shape (n_out, n_in) and biases of shape (n_out,) of each layer, in scaled units.
    training_cost_ : float
        Mean cost of the training rows, with their bands.
    validation_cost_ : float or None
        Mean cost of the held-out rows.
    n_iter_ : int
        Passes over the data.
    cost_, band_ : Cost, and Band or None
        Cost and band of the training, with the numbers per row that `fit` was given.
    band_rule_, diagnosis_ : BandRule and Diagnosis, or None
        The fitted rule and its diagnosis; None if the band was given.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X is a table whose column names are all text.

    Notes
    -----
    The cost of a network has many minima, so the result depends on `random_state`; `n_restarts`
    reduces this. A cost of your own needs no derivatives. The solver smooths it over a window that
    shrinks during training; the derivative of the smoothed cost is an exact central difference.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision, NeuralDecision, Newsvendor
    >>> generator = np.random.default_rng(0)
    >>> X = generator.uniform(-1, 1, size=(500, 2))
    >>> demand = 50 + 40 * X[:, 0] * X[:, 1] + generator.normal(scale=5, size=500)
    >>> cost = Newsvendor(underage=3, overage=1)
    >>> linear = LinearDecision(cost).fit(X, demand)
    >>> model = NeuralDecision(cost, random_state=0).fit(X, demand)
    >>> bool(model.training_cost_ < 0.5 * linear.solution_.objective)
    True

    NN-NVC and NN-MSE are ``NeuralDecision(cost)`` and ``NeuralDecision(SquaredError())``. With the
    paper's training they are ``NeuralDecision.published(cost)`` and so on:

    >>> NeuralDecision.published(cost, random_state=0).max_iter
    500
    """

    network_: Network

    def __init__(
        self,
        cost: Cost | None = None,
        band: Band | BandRule | str | None = None,
        *,
        hidden_layer_sizes: tuple[int, ...] = (9, 5),
        activation: ActivationName = "sigmoid",
        solver: NetworkSolver = "lbfgs",
        max_iter: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        schedule: ScheduleName | None = None,
        strength: float = 0.0,
        scaling: ScalingName = "standard",
        early_stopping: bool = False,
        validation_fraction: float = 0.25,
        n_iter_no_change: int = 30,
        n_restarts: int = 1,
        dtype: DtypeName = "float32",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.cost = cost
        self.band = band
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.strength = strength
        self.scaling = scaling
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.n_restarts = n_restarts
        self.dtype = dtype
        self.random_state = random_state

    @classmethod
    def published(
        cls, cost: Cost | None = None, band: Any = None, **parameters: Any
    ) -> NeuralDecision:
        """Make an estimator that trains as in the paper (Tables DNNHyperparam, searchingSpace).

        It has two sigmoid layers of 9 and 5 units and uses Adam with the defaults of Keras for 500
        epochs in batches of 79. Sales are scaled to [0, 1], dummies are not.

        Parameters
        ----------
        cost, band, **parameters
            Parameters of the estimator, which replace those of the paper.
        """
        paper: dict[str, Any] = {
            "hidden_layer_sizes": (9, 5),
            "activation": "sigmoid",
            "solver": "adam",
            "max_iter": 500,
            "batch_size": 79,
            "learning_rate": 1e-3,
            "schedule": "constant",
            "scaling": "min-max",
        }
        return cls(cost, band, **{**paper, **parameters})

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
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Learn from features and observations.

        Parameters
        ----------
        X, y, sample_weight, underage, overage, censored, stock, time, series
            As in `LinearDecision.fit`.
        validation : pair (X, truth), optional
            Rows whose truth is known. Early stopping then monitors their realised cost and trains
            on all rows of `X`. None holds out training rows if `early_stopping` is on.

        Returns
        -------
        NeuralDecision
            Itself.
        """
        costs = {"underage": underage, "overage": overage}
        given, band = self._read(X, y, costs, (sample_weight, censored, stock, time, series))
        monitored = None
        if validation is not None:
            monitored = Rows.read(given.cost, *self._read_validation(validation, X, costs))
        read_tasks(self, given.counted(), monitored)  # refuses parameters before a rule learns
        type(self)()._learn_names(X)  # and names before the training
        with one_blas_thread():
            chosen = choose_band(self, given.cost, band, given)
            training = given.evaluated(given.cost, chosen[0]).counted()
            check_sizes(training)
            options, tasks = read_tasks(self, training, monitored)
            scaling = FeatureScaling.of(training.features, training.share, options.scaling)
            trained = _best(train(training.features, tasks, options, scaling))
        self._learn_names(X)
        return self._keep(trained, training, given.cost, chosen, costs)

    def fit_many(
        self,
        X: Any,
        y: Any,
        jobs: Any,
        *,
        sample_weight: ArrayLike | None = None,
        underage: ArrayLike | None = None,
        overage: ArrayLike | None = None,
        censored: Any = None,
        stock: Any = None,
        time: Any = None,
        series: Any = None,
        n_jobs: int = -1,
    ) -> list[Self]:
        """Train many networks at once: folds, candidates, costs, seeds.

        Rows are read once, and threads share the networks. With the solver "adam", networks with
        equal layers also share their arrays, which is several times as fast as training them one by
        one. Each result equals that of `fit` on its rows, up to rounding and the units of the
        features, which are those of all rows.

        Parameters
        ----------
        X, y, sample_weight, underage, overage, censored, stock, time, series
            As in `fit`.
        jobs : sequence of mappings
            For each network the parameters that differ from this estimator, such as ``{"cost":
            Newsvendor(3, 1), "hidden_layer_sizes": (8, 4), "random_state": 7}``. The entry
            ``"rows"``, a mask or row numbers, limits its training rows. A single band rule learns
            once for all jobs that share it and their rows.
        n_jobs : int, default=-1
            Number of threads; -1 is one per core. Results do not depend on it.

        Returns
        -------
        list of NeuralDecision
            Fitted estimators, one per job. This estimator is unchanged.

        Examples
        --------
        >>> import numpy as np
        >>> from unmet import NeuralDecision, Newsvendor
        >>> generator = np.random.default_rng(0)
        >>> X, sales = generator.normal(size=(200, 3)), generator.gamma(2.0, 9.0, size=200)
        >>> jobs = [{"cost": Newsvendor.at_level(alpha)} for alpha in (0.2, 0.9)]
        >>> model = NeuralDecision(random_state=0, hidden_layer_sizes=(3,))
        >>> low, high = model.fit_many(X, sales, jobs)
        >>> bool(low.predict(X).mean() < high.predict(X).mean())
        True
        """
        costs = {"underage": underage, "overage": overage}
        known = sample_weight, censored, stock, time, series
        given = Rows.read(read_cost(None), X, y, *known, at_least=2)
        threads = n_threads(n_jobs)
        usual, bands = self.get_params(deep=False), dict[int, Any]()
        taken: dict[Any, tuple[Rows, dict[int, BandRule]]] = {}  # of jobs that share their rows
        groups: dict[NetworkOptions, list[tuple[int, list[Task]]]] = defaultdict(list)
        kept: list[Any] = []
        with one_blas_thread():
            for place, job in enumerate(_read_jobs(jobs, usual)):
                changed = {name: value for name, value in job.items() if name != "rows"}
                # not `clone` and `set_params`: copies of a rule would each learn for themselves
                own = type(self)(**{**usual, **changed})
                index = _read_index(job.get("rows"), place, given.weight)
                cost = read_cost(own.cost).with_rows(**costs)
                band = bands.setdefault(id(own.band), read_band(own.band))
                check_used(band, censored=censored, stock=stock)
                ends = band.parameters() if isinstance(band, Band) else {}
                common_rows({"y": given.observation, **ends, **cost.parameters()})
                key, some_cost = None if index is None else index.tobytes(), cost
                if index is not None:
                    some_cost = cost.take(index)
                    band = band.take(index) if isinstance(band, Band) else band
                if key not in taken:
                    taken[key] = given if index is None else given.take(index), {}
                some, learned = taken[key]
                chosen = choose_band(own, some_cost, band, some, learned)
                rows = some.evaluated(some_cost, chosen[0]).counted()
                check_sizes(rows)
                if index is not None and given.share is not None:
                    numbers = np.cumsum(given.share > 0) - 1  # among the rows that have weight
                    index = numbers[index[given.share[index] > 0]]
                options, tasks = read_tasks(own, rows, index=index)
                groups[options].append((place, tasks))
                kept.append((own, rows, cost, chosen))
            common, best = given.counted(), dict[int, Trained]()
            for options, several in groups.items():
                scaling = FeatureScaling.of(common.features, common.share, options.scaling)
                flat = [t for _, tasks in several for t in tasks]
                trained = iter(train(common.features, flat, options, scaling, threads))
                for place, tasks in several:
                    best[place] = _best([next(trained) for _ in tasks])
        models: list[Self] = []
        for place, (own, rows, cost, chosen) in enumerate(kept):
            own._learn_names(X)
            models.append(own._keep(best[place], rows, cost, chosen, costs))
        return models

    @by_partition
    def predict(self, X: Any) -> Array:
        """Decide for each row.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features, with the columns of the training rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Decisions.
        """
        check_is_fitted(self)
        features = read_features(X)
        self._check_names(X)
        with one_blas_thread():
            decision: Array = self.network_.decide(features)
        return np.maximum(decision, self.least_)

    def _keep(
        self, trained: Trained, rows: Rows, cost: Cost, chosen: ChosenBand, costs: dict[str, Any]
    ) -> Self:
        """Set the fitted attributes."""
        self.network_ = trained.network
        self.training_cost_, self.validation_cost_ = trained.cost, trained.validation_cost
        self.n_iter_ = trained.epochs
        layers = self.network_.layers()
        self.weights_ = [weights for weights, _ in layers]
        self.biases_ = [biases for _, biases in layers]
        self._keep_choice(cost, chosen, costs, ShiftCost.at(rows, trained.decision))
        return self


def read_tasks(
    model: NeuralDecision, rows: Rows, monitored: Rows | None = None, index: Index | None = None
) -> tuple[NetworkOptions, list[Task]]:
    """Read how to train from parameters that have not been checked; None is the solver's default.

    Parameters
    ----------
    model : NeuralDecision
        Estimator whose parameters count.
    rows : Rows
        Training rows.
    monitored : Rows, optional
        Rows whose truth is known; their realised cost then ends the training.
    index : ndarray, optional
        Positions of these rows among the common rows, if tasks are trained together.

    Returns
    -------
    options : NetworkOptions
        How to train.
    tasks : list of Task
        One task per restart.
    """
    given = read_parameters(_ALLOWED, model)
    sizes: Any = model.hidden_layer_sizes
    if isinstance(sizes, Integral):
        sizes = (sizes,)
    if isinstance(sizes, str) or not isinstance(sizes, Iterable):
        raise refusal("hidden_layer_sizes", "whole numbers of at least 1", sizes)
    hidden = tuple(WholeNumber(1)("hidden_layer_sizes", width) for width in sizes)
    rate = given["learning_rate"]
    if rate is None:  # that of the fast schedule, with smaller steps for wide layers
        rate = float(0.02 * np.sqrt(min(10 / max(hidden, default=1), 1.0)))
    usual_batch = int(np.clip(rows.n_rows // 50, 32, 512))
    usual_epochs = {"lbfgs": 200, "adam": 80}
    stopping = None
    if given["early_stopping"] or monitored is not None:
        stopping = EarlyStopping(
            given["validation_fraction"], given["n_iter_no_change"], 1e-7, monitored
        )
    options = NetworkOptions(
        activation=model.activation,
        solver=model.solver,
        epochs=given["max_iter"] or usual_epochs[model.solver],
        batch_size=min(given["batch_size"] or usual_batch, rows.n_rows),
        schedule=model.schedule or "cosine",
        dtype=model.dtype,
        scaling=model.scaling,
        stopping=stopping,
    )
    bare = replace(rows, features=np.empty((rows.n_rows, 0)))  # they are common to all tasks
    how = hidden, given["strength"], rate, given["random_state"]
    return options, [
        Task(bare, *how, restart, index=index) for restart in range(given["n_restarts"])
    ]


def _best(trained: list[Trained]) -> Trained:
    """Least objective, the first of equals."""
    return min(trained, key=lambda each: each.objective)


def _read_jobs(jobs: Any, usual: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Refuse jobs that are no mappings of parameters."""
    several = isinstance(jobs, Iterable) and not isinstance(jobs, Mapping | str)
    listed: list[Any] = list(jobs) if several else [None]
    if not all(isinstance(job, Mapping) for job in listed):
        raise InvalidInput(f"jobs must be several mappings of parameters, got {jobs!r:.60}.")
    for place, job in enumerate(listed):
        if unknown := sorted(set(job) - {*usual, "rows"}):
            raise InvalidInput(
                f"jobs must name parameters of the estimator or 'rows', got {unknown[0]!r} in job "
                f"{place}."
            )
    return listed


def _read_index(given: Any, place: int, weight: Array) -> Index | None:
    """Row numbers of a job, from numbers or a mask; at least two have weight."""
    if given is None:
        return None
    rows, n_rows = np.asarray(given), weight.size
    if rows.dtype == bool and rows.shape == (n_rows,):
        rows = np.flatnonzero(rows)
    good = rows.ndim == 1 and rows.dtype.kind in "iu" and np.unique(rows).size == rows.size
    if not good or not (rows >= 0).all() or not (rows < n_rows).all():
        raise InvalidInput(
            f"rows must be a mask of {n_rows} entries or different numbers from 0 to {n_rows - 1}, "
            f"got {given!r:.60} in job {place}."
        )
    if np.count_nonzero(weight[rows]) < 2:
        raise InvalidInput("rows must hold at least two rows with weight.")
    return rows.astype(np.intp)
