"""What moves the usual sales of a day: contributions of groups of features, in units.

Trees are taken apart by SHAP values (path-dependent, as LightGBM itself computes them, of the trees
with their refitted leaves), a linear model by coefficients times how far each feature is from its
mean. Both are relative to what the model says on average, which is the part of the level;
contributions add up to what the model says of a row.
"""

from __future__ import annotations

import numpy as np

from unmet.arrays import Array
from unmet.errors import Unsupported
from unmet.planning.history import History, Single
from unmet.planning.panel import Places
from unmet.planning.panel_models import LABELS, PanelModel

DRIVERS = (
    "from_level",
    "from_recent_sales",
    "from_weekday",
    "from_season",
    "from_known_beforehand",
    "from_similar_series",
    "from_other",
)
"""Columns of contributions: what a series usually sells, then what moves a day away from that."""
_WEEKDAY = ("weekday", "weekday of all", "last same weekday", "usual")
_SEASON = (
    *("day of month", "days to payday", "month", "week of year", "season sin", "season cos"),
    *("a year ago", "holiday", "day before holiday", "day after holiday"),
)
_SIMILAR = ("against similar", "trend of similar")
_OTHER = ("gap", "days seen", "age")


def driver_of(name: str, cycle: int) -> str:
    """Group of a feature of `History`; where rows are weeks, no weekday is another one."""
    if name in _WEEKDAY or name.endswith("same weekdays"):
        return "from_weekday" if cycle > 1 else "from_recent_sales"
    if name in _SEASON:
        return "from_season"
    if name.startswith("known ") or name == "price against usual":
        return "from_known_beforehand"
    if name in _SIMILAR or name.startswith("category "):
        return "from_similar_series"
    return "from_other" if name in _OTHER else "from_recent_sales"


def drivers(
    model: PanelModel, history: History, series: Places, day: Places, gap: Places
) -> dict[str, Array]:
    """Take what a model says of rows apart.

    Parameters
    ----------
    model : PanelModel
        "linear", "boosted" or "blend", fitted.
    history : History
        That the rows are seen in.
    series, day, gap : ndarray of shape (n_rows,)

    Returns
    -------
    dict from str to ndarray of shape (n_rows,)
        In units, for each of `DRIVERS`; their sum is what `PanelModel.decide` gives.
    """
    if model.name == "blend":
        both = [drivers(part, history, series, day, gap) for part in model.parts_]
        return {name: 0.5 * (both[0][name] + both[1][name]) for name in DRIVERS}
    if model.name not in ("linear", "boosted"):
        raise Unsupported(
            "drivers can be told of the linear model, the trees and their mean; these orders "
            "follow "
            f"{LABELS[model.name]}, of which there is nothing to take apart."
        )
    features, level = history.rows(series, day, gap)
    names, parts = _of_features(model, history, features)
    found = {name: np.zeros(series.size) for name in DRIVERS}
    found["from_level"] = parts[:, -1] * level
    for place, name in enumerate(names):
        found[driver_of(name, history.cycle)] += parts[:, place] * level
    # a share below 0 is no order: what lifts it belongs to nothing in particular
    found["from_other"] += np.maximum(-parts.sum(axis=1), 0.0) * level
    return found


def _of_features(
    model: PanelModel, history: History, features: Single
) -> tuple[tuple[str, ...], Array]:
    """Names of features, and the contribution of each, the mean last: shares of the level."""
    if model.name == "boosted":
        return history.names_, model.model_.contributions(features)
    columns = model.columns_
    away = columns.transform(features) - model.middle_
    mean = model.model_.intercept_ + model.middle_ @ model.model_.coef_
    parts = np.column_stack([away * model.model_.coef_, np.full(len(features), mean)])
    return columns.sources, parts
