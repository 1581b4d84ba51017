import numpy as np
import pytest
from sklearn.base import clone

from unmet import Band, GroupedDecision, LinearDecision, Newsvendor
from unmet.errors import SolverFailure
from unmet.estimators import grouped
from unmet.estimators.linear import LinearMethod

COST = Newsvendor(underage=4, overage=1)


def panel(groups=6, n=40, p=3, seed=0):
    """Rows of all groups in a random order: two columns of group names, then features."""
    generator = np.random.default_rng(seed)
    code = generator.permutation(np.repeat(np.arange(groups), n))
    x = generator.normal(size=(code.size, p))
    slopes = generator.normal(size=(groups, p))
    y = 20 + 10 * code + np.einsum("ij,ij->i", x, slopes[code]) + generator.gamma(2, 2, code.size)
    return np.column_stack([code % 2, code // 2, x]), y, code


def separate(model, X, y, code, at, **given):
    """What a loop over groups decides."""
    decision = np.empty(len(at))
    for group in np.unique(code):
        rows = code == group
        part = {name: value[rows] for name, value in given.items()}
        fitted = clone(model).fit(X[rows, 2:], y[rows], **part)
        wanted = at[:, 0] + 2 * at[:, 1] == group
        decision[wanted] = fitted.predict(at[wanted, 2:])
    return decision


@pytest.mark.parametrize("band", [None, Band(1, 4)])
@pytest.mark.parametrize("penalty", [None, "l1"])
def test_without_shrinkage_every_group_decides_as_if_it_were_alone(band, penalty):
    X, y, code = panel()
    model = LinearDecision(COST, band, penalty=penalty, strength=0.1)
    together = GroupedDecision(model, [0, 1], shrink=None).fit(X, y)
    assert np.allclose(together.predict(X), separate(model, X, y, code, X), rtol=1e-12, atol=0)
    assert (together.weight_ == 1).all()


def test_weights_and_costs_per_row_go_with_their_rows():
    X, y, code = panel(seed=1)
    generator = np.random.default_rng(2)
    given = {
        "sample_weight": generator.integers(0, 4, y.size).astype(float),
        "underage": generator.uniform(1, 6, y.size),
    }
    model = LinearDecision(COST)
    together = GroupedDecision(model, [0, 1], shrink=None).fit(X, y, **given)
    alone = separate(model, X, y, code, X, **given)
    assert np.allclose(together.predict(X), alone, rtol=1e-12, atol=0)
    positive = given["sample_weight"] > 0
    assert (
        together.summary_["rows"].tolist()
        == np.bincount(code[positive])[[0, 2, 4, 1, 3, 5]].tolist()
    )


def test_the_decision_lies_between_own_and_pooled_by_the_size_of_the_group():
    X, y, code = panel()
    keep = (code != 5) | (np.cumsum(code == 5) <= 20)
    X, y, code = X[keep], y[keep], code[keep]
    at = {
        k: GroupedDecision(LinearDecision(COST), [0, 1], shrink=k, random_state=0).fit(X, y)
        for k in (None, 10, np.inf)
    }
    own, mixed, pooled = (model.predict(X) for model in at.values())
    n = np.bincount(code)[code]
    assert np.allclose((mixed - pooled) * (n + 10), n * (own - pooled), rtol=1e-9, atol=1e-6)
    assert np.isclose(at[10].summary_["weight"].min(), 20 / 30)
    assert not at[np.inf].weight_.any()


def test_small_groups_and_unseen_ones_have_the_pooled_decision():
    X, y, code = panel()
    keep = (code != 5) | (np.cumsum(code == 5) <= 7)
    model = GroupedDecision(LinearDecision(COST), [0, 1], shrink=None, random_state=0)
    model.fit(X[keep], y[keep])
    assert model.weight_.tolist() == [1, 1, 1, 1, 1, 0]
    assert np.isnan(model.coef_[5]).all()
    new = np.array([[1, 2, 0, 0, 0], [7, 1, 0, 0, 0], [0, 9, 0, 0, 0], [7, 1, 1, 1, 1.0]])
    assert np.isfinite(model.predict(new)).all()
    assert model.unseen_groups(new) == [(7, 1), (0, 9)]
    # levels are 20, 30 to 70 by group: the pair (1, 2) is the largest of them
    assert abs(model.predict(new)[0] - 70) < 12
    # the second entry says more about the level than the first: 0 is small, 2 is large
    low, high = model.predict([[7, 0, 0, 0, 0], [7, 2, 0, 0, 0]])
    assert low + 20 < high
    assert not model.failures_


def test_a_failure_is_kept_by_group_and_the_pooled_model_decides(monkeypatch):
    X, y, code = panel()
    solve = LinearMethod.train

    def fails_for_large_levels(method, rows):
        if rows.observation.mean() > 62:
            raise SolverFailure("this group\n  is cursed.")
        return solve(method, rows)

    monkeypatch.setattr(LinearMethod, "train", fails_for_large_levels)
    model = GroupedDecision(LinearDecision(COST), [0, 1], shrink=None, random_state=0).fit(X, y)
    assert model.failures_ == {
        (0.0, 2.0): "this group is cursed.",
        (1.0, 2.0): "this group is cursed.",
    }
    pooled = GroupedDecision(LinearDecision(COST), [0, 1], shrink=np.inf, random_state=0).fit(X, y)
    failed = code >= 4
    assert np.array_equal(model.predict(X[failed]), pooled.predict(X[failed]))
    assert not np.allclose(model.predict(X[~failed]), pooled.predict(X[~failed]))
    assert (model.summary_["failure"] != "").tolist() == [False, False, True, False, False, True]


@pytest.mark.parametrize("groups", [6, 12])
def test_a_column_that_never_changes_takes_the_pooled_coefficient(groups):
    X, y, code = panel(groups=groups, n=40)
    promoted = (np.arange(y.size) % 3 == 0) & (code != 2)
    X = np.column_stack([X, promoted])
    y = y + 30 * promoted
    model = GroupedDecision(LinearDecision(COST), [0, 1], shrink=None, random_state=0).fit(X, y)
    rows = code == 2
    alone = LinearDecision(COST).fit(X[rows, 2:-1], y[rows])
    assert np.allclose(model.predict(X[rows]), alone.predict(X[rows, 2:-1]))
    at = X[rows].copy()
    at[:, -1] = 1
    lift = model.predict(at) - model.predict(X[rows])
    assert np.allclose(lift, lift[0])
    assert 26 < lift[0] < 34


@pytest.mark.parametrize(("seconds", "sent"), [(np.inf, 0), (-1.0, 2)])
def test_processes_work_only_where_they_pay_and_change_nothing(seconds, sent, monkeypatch):
    """101 groups are two pieces, in each of two runs; the first is always done here."""
    X, y, _ = panel(groups=101, n=12, p=1)
    model = GroupedDecision(LinearDecision(COST), [0, 1], random_state=0)
    alone, tasks = clone(model).fit(X, y), []

    class Counting(grouped.joblib.Parallel):
        def __call__(self, iterable):
            listed = list(iterable)
            tasks.extend(listed)
            return super().__call__(listed)

    monkeypatch.setattr(grouped, "START_SECONDS", seconds)
    monkeypatch.setattr(grouped.joblib, "Parallel", Counting)
    several = clone(model).set_params(n_jobs=2).fit(X, y)
    assert len(tasks) == sent
    assert several.shrink_ == alone.shrink_
    assert np.array_equal(several.coef_, alone.coef_)
    assert np.array_equal(several.predict(X), alone.predict(X))
