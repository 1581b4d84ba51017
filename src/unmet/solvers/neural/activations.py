"""What a hidden unit does to its input, and the slope of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[Any]
"""An array of float32 or float64, whichever the networks are trained in."""
ActivationName = Literal["sigmoid", "relu", "silu", "tanh"]


@dataclass(frozen=True)
class Activation:
    """A function of one number and its derivative, both written into the arrays they are given.

    Attributes
    ----------
    apply : callable
        Overwrites inputs by outputs and returns what `chain` will need: for most functions the
        outputs themselves, as their derivative is a function of them.
    chain : callable
        Multiplies the first argument by the derivative; may overwrite the second, which is what
        `apply` has returned.
    """

    apply: Callable[[Floats], Floats]
    chain: Callable[[Floats, Floats], None]


def _sigmoid(inputs: Floats) -> Floats:
    # exp beats expit and tanh by a factor of two or more in float32; where it overflows to inf,
    # the reciprocal is 0, which is right: callers silence the warning once for all layers.
    np.negative(inputs, out=inputs)
    np.exp(inputs, out=inputs)
    inputs += 1
    np.reciprocal(inputs, out=inputs)
    return inputs


def _chain_sigmoid(slope: Floats, outputs: Floats) -> None:
    slope *= outputs
    np.subtract(1, outputs, out=outputs)
    slope *= outputs


def _tanh(inputs: Floats) -> Floats:
    np.tanh(inputs, out=inputs)
    return inputs


def _chain_tanh(slope: Floats, outputs: Floats) -> None:
    outputs *= outputs
    np.subtract(1, outputs, out=outputs)
    slope *= outputs


def _relu(inputs: Floats) -> Floats:
    # An array of zeros, not the number: the comparison is then twice as fast.
    np.maximum(inputs, np.zeros(inputs.shape[-1], inputs.dtype), out=inputs)
    return inputs


def _chain_relu(slope: Floats, outputs: Floats) -> None:
    slope *= outputs > 0


def _silu(inputs: Floats) -> Floats:
    gate = _sigmoid(inputs.copy())
    derivative = inputs * gate
    inputs[...] = derivative  # z σ(z), whose derivative is σ + zσ(1 − σ)
    derivative *= 1 - gate
    derivative += gate
    return derivative


def _chain_silu(slope: Floats, derivative: Floats) -> None:
    slope *= derivative


ACTIVATIONS: Mapping[str, Activation] = MappingProxyType(
    {
        "sigmoid": Activation(_sigmoid, _chain_sigmoid),
        "relu": Activation(_relu, _chain_relu),
        "silu": Activation(_silu, _chain_silu),
        "tanh": Activation(_tanh, _chain_tanh),
    }
)
