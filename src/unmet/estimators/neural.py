"""Decisions by a small neural network: a scikit-learn estimator around the network solvers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array, Band
from unmet.censoring.rule import BandRule
from unmet.costs import Cost
from unmet.errors import InvalidInput
from unmet.estimators.base import (
    ChosenBand,
    DecisionModel,
    check_used,
    choose_bands,
    costs_by_row,
    one_blas_thread,
    raw_weight,
    read_band,
    read_cost,
    read_validation_pair,
    without_rule,
)
from unmet.estimators.blocks import check_alone
from unmet.estimators.lots import ShiftCost
from unmet.estimators.networks import (
    NetworkPlan,
    Steps,
    fit_jobs,
    fit_network_blocks,
    read_hidden,
    read_plan,
    train_plan,
    trains_in_steps,
)
from unmet.rows import Rows, check_sizes, read_features
from unmet.solvers.blocks.source import BlockSource
from unmet.solvers.losses import ScalingName
from unmet.solvers.neural.networks import ActivationName, Network, NetworkLayout
from unmet.solvers.neural.optimisers import DtypeName, NetworkSolver, ScheduleName
from unmet.solvers.neural.training import Trained


class NeuralDecision(DecisionModel):
    """Decisions by a network, trained on the cost itself.

    With a newsvendor cost and a band this is NN-εNVC of the paper (§CustNN), without a band NN-NVC
    ("IEO"), and with `SquaredError` NN-MSE ("EAS"). Features and observations are scaled inside.

    Parameters
    ----------
    cost : Cost, default=None
        What a decision costs. None is ``Newsvendor(underage=1, overage=1)``: the median.
    band : Band, band rule, "latent" or "searched", default=None
        Where the truth may lie, relative to the observation: given, or learned from the data by a
        rule such as `LatentBand`. None takes observations for truth.
    hidden_layer_sizes : tuple of int, default=(9, 5)
        Width of each hidden layer, as many as wanted; none is a linear decision.
    activation : {"sigmoid", "relu", "silu", "tanh"}, default="sigmoid"
    solver : {"lbfgs", "adam"}, default="lbfgs"
        "lbfgs" goes through all rows at once with the cost smoothed ever less, and is the better
        choice for networks and data of the paper's size; "adam" goes through mini-batches.
    max_iter : int, default=None
        Passes over the data; None is 200 for "lbfgs" and 80 for "adam". A line search that is
        under way may take a few more.
    batch_size : int, default=None
        Rows of a mini-batch; None is a fiftieth of them, between 32 and 512.
    learning_rate : float, default=None
        Of Adam; None is 0.02, and 0.02 · √(10 / width) for layers wider than 10.
    schedule : {"cosine", "constant"}, default=None
        Whether Adam's learning rate falls to 0; None is "cosine".
    strength : float, default=0.0
        λ of λ Σ θ² over all weights but not the biases, beside the mean cost in scaled units.
    scaling : {"standard", "min-max"}, default="standard"
        Units in which the network learns: mean 0 and variance 1, or the range from 0 to 1, which
        is the paper's for sales and leaves dummies as they are.
    early_stopping : bool, default=False
        Set rows aside and keep the network that costs least on them.
    validation_fraction : float, default=0.25
        Share of the rows that early stopping sets aside.
    n_iter_no_change : int, default=30
        Epochs without improvement after which early stopping ends the training.
    n_restarts : int, default=1
        Networks trained from different starts; the best of them is kept.
    warm_start : bool, default=False
        Whether `fit` goes on from the network of the last `fit`.
    dtype : {"float32", "float64"}, default="float32"
    random_state : int, RandomState or None, default=None
        Seed of the first weights, of the rows set aside and of the order of rows.

    Attributes
    ----------
    network_ : Network
        Parameters and units, all of them NumPy arrays.
    weights_, biases_ : lists of ndarray
        Of each layer, of shape (n_out, n_in) and (n_out,), in scaled units.
    training_cost_ : float
        Mean cost of the rows trained on, with their bands.
    validation_cost_ : float or None
        Mean cost of the rows set aside.
    n_iter_ : int
        Passes over the data.
    cost_, band_ : Cost, and Band or None
        What was trained on, with the numbers per row that `fit` was given.
    band_rule_, diagnosis_ : BandRule and Diagnosis, or None
        The fitted rule, and what it says about censoring; None if the band was given.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of a table whose column names are all text.

    Notes
    -----
    The cost of a network has many minima, so the answer depends on `random_state`; `n_restarts`
    makes it depend less. Your own costs need no derivatives: they are smoothed by a box, of
    which the central difference is the exact derivative, and which shrinks during training.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision, NeuralDecision, Newsvendor
    >>> generator = np.random.default_rng(0)
    >>> X = generator.uniform(-1, 1, size=(500, 2))
    >>> demand = 50 + 40 * X[:, 0] * X[:, 1] + generator.normal(scale=5, size=500)
    >>> cost = Newsvendor(underage=3, overage=1)
    >>> line = LinearDecision(cost).fit(X, demand)
    >>> model = NeuralDecision(cost, random_state=0).fit(X, demand)
    >>> bool(model.training_cost_ < 0.5 * line.solution_.objective)
    True

    NN-NVC and NN-MSE are ``NeuralDecision(cost)`` and ``NeuralDecision(SquaredError())``; with the
    paper's training they are ``NeuralDecision.published(cost)`` and so on:

    >>> NeuralDecision.published(cost, random_state=0).max_iter
    500
    """

    network_: Network
    _steps: Steps | None

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
        warm_start: bool = False,
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
        self.warm_start = warm_start
        self.dtype = dtype
        self.random_state = random_state

    @classmethod
    def published(
        cls, cost: Cost | None = None, band: Any = None, **parameters: Any
    ) -> NeuralDecision:
        """Train as the paper does (Tables DNNHyperparam and searchingSpace).

        Two sigmoid layers of 9 and 5 units; Adam with the defaults of Keras for 500 epochs in
        batches of 79; sales scaled to [0, 1], dummies as they are.

        Parameters
        ----------
        cost, band, **parameters
            Of the estimator; they take precedence.
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
        X : table, array-like or sparse matrix of shape (n_rows, n_features), or BlockSource
            pandas, polars, numpy or scipy.sparse; finite numbers, at least two rows. Or a source of
            `unmet.solvers.blocks`, which brings all columns itself: with the solver "adam", every
            epoch goes once through its blocks.
        y : array-like of shape (n_rows,)
            The observations s: sales, accepted prices, replacement times. (The name is
            scikit-learn's; the y of the paper is the decision.)
        sample_weight : array-like of shape (n_rows,), optional
            Non-negative; only ratios matter, and rows of weight 0 do not count at all.
        underage, overage : float or array-like of shape (n_rows,), optional
            Instead of those of `cost`, usually one per row.
        censored, stock, time, series : array-like of shape (n_rows,), optional
            What a band rule may want to know; see `LinearDecision.fit`.
        validation : pair (X, truth), optional
            Rows whose truth is known: early stopping then monitors their realised cost, and trains
            on all rows of `X`.

        Returns
        -------
        NeuralDecision
            Itself.
        """
        if isinstance(X, BlockSource):
            check_alone(y=y, sample_weight=sample_weight, underage=underage, overage=overage)
            check_alone(censored=censored, stock=stock, validation=validation)
            return self._fit_blocks(X)
        cost = read_cost(self.cost).with_rows(underage=underage, overage=overage)
        band = read_band(self.band)
        check_used(band, censored=censored, stock=stock)
        known = sample_weight, censored, stock, time, series
        given = Rows.read(cost, X, y, *known, at_least=2)
        by_row, monitored = costs_by_row(underage, overage), None
        if validation is not None:
            monitored = Rows.read(cost, *read_validation_pair(validation, X, by_row))
        plan = read_plan(self, given.counted().n_rows, monitored)
        with one_blas_thread():
            (chosen,) = choose_bands(self, [(cost, band)], given)
            training = given.evaluated(cost, chosen.band).counted()
            check_sizes(training, "a network")
            start = self._last(given.features.shape[1])
            type(self)()._learn_names(X)  # refuses names before the training, not after
            trained = train_plan(plan, training, start)
        self._learn_names(X)
        return self._keep(trained, training, cost, chosen, by_row)

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

        Much faster than one after the other, as networks of this size leave most of the machine
        idle. With the solver "adam" each network comes out as from `fit` on its rows, but for
        rounding and the units of the features, which are those of all rows; with "lbfgs" it is as
        good on average, since its line search is another.

        Parameters
        ----------
        X, y, sample_weight, underage, overage, censored, stock, time, series
            As in `fit`.
        jobs : sequence of mappings
            For each network the parameters of this estimator that differ, such as
            ``{"cost": Newsvendor(3, 1), "hidden_layer_sizes": (8, 4), "random_state": 7}``, and
            ``"rows"``, a mask or the numbers of the rows it learns from, if not all. A single band
            rule learns once for all jobs that share it and their rows.
        n_jobs : int, default=-1
            Threads; -1 is as many as there are cores. Answers do not depend on it.

        Returns
        -------
        list of NeuralDecision
            Fitted, one per job; this estimator is left as it is.

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
        known = {
            "sample_weight": sample_weight,
            "censored": censored,
            "stock": stock,
            "time": time,
            "series": series,
        }
        costs, by_row = {"underage": underage, "overage": overage}, costs_by_row(underage, overage)
        with one_blas_thread():
            done = fit_jobs(self, X, y, jobs, known, costs, n_jobs)
        models: list[Self] = []
        for model, *kept in done:
            model._learn_names(X)
            models.append(model._keep(*kept, by_row))
        return models

    @available_if(trains_in_steps)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        underage: ArrayLike | None = None,
        overage: ArrayLike | None = None,
    ) -> Self:
        """Go once more through some rows with Adam, from where it stands.

        The rows of the first call fix the units, unless a `fit` has. The learning rate stays the
        same from call to call.

        Parameters
        ----------
        X, y, sample_weight, underage, overage
            As in `fit`; a single row is enough. Weights are used as they are, so that they mean
            the same in every call, and `training_cost_` speaks of these rows only.

        Returns
        -------
        NeuralDecision
            Itself.
        """
        cost = read_cost(self.cost).with_rows(underage=underage, overage=overage)
        band = without_rule(read_band(self.band))
        given = Rows.read(cost, X, y, sample_weight=sample_weight)
        training = given.evaluated(cost, band).counted()
        check_sizes(training, "a network")
        plan = read_plan(self, training.n_rows)
        weight = raw_weight(given, sample_weight)
        steps = self._continue(X, plan, training)
        with one_blas_thread():
            steps = steps.epoch(plan, training, weight)
        if not hasattr(self, "network_"):
            self._learn_names(X)
        decision = steps.network.decide(training.features)
        paid = training.mean_cost(decision)
        trained = Trained(steps.network, decision, paid, None, paid, steps.calls)
        by_row = costs_by_row(underage, overage)
        return self._keep(trained, training, cost, ChosenBand(band), by_row, steps)

    def predict(self, X: Any) -> Array:
        """Decide for each row.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        features = read_features(X)
        self._check_names(X)
        with one_blas_thread():
            decision: Array = self.network_.decide(features)
        return np.maximum(decision, self.least_)

    def _fit_blocks(self, source: BlockSource) -> Self:
        """Learn from rows that are only seen in blocks."""
        cost = read_cost(self.cost)
        with one_blas_thread():
            found = fit_network_blocks(self, source, cost, read_band(self.band))
        self._take_names(source)
        trained, rows, chosen, by_row = found
        return self._keep(trained, rows, cost, chosen, by_row)

    def _last(self, n_features: int) -> Array | None:
        """Parameters to go on from."""
        if not self.warm_start or not hasattr(self, "network_"):
            return None
        network = self.network_
        wanted = NetworkLayout(n_features, read_hidden(self.hidden_layer_sizes)), self.activation
        if (network.layout, network.activation) == wanted:
            return np.asarray(network.parameters, dtype=np.float64)
        raise InvalidInput(
            "warm_start needs the features, the activation and the hidden layers of the last fit, "
            f"got {n_features} features, {self.activation!r} and hidden_layer_sizes "
            f"{self.hidden_layer_sizes!r}."
        )

    def _continue(self, X: Any, plan: NetworkPlan, training: Rows) -> Steps:
        """Where Adam stands: nowhere yet, where `fit` left the network, or where it was."""
        if not hasattr(self, "network_"):
            type(self)()._learn_names(X)  # refuses names before the training, not after
            return Steps.begin(plan, training)
        self._check_names(X)
        return self._steps or Steps.from_network(self.network_)

    def _keep(
        self,
        trained: Trained,
        training: Rows,
        cost: Cost,
        chosen: ChosenBand,
        by_row: tuple[str, ...],
        steps: Steps | None = None,
    ) -> Self:
        """Set the fitted attributes."""
        self.network_ = trained.network
        self.training_cost_, self.validation_cost_ = trained.cost, trained.validation_cost
        self.n_iter_, self._steps = trained.epochs, steps
        layers = self.network_.layers()
        self.weights_ = [weights for weights, _ in layers]
        self.biases_ = [biases for _, biases in layers]
        self._keep_choice(cost, chosen, by_row, ShiftCost.at(training, trained.decision))
        return self
