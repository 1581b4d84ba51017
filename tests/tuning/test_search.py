"""The search against loops made by hand, grids and random search."""

import warnings

import joblib
import numpy as np
import optuna
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from search_data import COST, STRENGTH, Counted, ridge, rows, shortfall_cost
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unmet import Band, FixedBand, LatentBand, LinearDecision, NeuralDecision, Newsvendor
from unmet.errors import InvalidInput
from unmet.tuning import Choice, Uniform, Whole, search, shuffled_splits
from unmet.tuning.ledger import finished
from unmet.tuning.search import Sampling
from unmet.tuning.space import Space


def test_realised_costs_are_those_of_a_loop():
    X, sales, demand = rows()
    generator = np.random.default_rng(5)
    underage, weight = generator.uniform(1, 6, size=60), generator.uniform(0, 2, size=60)
    truth = np.where(np.arange(60) % 3 == 0, np.nan, demand)
    folds = list(KFold(3, shuffle=True, random_state=1).split(X))
    result = search(
        ridge(),
        STRENGTH,
        X,
        sales,
        truth=truth,
        fit_parameters={"underage": underage, "sample_weight": weight, "overage": 2.0},
        cv=folds,
        trials=4,
        random_state=0,
    )
    assert result.scored_by == "realised"
    for trial in result.trials:
        expected = []
        for train, held_out in folds:
            model = ridge(strength=trial.values["strength"]).fit(
                X[train],
                sales[train],
                underage=underage[train],
                overage=2.0,
                sample_weight=weight[train],
            )
            known = held_out[~np.isnan(truth[held_out])]
            paid = shortfall_cost(
                model.predict(X[known]), truth[known], underage[known], np.full(60, 2.0)[known]
            )
            expected.append(np.average(paid, weights=weight[known]))
        assert trial.fold_costs == pytest.approx(expected, rel=1e-12)
        assert trial.cost == pytest.approx(sum(expected) / 3, rel=1e-12)
    assert result.best_cost == min(trial.cost for trial in result.trials)


@pytest.mark.parametrize("kind", ["none", "number", "rows", "rule"])
def test_observed_costs_are_those_of_algorithm_1(kind):
    X, sales, _ = rows()
    high = np.linspace(1.0, 6.0, 60)
    band = {
        "none": None,
        "number": Band(0.5, 4.0),
        "rows": Band(np.linspace(0.0, 1.0, 60), high),
        "rule": LatentBand(0.3, families="normal", location=None, random_state=0),
    }[kind]
    folds = list(shuffled_splits(2, random_state=3).split(X))
    result = search(
        ridge(band=band), STRENGTH, X, sales, score="observed", cv=folds, trials=3, random_state=0
    )
    for trial in result.trials:
        for (train, held_out), cost in zip(folds, trial.fold_costs, strict=True):
            own = band.take(train) if kind == "rows" else band
            model = ridge(band=own, strength=trial.values["strength"]).fit(X[train], sales[train])
            if kind == "rule":
                low, up = model.band_rule_.band(X[held_out]).rows(held_out.size)
            elif kind == "none":
                low = up = np.zeros(held_out.size)
            else:
                low, up = (end[held_out] for end in band.rows(60))
            decision = model.predict(X[held_out])
            below = np.clip(sales[held_out] + low - decision, 0, None)
            above = np.clip(decision - sales[held_out] - up, 0, None)
            assert cost == pytest.approx(np.mean(4 * below + above), rel=1e-12)


def test_costs_with_one_number_per_row_follow_their_rows():
    X, sales, demand = rows()
    underage = np.linspace(1.0, 9.0, 60)
    by_cost = search(
        ridge(Newsvendor(underage, 1.0)),
        STRENGTH,
        X,
        sales,
        truth=demand,
        trials=3,
        random_state=0,
    )
    by_fit = search(
        ridge(Newsvendor(1.0, 1.0)),
        STRENGTH,
        X,
        sales,
        truth=demand,
        fit_parameters={"underage": underage},
        trials=3,
        random_state=0,
    )
    assert by_cost.trials == by_fit.trials


def test_no_grid_is_much_better():
    X, sales, demand = rows(200)
    folds = list(shuffled_splits(3, random_state=0).split(X))
    result = search(
        ridge(), STRENGTH, X, sales, truth=demand, cv=folds, trials=30, random_state=2, refit=False
    )
    grid = [
        np.mean(
            [
                -ridge(strength=strength).fit(X[train], sales[train]).score(X[rest], demand[rest])
                for train, rest in folds
            ]
        )
        for strength in np.geomspace(1e-4, 10, 60)
    ]
    assert result.best_cost <= min(grid) * 1.005
    assert result.best_cost < np.median(grid)
    assert result.estimator_ is None


def _bowl(model, X, y):
    return abs(model.constant - 7.3)


def test_it_learns_from_what_it_has_seen():
    X, y = np.zeros((8, 1)), np.arange(8.0)
    space = {"constant": Uniform(-500.0, 500.0)}
    best = [
        search(
            DummyRegressor(strategy="constant"),
            space,
            X,
            y,
            score=_bowl,
            cv=1,
            trials=40,
            batch=batch,
            random_state=seed,
        ).best_cost
        for seed in range(4)
        for batch in (1, 4)
    ]
    # The least of 40 random draws from an interval of 1000 is 12.2 away in the mean.
    assert np.median(best) < 6


def test_the_best_is_fitted_on_all_rows():
    X, sales, demand = rows()
    result = search(
        ridge(random_state=1), STRENGTH, X, sales, truth=demand, trials=5, random_state=0
    )
    again = ridge(**result.best_parameters).fit(X, sales)
    assert np.array_equal(result.estimator_.predict(X), again.predict(X))
    assert result.best_parameters == result.best_values


def test_the_same_seed_gives_the_same_search_and_another_one_another():
    X, sales, demand = rows()

    def run(seed):
        return search(ridge(), STRENGTH, X, sales, truth=demand, trials=14, random_state=seed)

    first, second, other = run(3), run(np.random.RandomState(0)), run(3)
    assert first.trials == other.trials
    assert first.trials != second.trials


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_answers_do_not_depend_on_the_number_of_jobs(backend):
    X, sales, demand = rows()
    options = {"truth": demand, "trials": 4, "batch": 2, "cv": 2, "random_state": 0}
    one = search(ridge(), STRENGTH, X, sales, **options)
    with joblib.parallel_config(backend=backend):
        two = search(ridge(), STRENGTH, X, sales, n_jobs=2, **options)
    assert one.trials == two.trials


class Spied(NeuralDecision):
    calls: list = []  # noqa: RUF012

    def fit_many(self, X, y, jobs, **known):
        self.calls.append([dict(job) for job in jobs])
        return super().fit_many(X, y, jobs, **known)

    def fit(self, X, y, **known):
        raise AssertionError("one at a time")


WIDTHS = {"first": Whole(2, 6), "second": Whole(1, 4)}


def _layers(values):
    return {"hidden_layer_sizes": (values["first"], values["second"])}


def test_networks_are_trained_together():
    X, sales, demand = rows()
    underage = np.linspace(2.0, 6.0, 60)
    Spied.calls = []
    model = Spied.published(Newsvendor(1, 1), Band(0, np.linspace(0, 3, 60)), max_iter=5)
    result = search(
        model.set_params(random_state=4),
        WIDTHS,
        X,
        sales,
        truth=demand,
        build=_layers,
        fit_parameters={"underage": underage},
        cv=3,
        trials=10,
        batch=5,
        refit=False,
        random_state=0,
    )
    assert [len(jobs) for jobs in Spied.calls] == [15, 15]
    assert (
        Spied.calls[0][0]["hidden_layer_sizes"]
        == _layers(result.trials[0].values)["hidden_layer_sizes"]
    )
    jobs = Spied.calls[1]
    plain = NeuralDecision(**model.get_params(deep=False))
    models = plain.fit_many(X, sales, jobs, underage=underage)
    everything = np.arange(60)
    for job, fitted, cost in zip(
        jobs, models, np.ravel([t.fold_costs for t in result.trials[5:]]), strict=True
    ):
        held_out = np.setdiff1d(everything, job["rows"])
        overage = np.ones(held_out.size)
        paid = shortfall_cost(
            fitted.predict(X[held_out]), demand[held_out], underage[held_out], overage
        )
        assert cost == pytest.approx(paid.mean(), rel=1e-9)


def test_one_bad_network_does_not_spoil_its_batch():
    X, sales, demand = rows()
    model = NeuralDecision.published(COST, max_iter=2, random_state=0)
    result = search(
        model,
        {"penalty": Choice((0.1, -1.0)), "width": Whole(1, 3)},
        X,
        sales,
        truth=demand,
        build=lambda values: {
            "strength": values["penalty"],
            "hidden_layer_sizes": (values["width"],),
        },
        cv=2,
        trials=8,
        batch=4,
        random_state=0,
    )
    states = {trial.values["penalty"]: trial.state for trial in result.trials}
    assert states == {0.1: "complete", -1.0: "failed"}
    failed = next(trial for trial in result.trials if trial.state == "failed")
    assert "strength must be a finite non-negative number, got -1.0" in failed.sentence
    assert failed.cost == np.inf
    assert result.best_values["penalty"] == 0.1


def test_rules_are_searched_by_nested_names():
    X, sales, demand = rows()
    some = (2.0, 4.0)
    options = {"truth": demand, "cv": 2, "trials": 3, "random_state": 0}
    model = NeuralDecision(
        COST, FixedBand(0.0, 1.0), hidden_layer_sizes=(2,), max_iter=5, random_state=0
    )
    nested = search(model, {"band__high": Choice(some)}, X, sales, **options)
    plain = search(
        model,
        {"band__high": Choice(some)},
        X,
        sales,
        build=lambda values: {"band": FixedBand(0.0, values["band__high"])},
        **options,
    )
    assert nested.trials == plain.trials
    assert nested.estimator_.band_rule_.high == nested.best_values["band__high"]


def test_pipelines_and_their_nested_names():
    X, sales, _ = rows()
    weight = np.linspace(0.5, 2.0, 60)
    pipeline = make_pipeline(StandardScaler(), ridge(band=FixedBand(0.0, 4.0)))
    folds = list(shuffled_splits(2, random_state=0).split(X))
    options = {"cv": folds, "trials": 3, "random_state": 0, "score": "observed"}
    space = {"lineardecision__strength": Uniform(0.01, 1.0)}
    known = {"lineardecision__sample_weight": weight}
    result = search(pipeline, space, X, sales, fit_parameters=known, **options)
    for trial in result.trials:
        for (train, rest), cost in zip(folds, trial.fold_costs, strict=True):
            scaler = StandardScaler().fit(X[train])
            inside = scaler.transform(X[train]), scaler.transform(X[rest])
            model = ridge(band=FixedBand(0.0, 4.0), strength=trial.values[next(iter(space))])
            model.fit(inside[0], sales[train], sample_weight=weight[train])
            loss = COST.loss(
                model.predict(inside[1]), sales[rest], model.band_rule_.band(inside[1])
            )
            assert cost == pytest.approx(np.average(loss, weights=weight[rest]), rel=1e-12)
    assert result.estimator_[-1].strength == result.best_values["lineardecision__strength"]


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: pl.DataFrame(X, schema=["a", "b", "c"]),
        lambda X: pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(60)[::-1]),
        sparse.coo_array,
        lambda X: X.tolist(),
    ],
)
def test_tables_of_every_kind(convert):
    X, sales, demand = rows()
    options = {"trials": 2, "cv": 2, "random_state": 0}
    plain = search(ridge(), STRENGTH, X, sales, truth=demand, **options)
    kind = pl.Series if isinstance(convert(X), pl.DataFrame) else pd.Series
    holes = [None if i % 4 == 0 else float(d) for i, d in enumerate(demand)]
    other = search(ridge(), STRENGTH, convert(X), kind(sales), truth=kind(demand), **options)
    for one, two in zip(plain.trials, other.trials, strict=True):
        assert one.cost == pytest.approx(two.cost, rel=1e-6)
    some = search(
        ridge(),
        STRENGTH,
        convert(X),
        kind(sales),
        truth=kind(holes),
        fit_parameters={"underage": kind(np.full(60, 4.0)), "time": kind(np.arange(60))},
        **options,
    )
    assert some.trials[0].values == plain.trials[0].values
    assert some.best_cost != plain.best_cost


def test_choices_keep_what_they_are():
    X, sales, demand = rows()
    bands = (None, Band(1, 1), Band(0, 2))
    result = search(
        LinearDecision(COST),
        {"band": Choice(bands), "penalty": Choice(["l2", None])},
        X,
        sales,
        truth=demand,
        trials=9,
        cv=2,
        random_state=0,
    )
    assert {type(trial.values["band"]) for trial in result.trials} == {type(None), Band}
    assert all(trial.values["band"] in bands for trial in result.trials)
    assert {trial.values["penalty"] for trial in result.trials} == {"l2", None}
    table = result.to_polars()
    assert table["band"].drop_nulls()[0].startswith("Band(")


def test_distributions_of_optuna_and_any_regressor():
    X, sales, _ = rows()
    result = search(
        Ridge(),
        {"alpha": optuna.distributions.FloatDistribution(0.5, 2.0, step=0.5)},
        X,
        sales,
        score=lambda model, X, y: float(np.mean((model.predict(X) - y) ** 2)),
        trials=4,
        random_state=0,
    )
    assert result.scored_by == "callable"
    assert {trial.values["alpha"] for trial in result.trials} <= {0.5, 1.0, 1.5, 2.0}


def test_combinations_that_build_refuses_are_never_trained():
    X, sales, demand = rows()
    Counted.fits = 0
    space = {"low": Uniform(0, 4), "high": Uniform(0, 4)}

    def build(values):
        inside = values["low"] <= values["high"]
        return {"band": Band(values["low"], values["high"])} if inside else None

    result = search(
        Counted(COST),
        space,
        X,
        sales,
        truth=demand,
        build=build,
        trials=16,
        cv=2,
        random_state=0,
        refit=False,
    )
    refused = [trial for trial in result.trials if trial.state == "refused"]
    assert 0 < len(refused) < 16
    assert all(trial.values["low"] > trial.values["high"] for trial in refused)
    assert {trial.cost for trial in refused} == {np.inf}
    assert Counted.fits == 2 * (16 - len(refused))
    assert result.best_parameters == {"band": Band(**result.best_values)}


def test_failures_are_kept_and_only_failures_are_raised():
    X, sales, demand = rows()
    space = {"strength": Uniform(-1.0, 1.0)}
    options = {"truth": demand, "cv": 2, "random_state": 0}
    result = search(ridge(), space, X, sales, trials=12, **options)
    for trial in result.trials:
        assert (trial.state == "failed") == (trial.values["strength"] < 0)
        assert (trial.sentence is None) == (trial.state == "complete")
    assert result.best_values["strength"] >= 0
    for pruner in (None, "median"):
        with pytest.raises(InvalidInput, match=r"strength must be .* got -"):
            search(
                ridge(), {"strength": Uniform(-2, -1)}, X, sales, trials=3, pruner=pruner, **options
            )
    with pytest.raises(InvalidInput, match=r"build must allow some .* all 3 tried"):
        search(ridge(), space, X, sales, trials=3, build=lambda values: None, **options)
    with pytest.raises(InvalidInput, match="score must return a number, got nan"):
        search(ridge(), STRENGTH, X, sales, score=lambda *_: np.nan, trials=2, cv=1, random_state=0)
    with pytest.raises(InvalidInput, match="score must be finite for some trial"):
        search(ridge(), STRENGTH, X, sales, score=lambda *_: np.inf, trials=2, cv=1, random_state=0)


def test_errors_that_are_not_ours_are_raised():
    X, sales, _ = rows()

    def broken(model, X, y):
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError, match="a bug"):
        search(ridge(), STRENGTH, X, sales, score=broken, trials=2)


def test_a_warning_where_only_observations_are_there():
    X, sales, demand = rows()
    options = {"trials": 2, "cv": 2, "random_state": 0}
    with pytest.warns(UserWarning, match="no truth to score on") as caught:
        silent = search(ridge(), STRENGTH, X, sales, **options)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert silent.scored_by == "observed"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said = search(ridge(), STRENGTH, X, sales, score="observed", **options)
        search(ridge(), STRENGTH, X, sales, truth=demand, **options)
    assert said.trials == silent.trials


def test_the_observed_score_falls_with_every_wider_band():
    X, sales, _ = rows()
    result = search(
        LinearDecision(COST),
        {"high": Choice((0.0, 5.0, 50.0))},
        X,
        sales,
        score="observed",
        build=lambda values: {"band": Band(0, values["high"])},
        trials=12,
        cv=2,
        random_state=0,
    )
    assert result.best_values["high"] == 50.0
    assert result.best_cost == 0


def test_progress_and_the_table():
    X, sales, demand = rows()
    seen = []
    result = search(
        ridge(),
        STRENGTH,
        X,
        sales,
        truth=demand,
        trials=5,
        batch=2,
        cv=2,
        random_state=0,
        progress=lambda *told: seen.append(told),
    )
    assert [done for done, _, _ in seen] == [1, 2, 3, 4, 5]
    assert {total for _, total, _ in seen} == {5}
    costs = [trial.cost for trial in result.trials]
    assert [best for _, _, best in seen] == list(np.minimum.accumulate(costs))
    table = result.to_polars()
    assert table.columns == ["number", "state", "cost", "strength", "fold 0", "fold 1", "sentence"]
    assert table["cost"].to_list() == costs


def test_a_pruner_saves_fits_and_keeps_the_costs():
    X, sales, demand = rows(100)
    options = {"truth": demand, "cv": 4, "trials": 25, "random_state": 1, "refit": False}
    Counted.fits = 0
    model = Counted(COST, penalty="l2")
    pruned = search(model, STRENGTH, X, sales, pruner="median", **options)
    states = [trial.state for trial in pruned.trials]
    assert states.count("pruned") > 3
    assert Counted.fits == sum(len(trial.fold_costs) for trial in pruned.trials) < 100
    folds = list(shuffled_splits(4, random_state=1).split(X))
    for trial in pruned.trials:
        short = len(trial.fold_costs) < 4
        assert short == (trial.state == "pruned")
        train, rest = folds[len(trial.fold_costs) - 1]
        last = ridge(strength=trial.values["strength"]).fit(X[train], sales[train])
        assert trial.fold_costs[-1] == pytest.approx(-last.score(X[rest], demand[rest]), rel=1e-9)
    complete = [trial for trial in pruned.trials if trial.state == "complete"]
    assert pruned.best_cost == min(trial.cost for trial in complete)


class AfterTheLast(optuna.pruners.BasePruner):
    def prune(self, study, trial):
        return trial.last_step == 1


def test_after_the_last_fold_there_is_nothing_to_prune():
    X, sales, demand = rows()
    options = {"truth": demand, "cv": 2, "trials": 3, "random_state": 0}
    result = search(ridge(), STRENGTH, X, sales, pruner=AfterTheLast(), **options)
    assert result.trials == search(ridge(), STRENGTH, X, sales, **options).trials


def test_trials_of_a_batch_keep_clear_of_each_other():
    space = Space.read({"place": Uniform(0.0, 1.0)}, optuna)

    def after(companion):
        sampling = Sampling(optuna, space, 0, None, "study")
        done = [finished(i, space, {"place": i / 12}, [abs(i / 12 - 0.3)]) for i in range(12)]
        for trial in done:
            sampling.restore(trial)
        sampling.tell(done)
        sampling.restore(finished(12, space, {"place": companion}, [0.0]))
        return sampling.ask(13)["place"]

    free = after(0.99)
    assert 0.1 < free < 0.5
    assert abs(after(free) - free) > 1e-3
    assert after(0.99) == free


def test_optuna_is_left_as_it_was_and_prints_nothing(capfd):
    X, sales, demand = rows()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    search(ridge(), STRENGTH, X, sales, truth=demand, trials=3, pruner="median", random_state=0)
    assert optuna.logging.get_verbosity() == optuna.logging.WARNING
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""
