"""All tables, in the order of the paper."""

from __future__ import annotations

from unmet.paper.results import Results
from unmet.paper.tables.costs import (
    cost_savings,
    costs,
    distances,
    fitting_times,
    gaps,
    shares,
)
from unmet.paper.tables.searches import band_searches, hyperparameter_searches, hyperparameters
from unmet.paper.tables.service import service_gaps, service_levels
from unmet.paper.tables.table import Table
from unmet.paper.tables.wilcoxon import wilcoxon_cells, wilcoxon_numbers


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
