"""Many networks at once are the networks one by one."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hilly import hill_rows
from scipy import sparse
from sklearn.base import clone

from unmet import Band, NeuralDecision, Newsvendor, SquaredError
from unmet.bands import BandRule, Diagnosis, LatentBand
from unmet.costs import Cost
from unmet.errors import InvalidInput

COST = Newsvendor(4, 1)


class OwnCost(Cost):
    """Nothing is known of it but its values."""

    def loss(self, decision, observation, band=None):
        return np.abs(COST.loss(decision, observation, band)) ** 1.2

    def subgradient(self, decision, observation, band=None):
        raise AssertionError("not needed")


def _model(**parameters):
    given = {
        "random_state": 0,
        "max_iter": 12,
        "dtype": "float64",
        "scaling": "min-max",
        **parameters,
    }
    return NeuralDecision(COST, **given)


@pytest.fixture
def dummies():
    """Zeros and ones: their units are the same in every part of the rows."""
    _, s, _ = hill_rows(120)
    generator = np.random.default_rng(9)
    X = (generator.random((120, 4)) < 0.5).astype(float)
    return X, s + 8 * X[:, 0] * X[:, 1]


def _same(many, alone, X, tolerance=1e-8):
    assert many.network_.parameters == pytest.approx(
        alone.network_.parameters, rel=tolerance, abs=tolerance
    )
    assert many.predict(X) == pytest.approx(alone.predict(X), rel=tolerance)
    assert many.training_cost_ == pytest.approx(alone.training_cost_, rel=tolerance)
    assert many.n_iter_ == alone.n_iter_
    assert many.decide(X, step=5) == pytest.approx(alone.decide(X, step=5))


def test_adam_gives_each_network_as_if_alone(dummies):
    """Costs, bands, widths, depths, penalties, rates, batches and seeds in one call."""
    X, s = dummies
    high = np.linspace(0, 6, s.size)
    jobs = [
        {"cost": Newsvendor(1, 3), "hidden_layer_sizes": (2, 1)},
        {"hidden_layer_sizes": (5, 3)},
        {"hidden_layer_sizes": (4, 4), "strength": 0.01},
        {"random_state": 5, "learning_rate": 0.002},
        {"random_state": 5, "hidden_layer_sizes": (9, 5), "band": Band(1, 4)},
        {"hidden_layer_sizes": 3, "band": Band(0, high)},
        {"hidden_layer_sizes": (), "cost": SquaredError()},
        {"batch_size": 50, "hidden_layer_sizes": (2, 2, 2)},
        {"activation": "relu"},
        {"n_restarts": 3, "hidden_layer_sizes": (2,)},
    ]
    model = _model(solver="adam", band=None)
    for job, many in zip(jobs, model.fit_many(X, s, jobs), strict=True):
        _same(many, clone(model).set_params(**job).fit(X, s), X)
        assert many.get_params(deep=False)["hidden_layer_sizes"] == job.get(
            "hidden_layer_sizes", (9, 5)
        )
    assert not hasattr(model, "network_")


def test_answers_depend_neither_on_company_nor_on_threads(dummies):
    X, s = dummies
    jobs = [
        {"random_state": seed, "hidden_layer_sizes": hidden}
        for seed in (0, 1)
        for hidden in ((3,), (2, 2), ())
    ]
    for solver in ("adam", "lbfgs"):
        model = _model(solver=solver)
        one, two = (model.fit_many(X, s, jobs, n_jobs=n) for n in (1, 2))
        for left, right in zip(one, two, strict=True):
            assert np.array_equal(left.network_.parameters, right.network_.parameters)
    model = _model(solver="adam")
    together = model.fit_many(X, s, jobs)
    for some in ([0], [5, 1], [2, 0, 3]):
        for place, alone in zip(some, model.fit_many(X, s, [jobs[k] for k in some]), strict=True):
            _same(together[place], alone, X, 1e-10)


def test_early_stopping_does_not_depend_on_company_either(dummies):
    """One stops at once and would do better later, which its company gives it no time for."""
    X, s = dummies
    jobs = [{"learning_rate": 0.5}, {"learning_rate": 0.001}, {"random_state": 3}]
    model = _model(solver="adam", early_stopping=True, n_iter_no_change=1, max_iter=60)
    many = model.fit_many(X, s, jobs)
    assert many[0].n_iter_ < 10 < many[1].n_iter_
    for job, found in zip(jobs, many, strict=True):
        alone = clone(model).set_params(**job).fit(X, s)
        _same(found, alone, X)
        assert found.validation_cost_ == pytest.approx(alone.validation_cost_)


@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
def test_rows_of_a_job_are_all_it_sees(dummies, solver):
    """Folds, as masks or numbers in any order, with weights, costs and bands per row."""
    X, s = dummies
    generator = np.random.default_rng(3)
    weight, underage = generator.uniform(0.5, 2, 120), generator.uniform(1, 9, 120)
    weight[::7] = 0
    band = Band(generator.uniform(0, 1, 120), generator.uniform(1, 5, 120))
    folds = [generator.permutation(120)[:70], generator.random(120) < 0.6, np.arange(40, 120)]
    model = _model(solver=solver).set_params(band=band)
    jobs = [{"rows": fold, "hidden_layer_sizes": (2 + place,)} for place, fold in enumerate(folds)]
    if solver == "lbfgs":  # alone each: in company its line search is another
        many = [
            model.fit_many(X, s, [job], sample_weight=weight, underage=underage)[0] for job in jobs
        ]
    else:
        many = model.fit_many(X, s, jobs, sample_weight=weight, underage=underage)
    for fold, job, found in zip(folds, jobs, many, strict=True):
        rows = np.arange(120)[fold]
        alone = clone(model).set_params(
            hidden_layer_sizes=job["hidden_layer_sizes"], band=band.take(rows)
        )
        alone.fit(X[rows], s[rows], sample_weight=weight[rows], underage=underage[rows])
        _same(found, alone, X, 1e-6)
        assert found.band_ == alone.band_
        with pytest.raises(InvalidInput, match=r"^underage must be given to score"):
            found.score(X, s)


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("cost", [COST, SquaredError(), OwnCost()])
def test_networks_that_go_through_the_same_rows_share_the_work(dummies, early_stopping, cost):
    """Two folds of equal size and two seeds are four orders of rows, for two networks each."""
    X, s = dummies
    folds = np.arange(0, 60), np.arange(50, 110)
    jobs = [
        {"rows": fold, "random_state": seed, "hidden_layer_sizes": hidden}
        for hidden in ((3,), (2,))
        for seed in (0, 1)
        for fold in folds
    ]
    model = _model(solver="adam", max_iter=4, early_stopping=early_stopping).set_params(cost=cost)
    for job, many in zip(jobs, model.fit_many(X, s, jobs), strict=True):
        rows = job["rows"]
        alone = clone(model).set_params(
            hidden_layer_sizes=job["hidden_layer_sizes"], random_state=job["random_state"]
        )
        _same(many, alone.fit(X[rows], s[rows]), X)


def test_lbfgs_in_company_is_as_good_on_average():
    X, s, _ = hill_rows()
    model = NeuralDecision(COST, Band(0, 1), hidden_layer_sizes=(6, 4))
    jobs = [{"random_state": seed} for seed in range(10)]
    many = [each.training_cost_ for each in model.fit_many(X, s, jobs)]
    alone = [clone(model).set_params(**job).fit(X, s).training_cost_ for job in jobs]
    assert np.mean(many) == pytest.approx(np.mean(alone), rel=0.05)
    assert np.ptp(many) > 0


def test_lbfgs_trains_different_widths_and_costs_at_once():
    X, s, _ = hill_rows()
    jobs = [
        {"cost": Newsvendor.at_level(alpha), "hidden_layer_sizes": hidden}
        for alpha in (0.1, 0.8)
        for hidden in ((2, 2), (8, 4))
    ]
    many = NeuralDecision(random_state=0, dtype="float64").fit_many(X, s, jobs)
    for job, model in zip(jobs, many, strict=True):
        level = job["cost"].level
        assert np.mean(model.predict(X) >= s) == pytest.approx(level, abs=0.05)
        assert [b.size for b in model.biases_] == [*job["hidden_layer_sizes"], 1]
        assert model.training_cost_ == pytest.approx(job["cost"].loss(model.predict(X), s).mean())


class _Counting(BandRule):
    """A rule that counts how often it learns, and from how many rows."""

    learned = ()

    def _fit(self, sample, estimator):
        type(self).learned += (sample.n_rows,)
        return Diagnosis(rule="_Counting", n_rows=sample.n_rows, identified="no")

    def _band(self, features, cost):
        return Band(0.0, float(np.mean(cost.slopes.below)))


def test_a_rule_learns_once_for_the_jobs_that_share_it(dummies):
    X, s = dummies
    _Counting.learned = ()
    rule = _Counting()
    jobs = [{"cost": Newsvendor(2, 1)}, {"cost": Newsvendor(3, 1)}, {"rows": np.arange(50)}]
    many = _model(solver="adam", max_iter=1).set_params(band=rule).fit_many(X, s, jobs)
    assert _Counting.learned == (120, 50)
    assert [each.band_ for each in many] == [Band(0, 2), Band(0, 3), Band(0, 4)]
    assert not hasattr(rule, "n_features_in_")
    assert all(each.diagnosis_.rule == "_Counting" for each in many)


def test_what_is_known_of_rows_goes_with_them(dummies):
    X, s = dummies
    flags = np.where(np.arange(120) % 3 == 0, 1.0, 0.0)
    rows = np.arange(30, 120)
    model = _model(solver="adam", max_iter=2).set_params(
        band=LatentBand(families="normal", location=None, random_state=0)
    )
    (many,) = model.fit_many(X, s, [{"rows": rows}], censored=flags)
    alone = clone(model).fit(X[rows], s[rows], censored=flags[rows])
    assert np.asarray(many.band_.high) == pytest.approx(np.asarray(alone.band_.high), rel=1e-6)
    with pytest.raises(InvalidInput, match=r"^censored is only used by a band rule"):
        _model().fit_many(X, s, [{}], censored=flags)


@pytest.mark.parametrize(
    "table", [pd.DataFrame, pl.DataFrame, sparse.csr_array, sparse.coo_array, np.ndarray.tolist]
)
def test_tables_of_all_kinds(dummies, table):
    X, s = dummies
    jobs = [{"rows": np.arange(60)}, {"hidden_layer_sizes": (2,)}]
    plain = _model(solver="adam", max_iter=2).fit_many(X, s, jobs, sample_weight=2.0)
    given = table(X)
    if table in (pd.DataFrame, pl.DataFrame):
        given.columns = list("abcd")
    many = _model(solver="adam", max_iter=2).fit_many(given, s.tolist(), jobs)
    for left, right in zip(many, plain, strict=True):
        assert left.predict(given) == pytest.approx(right.predict(X), rel=1e-12)
    assert hasattr(many[0], "feature_names_in_") == (table in (pd.DataFrame, pl.DataFrame))


ROWS = "rows must be a mask of 120 entries or different numbers from 0 to 119, got {} in job 0."


@pytest.mark.parametrize(
    ("jobs", "sentence"),
    [
        (3, "jobs must be several mappings of parameters, got 3."),
        (
            {"hidden_layer_sizes": 3},
            "jobs must be several mappings of parameters, got {'hidden_layer_sizes': 3}.",
        ),
        (
            "hidden_layer_sizes",
            "jobs must be several mappings of parameters, got 'hidden_layer_sizes'.",
        ),
        ([{}, 7], "jobs must be several mappings of parameters, got 7."),
        (
            [{}, {"width": 3}],
            "jobs must name parameters of the estimator or 'rows', got 'width' in job 1.",
        ),
        (
            [{"hidden_layer_sizes": 0}],
            "hidden_layer_sizes must be a whole number of at least 1, got 0.",
        ),
        ([{"rows": [0, 120]}], ROWS.format("[0, 120]")),
        ([{"rows": [-1, 5]}], ROWS.format("[-1, 5]")),
        ([{"rows": [0.5, 1.0]}], ROWS.format("[0.5, 1.0]")),
        ([{"rows": [True, False]}], ROWS.format("[True, False]")),
        ([{"rows": []}], ROWS.format("[]")),
        ([{"rows": [3, 4, 3]}], ROWS.format("[3, 4, 3]")),
        ([{"rows": [[1], [1, 2]]}], ROWS.format("[[1], [1, 2]]")),
        ([{"rows": "all"}], ROWS.format("'all'")),
        ([{"rows": [5]}], "rows must hold at least two rows with weight."),
        (
            [{"rows": [1, 2, 3], "band": Band(0, np.ones(3))}],
            "high must be a number or have as many rows as y, got 3 instead of 120.",
        ),
        (
            [{"rows": [1, 2, 3], "cost": Newsvendor(np.ones(3), 1)}],
            "underage must be a number or have as many rows as y, got 3 instead of 120.",
        ),
    ],
)
def test_jobs_that_cannot_be(dummies, jobs, sentence):
    with pytest.raises(InvalidInput) as caught:
        _model().fit_many(*dummies, jobs)
    assert str(caught.value) == sentence


def test_other_things_that_cannot_be(dummies):
    for n_jobs in (0, "all", 1.5):
        with pytest.raises(
            InvalidInput, match=r"^n_jobs must be a whole number other than 0, or None"
        ):
            _model().fit_many(*dummies, [{}], n_jobs=n_jobs)
    assert _model().fit_many(*dummies, []) == []
