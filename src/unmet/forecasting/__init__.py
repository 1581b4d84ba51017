"""Beside forecasting libraries: their forecasts become decisions, their training data the truth.

Frames are long, as statsforecast, mlforecast and neuralforecast have them: one row for each series
(``unique_id``) and time (``ds``), the target in ``y``. Tables of pandas, polars and pyarrow come
back as the same kind.

- `decide_from_quantiles`: forecasts with intervals or quantiles → decisions
- `decide_from_samples`: forecasts as sample paths → decisions, for any cost
- `uncensor`: correct a censored ``y`` before a forecaster learns from it
- `from_sktime`, `to_sktime`: frames of sktime as long ones, and back
"""

from unmet.forecasting.decide import decide_from_quantiles, decide_from_samples
from unmet.forecasting.sktime import from_sktime, to_sktime
from unmet.forecasting.uncensoring import Uncensored, uncensor

__all__ = [
    "Uncensored",
    "decide_from_quantiles",
    "decide_from_samples",
    "from_sktime",
    "to_sktime",
    "uncensor",
]
