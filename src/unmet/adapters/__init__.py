"""Doors to other packages: ONNX, skpro, MLflow.

Each adapter is thin and needs its package; names are imported when they are first used.

- `to_onnx`: a fitted model as a graph that runs without Python
- `LatentSurvival`: the distribution of a censored truth as a survival regressor of skpro
- `unmet.adapters.mlflow`: models in MLflow's format, without a pickle

Frames of forecasting libraries stand in `unmet.forecasting`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmet.lazily import names_of

if TYPE_CHECKING:
    from unmet.adapters.onnx import to_onnx
    from unmet.adapters.skpro import LatentDistribution, LatentSurvival

__all__ = ["LatentDistribution", "LatentSurvival", "to_onnx"]

__getattr__ = names_of(
    __name__,
    {"unmet.adapters.onnx": "to_onnx", "unmet.adapters.skpro": "LatentDistribution LatentSurvival"},
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
