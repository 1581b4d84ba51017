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
    from unmet.censoring.audited import AuditedBand as AuditedBand
    from unmet.censoring.latent.band import LatentBand as LatentBand
    from unmet.censoring.model import CensoringModel as CensoringModel
    from unmet.censoring.model import Diagnosis as Diagnosis
    from unmet.censoring.order_rule import OrderRuleDetection as OrderRuleDetection
    from unmet.censoring.rule import BandRule as BandRule
    from unmet.censoring.rule import FixedBand as FixedBand
    from unmet.censoring.searched import SearchedBand as SearchedBand


__getattr__, __dir__, __all__ = names_of(
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
