"""scikit-learn estimators that learn decisions."""

from typing import TYPE_CHECKING

from unmet.lazily import names_of

if TYPE_CHECKING:
    from unmet.models.boosted import BoostedDecision
    from unmet.models.distribution import DistributionDecision
    from unmet.models.explaining import DecisionExplainer, DecisionParts
    from unmet.models.linear import LinearDecision
    from unmet.models.neural import NeuralDecision

__all__ = [
    "BoostedDecision",
    "DecisionExplainer",
    "DecisionParts",
    "DistributionDecision",
    "LinearDecision",
    "NeuralDecision",
]

__getattr__ = names_of(
    __name__,
    {
        "unmet.models.boosted": "BoostedDecision",
        "unmet.models.explaining": "DecisionExplainer DecisionParts",
        "unmet.models.distribution": "DistributionDecision",
        "unmet.models.linear": "LinearDecision",
        "unmet.models.neural": "NeuralDecision",
    },
)
