"""A trained module of one's own."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from unmet.arrays import Array, Features
from unmet.errors import InvalidInput
from unmet.solvers.neural.networks import Floats
from unmet.solvers.neural.scaling import FeatureScaling, TargetScaling

_ROWS_AT_A_TIME = 1 << 13


@dataclass(frozen=True)
class ModuleNetwork:
    """A trained ``torch.nn.Module``: it decides in the user's units.

    It decides on the device that it was trained on; a copy or a saved one, on the CPU. Saving by
    `pickle` or `joblib` needs a class that can be imported; skops refuses modules, as it cannot
    know what is in them.

    Attributes
    ----------
    module : torch.nn.Module
    features : FeatureScaling
    target : TargetScaling
    """

    module: Any
    features: FeatureScaling
    target: TargetScaling

    @property
    def parameters(self) -> Floats:
        """Everything that is trained, in one row of shape (n_parameters,)."""
        trained = trained_parameters(self.module)
        return np.concatenate([each.detach().cpu().numpy().ravel() for each in trained])

    def decide(self, features: Features) -> Array:
        """Decide for each row, with layers such as dropout in the mode that they predict in."""
        import torch

        like = trained_parameters(self.module)[0]
        dtype = np.dtype(str(like.dtype).removeprefix("torch."))
        decisions = np.empty(features.shape[0])
        self.module.eval()
        with torch.no_grad():
            for start in range(0, decisions.size, _ROWS_AT_A_TIME):
                part = slice(start, start + _ROWS_AT_A_TIME)
                scaled = np.ascontiguousarray(self.features.dense(features[part], dtype))
                inputs = torch.from_numpy(scaled).to(like.device)
                decisions[part] = one_each(self.module(inputs), inputs).cpu().numpy()
        return self.target.decisions(decisions)

    def again(self, n_features: int) -> Any:  # noqa: ARG002 (stands in for the user's factory)
        """Copy the module, to go on from where it stands."""
        return copy.deepcopy(self.module)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "module": copy.deepcopy(self.module).cpu()}


def make_module(factory: Any, n_features: int) -> Any:
    """Let the user make a module, and see that it is one that can be trained."""
    import torch

    module = factory(n_features)
    if not isinstance(module, torch.nn.Module):
        raise InvalidInput(f"module must return a torch.nn.Module, got {module!r:.60}.")
    if not trained_parameters(module):
        raise InvalidInput(
            "module must return a torch.nn.Module with parameters to train, "
            f"got a {type(module).__name__} without."
        )
    return module


def trained_parameters(module: Any) -> list[Any]:
    """Parameters that are not frozen."""
    return [each for each in module.parameters() if each.requires_grad]


def one_each(outputs: Any, inputs: Any) -> Any:
    """Give outputs of a module the shape (n_rows,), if they are one number for each row."""
    shape, n_rows = getattr(outputs, "shape", None), inputs.shape[0]
    if shape is None or tuple(shape) not in ((n_rows,), (n_rows, 1)):
        got = f"a {type(outputs).__name__}"
        if shape is not None:
            got = f"the shape {tuple(shape)} for {n_rows} rows"
        raise InvalidInput(f"module must map rows to one number each, got {got}.")
    return outputs.reshape(n_rows).to(inputs.dtype)
