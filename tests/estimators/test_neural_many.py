"""Many networks at once are the networks one by one."""

import numpy as np
import pytest
from hilly import hill_rows
from sklearn.base import clone

from unmet import Band, NeuralDecision, Newsvendor, SquaredError
from unmet.errors import InvalidInput

COST = Newsvendor(4, 1)


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


ROWS = "rows must be a mask of 120 entries or different numbers from 0 to 119, got {} in job 0."


@pytest.mark.parametrize(
    ("jobs", "sentence"),
    [
        (3, "jobs must be several mappings of parameters, got 3."),
        (
            [{}, {"width": 3}],
            "jobs must name parameters of the estimator or 'rows', got 'width' in job 1.",
        ),
        (
            [{"hidden_layer_sizes": 0}],
            "hidden_layer_sizes must be a whole number of at least 1, got 0.",
        ),
        ([{"rows": [True, False]}], ROWS.format("[True, False]")),
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
