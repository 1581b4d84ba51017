"""Choosing ε: rules that say how far the truth may lie above an observation.

====================== =================================================== ====================
rule                   needs                                               follows
====================== =================================================== ====================
`LatentBand`           nothing; uses a sell-out rate, flags, stock, dates  the likelihood of S
`AuditedBand`          the truth of some rows                              its realised cost
`SearchedBand`         nothing                                             the paper's Step 2
`FixedBand`            the numbers                                         them
====================== =================================================== ====================

`OrderRuleDetection` finds orders that followed a rule on past observations, and with them flags.
`BandRule` is the contract for a rule of your own.
"""

from typing import TYPE_CHECKING

from unmet.lazily import names_of

if TYPE_CHECKING:
    from unmet.censoring.audited import AuditedBand
    from unmet.censoring.latent.band import LatentBand
    from unmet.censoring.model import CensoringModel, Diagnosis
    from unmet.censoring.order_rule import OrderRuleDetection
    from unmet.censoring.rule import BandRule, FixedBand
    from unmet.censoring.searched import SearchedBand

__all__ = [
    "AuditedBand",
    "BandRule",
    "CensoringModel",
    "Diagnosis",
    "FixedBand",
    "LatentBand",
    "OrderRuleDetection",
    "SearchedBand",
]

__getattr__ = names_of(
    __name__,
    {
        "unmet.censoring.audited": "AuditedBand",
        "unmet.censoring.model": "CensoringModel Diagnosis",
        "unmet.censoring.order_rule": "OrderRuleDetection",
        "unmet.censoring.latent.band": "LatentBand",
        "unmet.censoring.rule": "BandRule FixedBand",
        "unmet.censoring.searched": "SearchedBand",
    },
)
