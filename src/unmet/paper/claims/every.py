"""All claims, and their table."""

from __future__ import annotations

from unmet.paper.claims.claim import Claim
from unmet.paper.claims.costs import (
    ieo_beats_eas,
    insensitive_beats_ieo,
    savings_grow,
    size_of_savings,
)
from unmet.paper.claims.gap import latent_closes_more
from unmet.paper.claims.orders import (
    closest_orders,
    more_over_eas,
    service_gaps_improve,
    significant,
)
from unmet.paper.claims.searches import (
    corner,
    inside_their_boxes,
    networks_alike,
    same_time,
    squared_error_fastest,
)
from unmet.paper.measures import PAPER_FAMILIES
from unmet.paper.results import Results
from unmet.paper.tables.table import Column, Table

_BY_FAMILY = (
    ieo_beats_eas,
    insensitive_beats_ieo,
    savings_grow,
    size_of_savings,
    closest_orders,
    significant,
    service_gaps_improve,
    more_over_eas,
    same_time,
)


def all_claims(results: Results) -> tuple[Claim, ...]:
    """Check every claim, in the order of their numbers."""
    claims = [check(results, family) for check in _BY_FAMILY for family in PAPER_FAMILIES]
    claims += [squared_error_fastest(results), networks_alike(results)]
    claims += [corner(results), inside_their_boxes(results)]
    claims += [latent_closes_more(results, family) for family in ("LR", "NN", "Boosted")]
    return tuple(claims)


def claims_table(claims: tuple[Claim, ...]) -> Table:
    """One row per claim."""
    heads = ("no.", "claim", "verdict", "fails at", "what we found", "why")
    return Table(
        "claims",
        "Claim by claim",
        tuple(map(Column, heads)),
        tuple(
            (c.name, c.statement, c.word, "; ".join(c.fails) or None, c.found, c.explanation)
            for c in claims
        ),
    )
