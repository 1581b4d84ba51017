"""The protocol of the paper, its published numbers, and ours beside them.

Names are imported when they are first used: worker processes need only a few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmet.lazily import names_of

if TYPE_CHECKING:
    from unmet.paper.claims import all_claims
    from unmet.paper.page import write_everything
    from unmet.paper.protocol import METHODS, FitRow, Method, PaperSettings, Results, SearchRow
    from unmet.paper.run import Standing, reproduce

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
        "unmet.paper.claims": "all_claims",
        "unmet.paper.page": "write_everything",
        "unmet.paper.protocol": "METHODS FitRow Method PaperSettings Results SearchRow",
        "unmet.paper.run": "Standing reproduce",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
