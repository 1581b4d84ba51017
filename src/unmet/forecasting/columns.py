"""Which column is which quantile of which model, by the names that forecasting libraries give.

==================== ============================== ==================================
name                 means the quantile             written by
==================== ============================== ==================================
``m-lo-90``          (1 − 0.90) / 2                 statsforecast, mlforecast, neuralforecast
``m-hi-90``          (1 + 0.90) / 2                 the same
``m-median``         0.5                            neuralforecast
``m_ql0.9``          0.9                            neuralforecast, one quantile
``m-q-0.9``          0.9                            by hand
``m-q-90``           0.9                            by hand, in percent
==================== ============================== ==================================

A column ``m`` without more is a mean or a point, not a quantile, and is not used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from unmet.errors import InvalidInput

_NUMBER = r"(\d+(?:\.\d+)?)"
_INTERVAL = re.compile(rf"^(?P<model>.+)-(?P<side>lo|hi)-{_NUMBER}$")
_MEDIAN = re.compile(r"^(?P<model>.+)-median$")
_QUANTILE = re.compile(rf"^(?P<model>.+)[-_](?:ql|q-|q_|q){_NUMBER}$")


def read_level(name: str) -> tuple[str, float] | None:
    """Model and level of a column; None where the name does not say."""
    if found := _INTERVAL.match(name):
        width = float(found[3]) / 100
        return found["model"], (1 - width) / 2 if found["side"] == "lo" else (1 + width) / 2
    if found := _MEDIAN.match(name):
        return found["model"], 0.5
    if found := _QUANTILE.match(name):
        level = float(found[2])
        return found["model"], level / 100 if level >= 1 else level
    return None


def quantile_columns(names: Sequence[str], model: str | None) -> dict[float, str]:
    """Columns of one model by their level, rising."""
    found: dict[str, dict[float, str]] = {}
    for name in names:
        read = read_level(str(name))
        if read is not None and 0 < read[1] < 1:
            owner, level = read
            found.setdefault(owner, {})[round(level, 12)] = name
    if not found:
        raise InvalidInput(
            "forecasts must have columns of quantiles, such as 'AutoARIMA-hi-90' or "
            f"'AutoARIMA-q-0.95', got {', '.join(map(str, names[:20]))}."
        )
    if model is None and len(found) > 1:
        raise InvalidInput(f"model must be one of {', '.join(sorted(found))}, got None.")
    chosen = next(iter(found)) if model is None else model
    if chosen not in found:
        raise InvalidInput(f"model must be one of {', '.join(sorted(found))}, got {chosen!r}.")
    return dict(sorted(found[chosen].items()))
