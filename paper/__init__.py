"""The protocol of the paper, its published numbers, and ours beside them.

Names are imported when they are first used: worker processes need only a few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmet.lazily import names_of

if TYPE_CHECKING:
    from paper.claims import all_claims
    from paper.page import write_everything
    from paper.protocol import METHODS, FitRow, Method, PaperSettings, Results, SearchRow
    from paper.run import Standing, reproduce

__all__ = [
    "METHODS",
    "FitRow",
    "Method",
    "PaperSettings",
    "Results",
    "SearchRow",
    "Standing",
    "all_claims",
    "reproduce",
    "write_everything",
]


__getattr__ = names_of(
    __name__,
    {
        "paper.claims": "all_claims",
        "paper.page": "write_everything",
        "paper.protocol": "METHODS FitRow Method PaperSettings Results SearchRow",
        "paper.run": "Standing reproduce",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
