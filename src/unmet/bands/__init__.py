"""Choosing ε: rules that say how far the truth may lie above an observation.

====================== =================================================== ====================
rule                   needs                                               follows
====================== =================================================== ====================
`LatentBand`           nothing; uses a sell-out rate, flags, stock, dates  the likelihood of S
`AuditedBand`          the truth of some rows                              its realised cost
`SearchedBand`         nothing                                             the paper's Step 2
`FixedBand`            the numbers                                         them
====================== =================================================== ====================

`OrderFingerprint` finds orders that followed a rule on past observations, and with them flags.
`BandRule` is the contract for a rule of your own.
"""

from typing import TYPE_CHECKING

from unmet.lazily import names_of

if TYPE_CHECKING:
    from unmet.bands.audited import AuditedBand
    from unmet.bands.diagnosis import Diagnosis, Explanation
    from unmet.bands.fingerprint.fingerprint import Fingerprint, OrderFingerprint
    from unmet.bands.fingerprint.history import HistoryRule
    from unmet.bands.fixed import FixedBand
    from unmet.bands.latent.band import LatentBand
    from unmet.bands.rule import BandRule
    from unmet.bands.searched import SearchedBand

__all__ = [
    "AuditedBand",
    "BandRule",
    "Diagnosis",
    "Explanation",
    "Fingerprint",
    "FixedBand",
    "HistoryRule",
    "LatentBand",
    "OrderFingerprint",
    "SearchedBand",
]

__getattr__ = names_of(
    __name__,
    {
        "unmet.bands.audited": "AuditedBand",
        "unmet.bands.diagnosis": "Diagnosis Explanation",
        "unmet.bands.fingerprint.fingerprint": "Fingerprint OrderFingerprint",
        "unmet.bands.fingerprint.history": "HistoryRule",
        "unmet.bands.fixed": "FixedBand",
        "unmet.bands.latent.band": "LatentBand",
        "unmet.bands.rule": "BandRule",
        "unmet.bands.searched": "SearchedBand",
    },
)
