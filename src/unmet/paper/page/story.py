"""The story: what the paper claims, what came out, every figure and table, how and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unmet.files import Cell
from unmet.paper.claims.claim import Claim, span
from unmet.paper.figures.group import Group
from unmet.paper.measures import PAPER_FAMILIES, known, saving, share_closed
from unmet.paper.methods import INSENSITIVE
from unmet.paper.page.blocks import (
    Block,
    Bullets,
    FigureBlock,
    Heading,
    Paragraph,
    Reasons,
    TableBlock,
    Verdicts,
)
from unmet.paper.page.differences import differences
from unmet.paper.published import N_DATASETS, SAVINGS
from unmet.paper.results import Results
from unmet.paper.tables.table import Column, Table
from unmet.simulate import PUBLISHED_LEVELS

TITLE = "Orders learned from censored sales: the paper, reproduced"

#: Sections of results: heading, words, figures, tables; labels as the paper's.
_SECTIONS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "Out-of-sample newsvendor costs",
        "Each method learns from the censored sales of one year and is priced on the true demand "
        "of the next half-year.",
        ("testNVcost", "percentage"),
        ("percentage", "testNVcost"),
    ),
    (
        "Order quantities",
        "How far the orders lie from the best ones, Q*, on average and row by row.",
        ("testRMSEQ",),
        ("testRMSEQ", "wilcoxon-result-lr", "wilcoxon-result-nn", "wilcoxon-numbers"),
    ),
    (
        "Service level",
        "How often an order covers the demand, compared with the level it aims at.",
        (),
        ("serviceLevel", "serviceLevelsReached"),
    ),
    ("Fitting times", "", (), ("trainingTime",)),
    (
        "Against the true optimum: what the paper does not show",
        "A saving over IEO says nothing of what could have been saved. A simulation knows it: the "
        "cost of Q*, the quantile of the true distribution.",
        ("gapClosed", "gap"),
        ("gapClosed", "gap"),
    ),
    (
        "Hyperparameters and ε",
        "Step 1 tunes hyperparameters at α = 0.55, Step 2 the two ends of ε at each α, both on the "
        "sales of data set 1.",
        ("epsilonSearch",),
        ("epsilonSearchResults", "searchingSpace", "hyperparameters"),
    ),
)


def story(
    results: Results,
    claims: Sequence[Claim],
    tables: Mapping[str, Table],
    groups: Mapping[str, Group],
    facts: Mapping[str, str],
) -> list[Block]:
    """Put the page together."""
    blocks: list[Block] = [Heading(TITLE, 1), *_opening(results, claims)]
    blocks += [Heading("Claim by claim"), Paragraph(_RULES), Verdicts(tuple(claims))]
    blocks += [Heading("What we found, and why"), Reasons(tuple(claims))]
    for heading, words, figures, labels in _SECTIONS:
        blocks.append(Heading(heading))
        if words:
            blocks.append(Paragraph(words))
        blocks += [FigureBlock(groups[label]) for label in figures]
        blocks += [TableBlock(tables[label]) for label in labels]
    blocks += [Heading("How it was computed"), TableBlock(computed(results, facts))]
    blocks += [Heading("What differs from the paper, and why")]
    blocks.append(Bullets(differences(results.settings)))
    return blocks


_RULES = (
    "Reproduced: the claim holds in every case for which the paper makes it, averaged over the "
    "data sets as it does. Reproduced in direction: it holds in more than half of the cases and on "
    "average over them. Claims 3 and 3b have rules of their own: savings grow “in general” if the "
    "last is above the first and most steps rise; their size is reproduced within one percentage "
    "point at both ends, and in direction if the ranges overlap. “About the same” time means "
    "within a factor of two. Claims 8 and 9 are about slips of the paper, claim 10 is ours: they "
    "hold or not."
)


def _opening(results: Results, claims: Sequence[Claim]) -> list[Block]:
    blocks: list[Block] = [
        Paragraph(
            "Sales hide lost demand: whoever learns from them orders too little. Chen, Fu, Huang "
            "and Bai (“Learning Decisions Offline from Censored Observations with ε-insensitive "
            "Operational Costs”) train order quantities with a newsvendor cost under which orders "
            "somewhat above the observed sales cost nothing. They claim that this beats "
            "both estimate-as-solution (EAS, squared error) and integrated estimation and "
            "optimization (IEO, newsvendor cost on the sales), and the more so the larger α, the "
            "target service level."
        )
    ]
    smaller = _smaller(results)
    if smaller:
        blocks.append(Paragraph(smaller, notice=True))
    blocks.append(Bullets((_counts(claims), *_headlines(results))))
    return blocks


def _smaller(results: Results) -> str:
    settings = results.settings
    if settings.datasets >= N_DATASETS and set(settings.levels) == set(PUBLISHED_LEVELS):
        return ""
    return (
        f"This run is smaller than the paper's: {settings.datasets} of {N_DATASETS} data sets, "
        f"{len(settings.levels)} of {len(PUBLISHED_LEVELS)} levels. It shows that everything "
        "works; verdicts may change with all of them."
    )


def _counts(claims: Sequence[Claim]) -> str:
    verdicts = [claim.verdict for claim in claims if claim.source == "paper"]
    checked = [verdict for verdict in verdicts if verdict != "not checked"]
    return (
        f"Of {len(checked)} claims of the paper that were checked (most of them both for "
        f"linear models and for networks), {checked.count('reproduced')} are reproduced, "
        f"{checked.count('reproduced in direction')} in direction, and "
        f"{checked.count('not reproduced')} not."
    )


def _headlines(results: Results) -> list[str]:
    levels = results.settings.levels
    words = []
    for family in PAPER_FAMILIES:
        ours = [saving(results, family, level) for level in levels]
        quoted = SAVINGS[family]
        words.append(
            f"{INSENSITIVE[family]} saves {span(ours, '.2%')} of the cost of IEO (published "
            f"{quoted.lowest:.2%} to {quoted.highest:.2%})."
        )
    for family in PAPER_FAMILIES:
        shares = [
            known(share_closed(results, name, level) for level in levels)
            for name in (INSENSITIVE[family], f"{family} latent")
        ]
        if all(shares):
            words.append(
                f"Of the gap between IEO and the true optimum {INSENSITIVE[family]} closes "
                f"{span(shares[0], '.0%')}, {family} latent {span(shares[1], '.0%')}."
            )
    return words


def computed(results: Results, facts: Mapping[str, str]) -> Table:
    """List settings of the run, and what the caller knows about it."""
    settings = results.settings
    searched = f"{settings.trials} trials × {settings.folds} random 75/25 splits"
    rows: list[tuple[Cell, ...]] = [
        ("data sets", str(settings.datasets)),
        ("seeds", f"0 to {settings.datasets - 1}"),
        ("levels α", ", ".join(f"{level:g}" for level in settings.levels)),
        ("hyperparameters and ε", "published" if settings.published_settings else "searched"),
        ("searches", "none" if settings.published_settings else searched),
        ("demand and orders clipped at zero", "yes" if settings.clip else "no"),
        ("fits", str(len(results.fits))),
        *facts.items(),
    ]
    if results.searches:
        seconds = sum(row.seconds for row in results.searches)
        rows.insert(5, ("seconds in searches", f"{seconds:.0f}"))
    columns = (Column("what"), Column("value"))
    return Table("computed", "Settings and circumstances", columns, tuple(rows))
