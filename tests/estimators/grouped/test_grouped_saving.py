import numpy as np
import pytest

from unmet import Band, GroupedDecision, LinearDecision, Newsvendor
from unmet.estimators import BoostedDecision
from unmet.persistence import load, save


def rows(groups=30, n=12):
    generator = np.random.default_rng(0)
    code = np.repeat(np.arange(groups), n)
    x = generator.normal(size=(code.size, 2))
    return np.column_stack([code, x]), 20 + code + x[:, 0] + generator.gamma(2, 2, code.size)


@pytest.mark.parametrize(
    "model",
    [
        LinearDecision(Newsvendor(3, 1), Band(0, 1)),
        BoostedDecision(Newsvendor(3, 1), max_iter=5, min_samples_leaf=3, random_state=0),
    ],
    ids=["linear", "boosted"],
)
def test_one_file_holds_everything(tmp_path, model):
    X, y = rows(groups=4, n=60) if isinstance(model, BoostedDecision) else rows()
    grouped = GroupedDecision(model, [0], random_state=0).fit(X, y, underage=np.full(y.size, 4.0))
    again = load(save(grouped, tmp_path / "grouped.unmet"))
    new = np.vstack([X, [[999, 0, 0]]])
    assert np.array_equal(again.predict(new), grouped.predict(new))
    assert np.array_equal(
        again.decide(new, step=5, minimum=10), grouped.decide(new, step=5, minimum=10)
    )
    assert again.unseen_groups(new) == [999]
    for name, column in grouped.summary_.items():
        assert np.array_equal(again.summary_[name], column)
    assert again.score(X, y, underage=4) == grouped.score(X, y, underage=4)
