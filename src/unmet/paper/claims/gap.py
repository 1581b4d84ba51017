"""What the paper does not ask: how much of the cost of censoring is won back."""

from __future__ import annotations

from unmet.paper.claims.claim import Case, Claim, at, failing, judge, listed, series, span
from unmet.paper.measures import known, optimum_cost, share_closed
from unmet.paper.methods import IGNORING, INSENSITIVE, Family
from unmet.paper.published import band
from unmet.paper.results import Results

#: Widths of a band count as the same when they differ by no more, as shares of the range of sales.
SAME_WIDTH = 0.03


def latent_closes_more(results: Results, family: Family) -> Claim:
    """Claim 10: LatentBand closes more of the gap to Q* than the published ε, where there is one.

    Boosted trees have no published ε: there the claim is that LatentBand closes some of it.
    """
    levels = results.settings.levels
    latent = [share_closed(results, f"{family} latent", level) for level in levels]
    published = [_published(results, family, level) for level in levels]
    cases = [
        Case(at(level), own - other)
        for level, own, other in zip(levels, latent, published, strict=True)
        if own is not None and other is not None
    ]
    lines = [f"{family} latent {series(levels, latent, '.0%')}"]
    if family in INSENSITIVE:
        lines.insert(0, f"{INSENSITIVE[family]} {series(levels, published, '.0%')}")
    for name in (f"{family} flags", f"{family} truth"):
        shares = [share_closed(results, name, level) for level in levels]
        lines.append(f"{name} {series(levels, shares, '.0%')}")
    than = INSENSITIVE.get(family, "IEO")
    statement = f"{family} latent closes more of the gap between IEO and Q* than {than}."
    found = f"Share closed: {'; '.join(lines)}."
    why = _why(results, family, failing(cases))
    return Claim("10", family, "ours", statement, judge(cases), found, why, failing(cases))


def _published(results: Results, family: Family, level: float) -> float | None:
    if family in INSENSITIVE:
        return share_closed(results, INSENSITIVE[family], level)
    return None if share_closed(results, f"{family} latent", level) is None else 0.0


def _width(results: Results, family: Family, level: float) -> float:
    row = results.search(2, family, level)
    low, high = band(family, level) if row is None else (row.best["low"], row.best["high"])
    return high - low


def _why(results: Results, family: Family, fails: tuple[str, ...]) -> str:
    levels = results.settings.levels
    why = "LatentBand estimates from the likelihood of the sales how much they hide"
    widths = [_width(results, family, level) for level in levels if family in INSENSITIVE]
    if widths and max(widths) - min(widths) <= SAME_WIDTH:
        why += (
            f", and its band follows α; the searched ε₁ − ε₂ is {span(widths, '.2f')} of the range "
            "of sales at every α"
        )
    why += "."
    if fails:
        above = [
            results.mean(IGNORING[family], level, "cost") / optimum_cost(results, level) - 1
            for level in levels
            if at(level) in fails
        ]
        why += (
            f" It does not at {listed(fails)}, where ignoring censoring costs "
            f"{span(above, '.1%')} more than Q*."
        )
    truth = known(share_closed(results, f"{family} truth", level) for level in levels)
    latent = known(share_closed(results, f"{family} latent", level) for level in levels)
    if truth and sum(latent) > sum(truth):
        why += (
            f" On average it closes more than {family} truth: a model that is told the demand "
            "learns each quantile from single rows, LatentBand a distribution from all of them."
        )
    return why
