"""What things are called in each problem."""

from __future__ import annotations

from dataclasses import dataclass

from unmet.errors import InvalidInput


@dataclass(frozen=True)
class Words:
    """Names of the same things in one problem.

    Attributes
    ----------
    decision, decisions : str
        What is decided.
    observations : str
        What was seen, in the plural.
    truth : str
        What one wanted to see.
    rate : str
        The share of rows whose truth lies above the observation.
    rate_means : str
        The same in plain words.
    policy : str
        What limits the observations.
    ignoring : str
        Heading of decisions that take observations for the truth.
    amount : str
        What an axis of decisions measures.
    added_up : bool
        Whether decisions add up to something.
    covered : str
        The share of rows whose decision is not below the truth.
    served : str or None
        The share of the truth that decisions reach, where that has a name.
    favours : str
        What pricing on observations favours.
    helps : tuple of str
        What would tell more, a sentence each.
    """

    decision: str
    decisions: str
    observations: str
    truth: str
    rate: str
    rate_means: str
    policy: str
    ignoring: str
    amount: str
    added_up: bool
    covered: str
    served: str | None
    favours: str
    helps: tuple[str, ...]


_AUDIT = (
    "The truth of a few rows, found out with effort (AuditedBand): a few dozen often decide "
    "between explanations."
)

PROBLEMS = {
    "newsvendor": Words(
        decision="order quantity",
        decisions="order quantities",
        observations="sales",
        truth="demand",
        rate="sell-out rate",
        rate_means="share of rows that sold out",
        policy="orders",
        ignoring="taking sales for demand",
        amount="units",
        added_up=True,
        covered="Rows covered",
        served="Demand served",
        favours="orders that are too low",
        helps=(
            "A sell-out rate: how often was the shelf empty (sellout_rate=, --sellout-rate)? A "
            "rough one is much better than none.",
            "Flags of the rows that sold out (censored=, --censored-column), even for some of "
            "the rows.",
            "What was in stock (stock=, --stock-column): sales below it are demand.",
            _AUDIT,
        ),
    ),
    "pricing": Words(
        decision="price",
        decisions="prices",
        observations="offered prices",
        truth="the reservation price",
        rate="acceptance rate",
        rate_means="share of offers that were accepted",
        policy="offers",
        ignoring="taking offers for what buyers would pay",
        amount="price",
        added_up=False,
        covered="Prices too high",
        served=None,
        favours="prices that are too low",
        helps=(
            "Rejected offers: without them nothing says what was too much (Limits.offers).",
            "Prices that vary for the same kind of buyer: try a few per cent more and less.",
            "Deals at a price that the buyer named: they are the truth itself.",
            _AUDIT,
        ),
    ),
    "replacement": Words(
        decision="replacement age",
        decisions="replacement ages",
        observations="times in service",
        truth="the failure time",
        rate="share replaced in time",
        rate_means="share of units replaced before they failed",
        policy="plans",
        ignoring="taking times in service for lifetimes",
        amount="age",
        added_up=False,
        covered="Failed before",
        served=None,
        favours="ages that are too low",
        helps=(
            "Flags of the units that had not failed when they were replaced (censored=).",
            "Some units that are left in service until they fail.",
            "What inspections found: it limits the failure time from both sides (Limits).",
            _AUDIT,
        ),
    ),
}


def words_for(problem: str) -> Words:
    """Words of a problem: "newsvendor", "pricing" or "replacement"."""
    if problem not in PROBLEMS:
        allowed = ", ".join(repr(name) for name in PROBLEMS)
        raise InvalidInput(f"problem must be one of {allowed}, got {problem!r}.")
    return PROBLEMS[problem]
