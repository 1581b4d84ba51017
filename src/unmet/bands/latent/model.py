"""One explanation of the observations: its parameters, and what they say of any rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from unmet.band import Array, Numbers
from unmet.bands.latent.counts import count_share
from unmet.bands.latent.families import Family
from unmet.bands.latent.likelihood import Orders

Policy: TypeAlias = Literal["absent", "noisy", "mixture"]
_LOG_SCALES = (-30.0, 30.0)
_LOG_SPREADS = (-20.0, 5.0)
_LOGIT_AMPLES = (-15.0, 15.0)
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
_NODE_WEIGHTS = _NODE_WEIGHTS / _NODE_WEIGHTS.sum()


class Layout(NamedTuple):
    """Slices of the parameter vector; an empty slice where a parameter does not exist."""

    location: slice
    scale: slice
    shape: slice
    level: slice
    spread: slice
    ample: slice
    size: int


class Located(NamedTuple):
    """Location and log-scale of rows, with the slope of the location in its linear predictor."""

    location: Array
    slope: Array | float
    log_scale: Array

    def take(self, index: NDArray[np.intp]) -> Located:
        """Keep some rows."""
        slope = self.slope[index] if isinstance(self.slope, np.ndarray) else self.slope
        return Located(self.location[index], slope, self.log_scale[index])


@dataclass(frozen=True)
class Model:
    """Family of the truth, policy of the orders, and how both depend on the features.

    The order is location + scale · (level + spread · W) with W standard normal: it moves with the
    truth. Where it is never binding there are no such parameters.

    Attributes
    ----------
    family : Family
    policy : {"absent", "noisy", "mixture"}
        How orders were placed: never binding; around a level; the same, and sometimes ample.
    n_location, n_scale : int
        Features of the location, a constant among them, and of the logarithm of the scale, apart
        from its constant.
    softness : float
        For an additive location on the logarithmic scale: the level below which it bends towards
        0; 0 for a location that is itself linear.
    least_spread : float
        Smallest spread of orders, in units of the scale: below it orders count as piled up.
    """

    family: Family
    policy: Policy
    n_location: int
    n_scale: int = 0
    softness: float = 0.0
    least_spread: float = 1e-3

    @cached_property
    def layout(self) -> Layout:
        """Where each parameter stands in the vector."""
        orders = int(self.policy != "absent")
        counts = [
            self.n_location,
            1 + self.n_scale,
            int(self.family.shape is not None),
            orders,
            orders,
            int(self.policy == "mixture"),
        ]
        ends = list(accumulate(counts, initial=0))
        location, scale, shape, level, spread, ample = (slice(*each) for each in pairwise(ends))
        return Layout(location, scale, shape, level, spread, ample, ends[-1])

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Where each parameter still changes something: lower and upper ends.

        Beyond, the likelihood is flat, and a climb that steps there would never come back.
        """
        layout, family = self.layout, self.family
        low, high = np.full(layout.size, -np.inf), np.full(layout.size, np.inf)
        least, most = family.shapes
        scales = (-0.5 * most, -0.5 * least) if family.space == "counts" else _LOG_SCALES
        for part, (bottom, top) in (
            (slice(layout.scale.start, layout.scale.start + 1), scales),
            (layout.shape, family.shapes),
            (layout.spread, _LOG_SPREADS),
            (layout.ample, _LOGIT_AMPLES),
        ):
            low[part], high[part] = bottom, top
        return low, high

    def locate(self, parameters: Array, basis: Array, scale_basis: Array) -> Located:
        """Location and scale of any rows."""
        layout = self.layout
        linear = basis @ parameters[layout.location]
        slope: Array | float = 1.0
        if self.softness:
            scaled = linear / self.softness
            positive = self.softness * np.maximum(np.logaddexp(0.0, scaled), 1e-12)
            slope = special.expit(scaled) / positive
            linear = np.log(positive)
        part = parameters[layout.scale]
        log_scale = np.clip(part[0] + scale_basis @ part[1:], *_LOG_SCALES)
        return Located(linear, slope, log_scale)

    def typical_location(self, parameters: Array) -> float:
        """Location where all features but the constant are at their mean, 0."""
        basis = np.zeros((1, self.n_location))
        basis[0, 0] = 1.0
        return float(self.locate(parameters, basis, np.zeros((1, self.n_scale))).location[0])

    def orders(self, parameters: Array) -> Orders | None:
        """Orders in units of the scale; None where they never bind."""
        if self.policy == "absent":
            return None
        layout = self.layout
        spread = self.least_spread + np.exp(np.clip(parameters[layout.spread][0], *_LOG_SPREADS))
        ample = special.expit(parameters[layout.ample][0]) if self.policy == "mixture" else 0.0
        return Orders(float(parameters[layout.level][0]), float(spread), float(ample))

    def shape(self, parameters: Array, log_scale: Numbers | None = None) -> Numbers:
        """Logarithm of the shape, where the log-scale is as given or typical; 0 without one."""
        if self.family.tied:
            # features of the scale have mean 0 on the training rows
            typical = float(parameters[self.layout.scale][0])
            return -2.0 * (typical if log_scale is None else log_scale)
        shape = parameters[self.layout.shape]
        return float(shape[0]) if shape.size else 0.0

    def share_censored(self, parameters: Array) -> float:
        """Probability that the truth exceeds the order.

        It is the same in every row, but for counts and for a gamma whose scale varies: there that
        of a typical row.
        """
        orders = self.orders(parameters)
        if orders is None:
            return 0.0
        if self.family.space == "counts":
            typical = np.array([self.typical_location(parameters)])
            return count_share(typical, self.shape(parameters), orders)
        points = orders.level + orders.spread * _NODES
        survival = np.exp(self.family.terms(points, self.shape(parameters)).log_survival)
        return float((1.0 - orders.ample) * (_NODE_WEIGHTS @ survival))
