"""Band rules and censoring models: estimate how far the truth may lie above an observation (ε).

====================== =================================================== =====================
rule                   needs                                               chooses ε by
====================== =================================================== =====================
`LatentBand`           nothing; uses a sell-out rate, flags, stock, dates  the likelihood
`AuditedBand`          the truth of some rows                              the realised cost there
`SearchedBand`         nothing                                             the paper's Step 2
`FixedBand`            two numbers                                         these numbers
====================== =================================================== =====================

`OrderRuleDetection` finds orders that followed a rule on past observations, and flags stock-outs.
To write a rule of your own, derive from `BandRule`.
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
