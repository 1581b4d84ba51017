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
    from unmet.bands.audited import AuditedBand
    from unmet.bands.diagnosis import Candidate, Diagnosis
    from unmet.bands.latent.band import LatentBand
    from unmet.bands.order_rule.detection import DetectedRule, OrderRuleDetection
    from unmet.bands.order_rule.rules import OrderRule
    from unmet.bands.rule import BandRule, FixedBand
    from unmet.bands.searched import SearchedBand

__all__ = [
    "AuditedBand",
    "BandRule",
    "Candidate",
    "DetectedRule",
    "Diagnosis",
    "FixedBand",
    "LatentBand",
    "OrderRule",
    "OrderRuleDetection",
    "SearchedBand",
]

__getattr__ = names_of(
    __name__,
    {
        "unmet.bands.audited": "AuditedBand",
        "unmet.bands.diagnosis": "Diagnosis Candidate",
        "unmet.bands.order_rule.detection": "DetectedRule OrderRuleDetection",
        "unmet.bands.order_rule.rules": "OrderRule",
        "unmet.bands.latent.band": "LatentBand",
        "unmet.bands.rule": "BandRule FixedBand",
        "unmet.bands.searched": "SearchedBand",
    },
)
