"""All tables, in the order of the paper."""

from __future__ import annotations

from unmet.files import Cell
from unmet.paper import published
from unmet.paper.results import (
    ESTIMATING,
    PAPER_FAMILIES,
    Results,
    datasets,
    gap_improvement,
    optimum_cost,
    saving,
    share_closed,
    wilcoxon,
)
from unmet.paper.settings import IGNORING, INSENSITIVE, METHODS, TUNING_LEVEL, Family
from unmet.paper.tables import (
    DIFFERENCE,
    NO_LINES,
    OURS,
    PUBLISHED,
    Column,
    Table,
    compared,
    level_columns,
)

# --- Costs on the true demand, savings, shares of the gap, distance to Q*, fitting times.

_OPTIMUM = "Q*"


def fitting_times(results: Results) -> Table:
    """Table trainingTime."""
    levels = results.settings.levels
    lines = NO_LINES
    for method in METHODS:
        ours = {level: results.mean(method.name, level, "fit_seconds") for level in levels}
        printed = published.FITTING_SECONDS.get(method.name)
        # milliseconds for what takes milliseconds
        form = ".4f" if max(ours.values()) < 0.1 else ".2f"
        lines += compared((method.name,), levels, ours, printed, form)
    return Table(
        "trainingTime",
        "Average fitting time (seconds)",
        level_columns(("method", "whose"), levels),
        lines.rows,
        (
            "The choice of a band by LatentBand is part of its fitting time; searches of "
            "hyperparameters and ε are not. Fits that ran side by side shared the machine. "
            "LR-MSE and NN-MSE do not depend on α: one fit serves all levels.",
        ),
        lines.forms,
    )


def costs(results: Results) -> Table:
    """Values of Fig. testNVcost, for all methods."""
    levels = results.settings.levels
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (method.name, method.meaning, *(results.mean(method.name, a, "cost") for a in levels))
        for method in METHODS
    )
    best = tuple(optimum_cost(results, level) for level in levels)
    return Table(
        "testNVcost",
        "Out-of-sample average newsvendor cost",
        level_columns(("method", "what it is"), levels, ".2f"),
        (*rows, (_OPTIMUM, "quantile of the true distribution", *best)),
        (
            f"Mean over {results.settings.datasets} data sets, priced on the true demand. The "
            "paper shows these costs in a figure only, without numbers.",
        ),
    )


def cost_savings(results: Results) -> Table:
    """Values of Fig. percentage."""
    levels = results.settings.levels
    lines = NO_LINES
    for family in PAPER_FAMILIES:
        quoted = published.SAVINGS[family]
        words = (f"{INSENSITIVE[family]} over {IGNORING[family]}",)
        ours = {level: saving(results, family, level) for level in levels}
        lines += compared(words, levels, ours, {quoted.peak: quoted.highest}, ".2%")
    ranges = "; ".join(
        f"{family} {quoted.lowest:.2%} to {quoted.highest:.2%}, the highest at α = {quoted.peak:g}"
        for family, quoted in published.SAVINGS.items()
    )
    return Table(
        "percentage",
        "Mean percentage cost savings of the ε-insensitive method over IEO",
        level_columns(("saving", "whose"), levels),
        lines.rows,
        (
            f"The text of the paper quotes: {ranges}. It names no level for the lowest, and the "
            "other values stand in a figure only. Differences are in percentage points.",
        ),
        lines.forms,
    )


def distances(results: Results) -> Table:
    """Values of Fig. testRMSEQ, for all methods."""
    levels = results.settings.levels
    return Table(
        "testRMSEQ",
        "Out-of-sample RMSE to the optimal order quantity",
        level_columns(("method", "what it is"), levels, ".2f"),
        tuple(
            (m.name, m.meaning, *(results.mean(m.name, a, "rmse_to_optimum") for a in levels))
            for m in METHODS
        ),
        (
            f"Mean of RMSE^Q over {results.settings.datasets} data sets. The paper shows it in a "
            "figure only, without numbers.",
        ),
    )


def gaps(results: Results) -> Table:
    """Compare with the true optimum, which the paper does not: one row per method and level."""
    rows = tuple(
        (
            method.name,
            level,
            results.mean(method.name, level, "cost"),
            optimum_cost(results, level),
            results.mean(method.name, level, "cost") / optimum_cost(results, level) - 1,
            share_closed(results, method.name, level),
        )
        for method in METHODS
        for level in results.settings.levels
    )
    columns = (
        Column("method"),
        Column("α", ".2f"),
        Column("cost", ".2f"),
        Column("cost of Q*", ".2f"),
        Column("above Q*", "+.1%"),
        Column("share of the gap closed", ".1%"),
    )
    return Table("gap", "Cost against the true optimum", columns, rows, (_GAP_NOTE,), folded=True)


def shares(results: Results) -> Table:
    """Levels across: the share of the gap closed by every method."""
    levels = results.settings.levels
    return Table(
        "gapClosed",
        "Share closed of the gap between IEO and the true optimum",
        level_columns(("method", "what it is"), levels, ".0%"),
        tuple(
            (m.name, m.meaning, *(share_closed(results, m.name, a) for a in levels))
            for m in METHODS
            if m.name not in IGNORING.values()
        ),
        (_GAP_NOTE,),
    )


_GAP_NOTE = (
    "Share of the gap closed = (cost of IEO − cost) / (cost of IEO − cost of Q*), of mean costs, "
    "with IEO of the same model: 0% is as bad as ignoring censoring, 100% as good as knowing the "
    "distribution, below 0% the method does harm. A dash where the gap is below 1% of the cost of "
    "Q*."
)


# --- Hyperparameters and ε: search spaces, what was found, what was used.

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


# --- Service levels, and what the ε-insensitive method improves of them.


def service_gaps(results: Results) -> Table:
    """Table serviceLevel."""
    levels = results.settings.levels
    lines = NO_LINES
    for family in PAPER_FAMILIES:
        for other, baseline in (("EAS", ESTIMATING[family]), ("IEO", IGNORING[family])):
            words = (f"{INSENSITIVE[family]} over {baseline} ({other})",)
            ours = {level: gap_improvement(results, family, baseline, level) for level in levels}
            printed = published.SERVICE_GAP_IMPROVEMENT[family, other]
            lines += compared(words, levels, ours, printed, ".2%")
    return Table(
        "serviceLevel",
        "Percentage improvement of the gap in service level",
        level_columns(("improvement", "whose"), levels),
        lines.rows,
        (
            "Service levels are averaged over the data sets first, then compared with α, as in the "
            "paper. Differences are in percentage points.",
        ),
        lines.forms,
    )


def service_levels(results: Results) -> Table:
    """Service levels themselves, which the paper does not print."""
    levels = results.settings.levels
    return Table(
        "serviceLevelsReached",
        "Average service level, to be compared with α",
        level_columns(("method", "what it is"), levels, ".1%"),
        tuple(
            (m.name, m.meaning, *(results.mean(m.name, a, "service_level") for a in levels))
            for m in METHODS
        ),
        (
            "Share of test rows whose order exceeds demand. An order of zero against a demand of "
            "zero does not count, as in the paper, so at low levels even Q* stays below α.",
        )
        if results.settings.clip
        else ("Share of test rows whose order exceeds demand.",),
    )


# --- Tables wilcoxon-result-lr and -nn.

_STARS = "***: p ≤ 0.001; **: p ≤ 0.01; *: p ≤ 0.05, one-sided."
_SEEDS = (
    "The paper does not name its seeds, so data sets of the same number are not the same data; "
    "differences are those of the medians."
)
_SLIP = (
    "In the published table the columns 0.55 and 0.65 are identical, and so are 0.85 and 0.95 "
    "(a slip)."
)


def wilcoxon_cells(results: Results, family: Family) -> Table:
    """Median (first quartile, third quartile) and stars, as the paper prints them."""
    levels = results.settings.levels
    printed = published.WILCOXON[family]
    rows: list[tuple[Cell, ...]] = []
    for dataset in datasets(results):
        cells = [wilcoxon(results, family, dataset, level) for level in levels]
        words = f"data set {dataset}"
        rows.append((words, OURS, *map(str, cells)))
        if dataset > published.N_DATASETS:
            continue
        theirs = [printed[dataset, level] for level in levels]
        rows.append((words, PUBLISHED, *map(str, theirs)))
        pairs = zip(cells, theirs, strict=True)
        rows.append((words, DIFFERENCE, *(own.median - other.median for own, other in pairs)))
    about = (
        f"Median (first quartile, third quartile) of |ŷ − Q*| of {IGNORING[family]} minus that of "
        f"{INSENSITIVE[family]}; positive where the latter is closer to the optimum."
    )
    notes = (about, _STARS, _SEEDS, *([_SLIP] if family == "NN" else []))
    return Table(
        f"wilcoxon-result-{family.lower()}",
        f"Paired Wilcoxon signed rank tests of {INSENSITIVE[family]} and {IGNORING[family]}",
        level_columns(("data set", "whose"), levels),
        tuple(rows),
        notes,
        ("+.2f",) * len(rows),  # of the differences: all others are text
    )


def wilcoxon_numbers(results: Results) -> Table:
    """Give the same with p-values, a number per cell, for those who go on computing."""
    rows = []
    for family in PAPER_FAMILIES:
        for dataset in datasets(results):
            for level in results.settings.levels:
                cell = wilcoxon(results, family, dataset, level)
                theirs = published.WILCOXON[family].get((dataset, level))
                known = (theirs.median, theirs.stars) if theirs else (None, None)
                numbers = (cell.median, cell.first_quartile, cell.third_quartile, cell.p_value)
                rows.append((family, dataset, level, *numbers, cell.stars, *known))
    columns = (
        Column("family"),
        Column("data set"),
        Column("α", ".2f"),
        Column("median", ".2f"),
        Column("first quartile", ".2f"),
        Column("third quartile", ".2f"),
        Column("p", ".2g"),
        Column("stars"),
        Column("published median", ".2f"),
        Column("published stars"),
    )
    title = "The same tests with their p-values"
    return Table("wilcoxon-numbers", title, columns, tuple(rows), (_SEEDS,), folded=True)


# --- All tables, in the order of the paper.


def all_tables(results: Results) -> dict[str, Table]:
    """Build every table, by label."""
    tables = (
        fitting_times(results),
        costs(results),
        cost_savings(results),
        distances(results),
        wilcoxon_cells(results, "LR"),
        wilcoxon_cells(results, "NN"),
        wilcoxon_numbers(results),
        service_gaps(results),
        service_levels(results),
        shares(results),
        gaps(results),
        hyperparameter_searches(results),
        band_searches(results),
        hyperparameters(results),
    )
    return {table.label: table for table in tables}
