"""Losses of PyTorch: value and gradient are those of the cost itself."""

from dataclasses import dataclass

import numpy as np
import pytest

from unmet import Band, Newsvendor, SquaredError
from unmet.adapters import torch_loss
from unmet.costs import Cost, CustomPricing, TieredCost
from unmet.errors import InvalidInput

N_ROWS = 400
GENERATOR = np.random.default_rng(0)
SEEN = GENERATOR.uniform(5, 40, size=N_ROWS)
DECISION = SEEN + GENERATOR.normal(scale=12, size=N_ROWS)
HIGH = GENERATOR.uniform(0, 15, size=N_ROWS)
LOW = HIGH * GENERATOR.uniform(size=N_ROWS)


@dataclass(frozen=True, eq=False)
class Own(Cost):
    """A cost that torch has no operation for."""

    fee: float

    def loss(self, decision, observation, band=None):
        rows = self.align(decision, observation, band)
        short, excess = rows.bottom - rows.decision, rows.decision - rows.top
        return self.fee * np.log1p(np.maximum(short, 0)) + np.maximum(excess, 0) ** 1.5

    def subgradient(self, decision, observation, band=None):
        rows = self.align(decision, observation, band)
        short, excess = rows.bottom - rows.decision, rows.decision - rows.top
        falls = -self.fee / (1 + np.maximum(short, 0)) * (short > 0)
        return falls + 1.5 * np.sqrt(np.maximum(excess, 0))


HINGES = [
    Newsvendor.at_level(0.8),
    Newsvendor(underage=GENERATOR.uniform(2, 9, size=N_ROWS), overage=1.5),
    CustomPricing(underprice=1, overprice=0.3),
    TieredCost(underage=(3, 7), overage=(1, 2, 5), underage_breaks=4, overage_breaks=(3, 9)),
]
BANDS = {"none": (0.0, 0.0), "number": (1.0, 6.0), "rows": (LOW, HIGH)}
OTHERS = [SquaredError(), Own(fee=7.0)]


@pytest.fixture(scope="module")
def torch():
    """Import torch for these tests only: no other needs to wait for it."""
    return pytest.importorskip("torch")


def compare(torch, cost, dtype, low, high, decision=DECISION, seen=SEEN):
    """Give loss and gradients of torch beside those of NumPy, at the very same numbers."""
    dtype = getattr(torch, dtype)
    chosen, observed = (torch.tensor(each, dtype=dtype) for each in (decision, seen))
    ends = [torch.tensor(end, dtype=dtype) if np.ndim(end) else end for end in (low, high)]
    chosen.requires_grad_()
    found = torch_loss(cost)(chosen, observed, *ends)
    found.backward()
    assert found.shape == ()
    assert found.dtype == chosen.grad.dtype == dtype
    band = Band(*(np.asarray(end, dtype=float) if np.ndim(end) else end for end in ends))
    numbers = chosen.detach().double().numpy(), observed.double().numpy()
    expected = cost.loss(*numbers, band).mean(), cost.subgradient(*numbers, band) / len(decision)
    rounding = 1e-12 if dtype == torch.float64 else 1e-5
    np.testing.assert_allclose(found.item(), expected[0], rtol=rounding)
    np.testing.assert_allclose(chosen.grad.double().numpy(), expected[1], rtol=rounding, atol=1e-9)
    assert (chosen.grad > 0).any()
    assert (chosen.grad < 0).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("band", BANDS)
@pytest.mark.parametrize("cost", [*HINGES, *OTHERS], ids=lambda cost: type(cost).__name__)
def test_value_and_gradient_are_those_of_the_cost(torch, cost, band, dtype):
    compare(torch, cost, dtype, *BANDS[band])


@pytest.mark.parametrize("cost", [*HINGES[::2], HINGES[3]], ids=lambda cost: type(cost).__name__)
def test_on_a_kink_it_is_the_slope_on_the_side_of_the_truth(torch, cost):
    seen = np.full(9, 20.0)
    decision = 20.0 + np.array([0, 2, 8, 11, 17, 1, -2, -3, -9])  # the ends, and breaks beyond
    compare(torch, cost, "float64", 2.0, 8.0, decision, seen)


def test_a_batch_of_a_cost_that_differs_by_row(torch):
    rows = np.arange(0, N_ROWS, 3)
    cost = HINGES[1]
    found = torch_loss(cost.take(rows))(torch.tensor(DECISION[rows]), torch.tensor(SEEN[rows]))
    np.testing.assert_allclose(found.item(), cost.loss(DECISION, SEEN)[rows].mean())
    with pytest.raises(InvalidInput, match=r"^cost must be a number or have the shape of decision"):
        torch_loss(cost)(torch.tensor(DECISION[rows]), torch.tensor(SEEN[rows]))


def test_what_cannot_be(torch):
    loss = torch_loss(Newsvendor(3, 1))
    column = torch.tensor(SEEN)
    with pytest.raises(InvalidInput, match=r"\(400, 1\): use module\(X\)\.squeeze\(-1\)\.$"):
        loss(column[:, None], column)
    with pytest.raises(InvalidInput, match=r"^observation must .*, \(400,\), got \(400, 1\)\.$"):
        loss(column, column[:, None])
    with pytest.raises(InvalidInput, match=r"^low must be at most high"):
        loss(column, column, 3.0, 1.0)
    with pytest.raises(InvalidInput, match=r"^cost must be a Cost such as"):
        torch_loss("pinball")
