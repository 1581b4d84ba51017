"""Decisions of own models, and the columns that the pooled model sees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array
from unmet.errors import InvalidInput
from unmet.models.base import DecisionModel
from unmet.models.linear import LinearDecision
from unmet.scale.grouped_fitting import Fitted
from unmet.scale.grouped_rows import Panel

_CROSSED_GROUPS = 10
_BLOCK = 100_000  # rows whose coefficients are gathered at once


def crosses(pooled: DecisionModel, n_groups: int) -> bool:
    """Whether the pooled model also sees the products of level and features.

    An item that sells ten times as much usually gains ten times as much in a promotion; a line
    cannot know that by itself, trees and networks can. It takes some groups to learn it from.
    """
    return isinstance(pooled, LinearDecision) and n_groups >= _CROSSED_GROUPS


def pooled_columns(features: Array, level: Array, crossed: bool) -> Array:
    """Features, the level of the row's group, and perhaps the products of the two."""
    products = [features * level[:, np.newaxis]] if crossed else []
    return np.column_stack([features, level, *products])


def own_decisions(
    coef: Array | None,
    intercept: Array | None,
    models: Sequence[DecisionModel | None],
    features: Array,
    group: NDArray[np.int64],
) -> Array:
    """Decide for rows whose groups have a model of their own."""
    decision = np.empty(group.size)
    if coef is not None and intercept is not None:
        for start in range(0, group.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            decision[block] = np.einsum("ij,ij->i", features[block], coef[group[block]])
        return decision + intercept[group]
    order = np.argsort(group, kind="stable")
    present, first = np.unique(group[order], return_index=True)
    for number, rows in zip(present.tolist(), np.split(order, first[1:]), strict=True):
        model = models[number]
        assert model is not None
        decision[rows] = model.predict(features[rows])
    return decision


def borrow_idle(own: Fitted, panel: Panel, pooled: DecisionModel, level: Array | None) -> Fitted:
    """Take the pooled coefficient of columns that never change in a group.

    The intercept makes up for it, so that decisions on the group's own rows stay as they are.
    `level` is that of each group if the pooled model has products with it, otherwise None.
    """
    if own.coef is None or not isinstance(pooled, LinearDecision) or not len(panel.rows):
        return own
    features, filled = panel.rows.features, np.flatnonzero(panel.sizes > 0)
    starts = panel.starts[filled]
    value = features[starts]
    idle = np.maximum.reduceat(features, starts) == np.minimum.reduceat(features, starts)
    n_features = features.shape[1]
    theirs = np.broadcast_to(pooled.coef_[:n_features], value.shape)
    if level is not None:  # the model has learned products with it
        theirs = theirs + np.outer(level[filled], pooled.coef_[n_features + 1 :])
    coef, intercept = own.coef.copy(), own.intercept.copy()
    mine = coef[filled]
    intercept[filled] += np.where(idle, (mine - theirs) * value, 0.0).sum(axis=1)
    coef[filled] = np.where(idle & np.isfinite(mine), theirs, mine)
    return Fitted(own.sentence, coef, intercept, own.objective, own.models)


def check_model(name: str, model: object) -> DecisionModel:
    """Refuse what has no cost and band."""
    if not isinstance(model, DecisionModel) or not {"cost", "band"} <= set(model.get_params(False)):
        raise InvalidInput(
            f"{name} must be a decision model such as LinearDecision(Newsvendor(3, 1)), "
            f"got {model!r:.60}."
        )
    return model
