"""Hyperparameters and ε: search spaces, what was found, what was used."""

from __future__ import annotations

from unmet.files import Cell
from unmet.paper import published
from unmet.paper.measures import PAPER_FAMILIES
from unmet.paper.methods import INSENSITIVE
from unmet.paper.results import Results
from unmet.paper.settings import TUNING_LEVEL
from unmet.paper.tables.compared import NO_LINES, compared, level_columns
from unmet.paper.tables.table import Column, Table

#: Which methods share the hyperparameters of a searched model.
MODEL_METHODS = {
    "LR": "LR-NVC, LR-εNVC-R",
    "NN-MSE": "NN-MSE",
    "NN": "NN-NVC, NN-εNVC",
}
_NO_SEARCH = "This run took the published values and searched nothing."


def band_searches(results: Results) -> Table:
    """Table epsilonSearchResults."""
    levels = results.settings.levels
    lines = NO_LINES
    for family in PAPER_FAMILIES:
        found = {level: results.search(2, family, level) for level in levels}
        for place, (name, sign) in enumerate((("low", "ε₂"), ("high", "ε₁"))):
            ours = {a: None if row is None else row.best[name] for a, row in found.items()}
            printed = {level: published.band(family, level)[place] for level in levels}
            lines += compared((INSENSITIVE[family], sign), levels, ours, printed, ".4f")
    box = ", ".join(
        f"{sign} in U({low:g}, {high:g})"
        for sign, (low, high) in zip(
            ("ε₁", "ε₂"), (published.BAND_BOX["high"], published.BAND_BOX["low"]), strict=True
        )
    )
    degenerate = (
        f"Search spaces, as shares of the range of sales: {box}. The search minimises the "
        "ε-insensitive cost itself, which falls whenever ε₁ grows or ε₂ shrinks, so it heads for "
        "the corner ε₁ = 0.20, ε₂ = 0 whatever the data."
    )
    notes = (degenerate, *([] if results.searches else [_NO_SEARCH]))
    return Table(
        "epsilonSearchResults",
        "Search results for ε₁ and ε₂",
        level_columns(("method", "ε", "whose"), levels),
        lines.rows,
        notes,
        lines.forms,
    )


def hyperparameter_searches(results: Results) -> Table:
    """Table searchingSpace."""
    rows = []
    for parameter in published.STEP_1:
        found = results.search(1, parameter.model, TUNING_LEVEL)
        ours = None if found is None else found.best[parameter.name]
        rows.append(
            (
                MODEL_METHODS[parameter.model],
                parameter.name,
                parameter.space,
                ours,
                None if ours is None else _yes(parameter.contains(ours)),
                parameter.printed,
                _yes(parameter.contains(parameter.printed)),
                None if ours is None else ours - parameter.used,
            )
        )
    heads = (
        "methods",
        "hyperparameter",
        "search space",
        "ours",
        "ours in its space",
        "published",
        "published in its space",
    )
    slip = (
        "The published eta and beta are exchanged: 0.0007 lies outside U(0.005, 0.025) and 0.0060 "
        "outside U(0, 0.001), the other way round both fit. The difference is taken from the value "
        "that was meant, and published settings use it."
    )
    return Table(
        "searchingSpace",
        f"Search spaces and results of Step 1 (α = {TUNING_LEVEL:g})",
        (*map(Column, heads), Column("difference", "+.4g")),
        tuple(rows),
        (slip, *([] if results.searches else [_NO_SEARCH])),
        tuple(_form(parameter) for parameter in published.STEP_1),
    )


def hyperparameters(results: Results) -> Table:
    """Tables LRHyperparam and DNNHyperparam with the values this run used."""
    rows: list[tuple[Cell, ...]] = []
    for parameter in published.LR_HYPERPARAMETERS:
        used = _used(results, "LR", parameter)
        words = (MODEL_METHODS["LR"], parameter.name, parameter.meaning)
        rows.append((*words, parameter.value, used))
    for model in ("NN-MSE", "NN"):
        for parameter in published.DNN_HYPERPARAMETERS:
            used = _used(results, model, parameter)
            words = (MODEL_METHODS[model], parameter.name, parameter.meaning)
            rows.append((*words, parameter.value, used))
    heads = ("methods", "hyperparameter", "meaning", "published", "used here")
    return Table(
        "hyperparameters",
        "Hyperparameters (Tables LRHyperparam and DNNHyperparam)",
        tuple(map(Column, heads)),
        tuple(rows),
        (
            "The table of the paper names alpha 0.5; its text fits at each α of the experiments, "
            "and so do we. Losses are in scaled units: sales from 0 to 1, dummies as they are.",
        ),
    )


def _used(results: Results, model: str, parameter: published.Hyperparameter) -> str:
    if parameter.name == "alpha":
        return "the level α of the fit"
    if parameter.value != "tuned":
        return parameter.value
    searched = next(p for p in published.STEP_1 if (p.model, p.name) == (model, parameter.name))
    found = results.search(1, model, TUNING_LEVEL)
    value = searched.used if found is None else found.best[parameter.name]
    return f"{value:{_form(searched)}} ({'published' if found is None else 'searched'})"


def _form(parameter: published.SearchedParameter) -> str:
    return ".0f" if parameter.whole else ".4f"


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"
