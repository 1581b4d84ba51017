"""Adapters to other packages: ONNX, PyTorch, skpro, MLflow, and forecasting libraries.

Each adapter is small and needs its package. Names are imported when they are first used.

- `to_onnx`: a fitted model as a graph that runs without Python
- `torch_loss`: a cost as the loss of a PyTorch module of your own
- `LatentSurvival`: the distribution of a censored truth as a survival regressor of skpro
- `unmet.adapters.mlflow`: models in MLflow's format, without a pickle
- `decide_from_quantiles`, `decide_from_samples`: decisions from forecasts of statsforecast,
  mlforecast and neuralforecast
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmet.lazily import names_of

if TYPE_CHECKING:
    from unmet.adapters.forecasting import decide_from_quantiles as decide_from_quantiles
    from unmet.adapters.forecasting import decide_from_samples as decide_from_samples
    from unmet.adapters.onnx import to_onnx as to_onnx
    from unmet.adapters.skpro import LatentSurvival as LatentSurvival
    from unmet.adapters.torch import torch_loss as torch_loss


__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "unmet.adapters.forecasting": "decide_from_quantiles decide_from_samples",
        "unmet.adapters.onnx": "to_onnx",
        "unmet.adapters.skpro": "LatentSurvival",
        "unmet.adapters.torch": "torch_loss",
    },
)
