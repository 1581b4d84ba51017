"""scikit-learn estimators that learn decisions."""

from typing import TYPE_CHECKING

from unmet.lazily import names_of

if TYPE_CHECKING:
    from unmet.estimators.boosted import BoostedDecision
    from unmet.estimators.distribution import DistributionDecision
    from unmet.estimators.explaining import DecisionExplainer
    from unmet.estimators.grouped import GroupedDecision
    from unmet.estimators.linear import LinearDecision
    from unmet.estimators.neural import NeuralDecision

__all__ = [
    "BoostedDecision",
    "DecisionExplainer",
    "DistributionDecision",
    "GroupedDecision",
    "LinearDecision",
    "NeuralDecision",
]

__getattr__ = names_of(
    __name__,
    {
        "unmet.estimators.boosted": "BoostedDecision",
        "unmet.estimators.explaining": "DecisionExplainer",
        "unmet.estimators.distribution": "DistributionDecision",
        "unmet.estimators.grouped": "GroupedDecision",
        "unmet.estimators.linear": "LinearDecision",
        "unmet.estimators.neural": "NeuralDecision",
    },
)
