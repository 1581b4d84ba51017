"""Costs as losses of PyTorch: train a module of your own, on any device."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unmet.arrays import SignedBand
from unmet.costs import Cost, HingeCost
from unmet.costs.base import A_COST
from unmet.errors import InvalidInput, MissingPackage

if TYPE_CHECKING:
    from torch import Tensor

Loss: TypeAlias = "Callable[..., Tensor]"


def torch_loss(cost: Cost) -> Loss:
    """Make a loss of PyTorch from a cost: the mean ε-insensitive cost of the rows.

    Parameters
    ----------
    cost : Cost
        Cost of decisions. torch computes convex piecewise-linear costs (`Newsvendor`,
        `CustomPricing`, `TieredCost`, your own `HingeCost`) on the device of the decisions. NumPy
        computes value and subgradient of any other cost, so each call moves the decisions to the
        CPU and back. A cost with numbers per row needs these rows in every call: use
        ``cost.take(rows)`` for a batch.

    Returns
    -------
    callable
        ``loss(decision, observation, low=0.0, high=0.0)`` returns a tensor without dimensions.
        Decisions and observations are tensors of shape (n_rows,), and so are the ends `low` and
        `high` of the band if they differ by row. A decision between ``observation + low`` and
        ``observation + high`` costs nothing. The gradient in the decisions is that of
        `Cost.subgradient`, also on kinks.

    Examples
    --------
    >>> import torch
    >>> from unmet import Newsvendor
    >>> from unmet.adapters import torch_loss
    >>> loss = torch_loss(Newsvendor(underage=3, overage=1))
    >>> decision = torch.tensor([8.0, 15.0, 30.0], requires_grad=True)
    >>> paid = loss(decision, torch.tensor([10.0, 10.0, 10.0]), low=0.0, high=6.0)
    >>> paid.backward()
    >>> round(paid.item(), 3), (3 * decision.grad).tolist()
    (6.667, [-3.0, 0.0, 1.0])
    """
    A_COST("cost", cost)
    try:
        import torch
    except ImportError:
        raise MissingPackage("torch_loss needs torch: install it with pip install torch.") from None

    def loss(decision: Tensor, observation: Any, low: Any = 0.0, high: Any = 0.0) -> Tensor:
        if decision.ndim != 1 or not decision.is_floating_point():
            raise InvalidInput(
                "decision must be a tensor of floats of shape (n_rows,), got "
                f"{decision.dtype} of shape {tuple(decision.shape)}: use module(X).squeeze(-1)."
            )

        def column(name: str, value: Any) -> Tensor:
            if isinstance(value, np.ndarray):  # it may be read-only, which torch warns of
                value = value.copy()
            found = torch.as_tensor(value, dtype=decision.dtype, device=decision.device)
            if found.ndim and found.shape != decision.shape:
                raise InvalidInput(
                    f"{name} must be a number or have the shape of decision, "
                    f"{tuple(decision.shape)}, got {tuple(found.shape)}."
                )
            return found

        seen, bottom, top = (
            column(name, value)
            for name, value in (("observation", observation), ("low", low), ("high", high))
        )
        if (bottom > top).any():
            raise InvalidInput("low must be at most high, got a row where it is not.")
        if not isinstance(cost, HingeCost):
            # take value and slope from the cost itself; the slope is what the backward pass is
            # given
            chosen, seen, bottom, top = (
                each.detach().cpu().double().numpy() for each in (decision, seen, bottom, top)
            )
            band = SignedBand(bottom, top)
            paid = decision.new_tensor(cost.loss(chosen, seen, band))
            slope = decision.new_tensor(cost.subgradient(chosen, seen, band))
            return (paid + slope * (decision - decision.detach())).mean()
        (down, up), total = cost.tiers.kinks(), torch.zeros_like(decision)
        for distance, growth in up:
            kink = seen + top + column("cost", distance)
            total = total + column("cost", growth) * torch.relu(decision - kink)
        for distance, growth in down:
            kink = seen + bottom - column("cost", distance)
            total = total + column("cost", growth) * torch.relu(kink - decision)
        return total.mean()

    return loss
