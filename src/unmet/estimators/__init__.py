"""scikit-learn estimators that learn decisions from features and observations."""

from typing import TYPE_CHECKING

from unmet.lazily import names_of

if TYPE_CHECKING:
    from unmet.estimators.boosted import BoostedDecision as BoostedDecision
    from unmet.estimators.distribution import DistributionDecision as DistributionDecision
    from unmet.estimators.explaining import DecisionExplainer as DecisionExplainer
    from unmet.estimators.grouped import GroupedDecision as GroupedDecision
    from unmet.estimators.linear import LinearDecision as LinearDecision
    from unmet.estimators.neural import NeuralDecision as NeuralDecision


__getattr__, __dir__, __all__ = names_of(
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
