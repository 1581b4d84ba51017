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
    from unmet.censoring.latent.fit import fit_censoring
    from unmet.censoring.model import Candidate, CensoringModel, Diagnosis
    from unmet.censoring.order_rule import DetectedRule, OrderRule, OrderRuleDetection
    from unmet.censoring.rule import BandRule, FixedBand
    from unmet.censoring.searched import SearchedBand

__all__ = [
    "AuditedBand",
    "BandRule",
    "Candidate",
    "CensoringModel",
    "DetectedRule",
    "Diagnosis",
    "FixedBand",
    "LatentBand",
    "OrderRule",
    "OrderRuleDetection",
    "SearchedBand",
    "fit_censoring",
]

__getattr__ = names_of(
    __name__,
    {
        "unmet.censoring.audited": "AuditedBand",
        "unmet.censoring.model": "CensoringModel Diagnosis Candidate",
        "unmet.censoring.order_rule": "DetectedRule OrderRule OrderRuleDetection",
        "unmet.censoring.latent.band": "LatentBand",
        "unmet.censoring.latent.fit": "fit_censoring",
        "unmet.censoring.rule": "BandRule FixedBand",
        "unmet.censoring.searched": "SearchedBand",
    },
)
