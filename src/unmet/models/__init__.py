"""scikit-learn estimators that learn decisions."""

from typing import TYPE_CHECKING

from unmet.lazily import names_of

if TYPE_CHECKING:
    from unmet.models.boosted import BoostedDecision
    from unmet.models.explaining import DecisionExplainer, DecisionParts
    from unmet.models.law import LawDecision
    from unmet.models.linear import LinearDecision
    from unmet.models.neural import NeuralDecision

__all__ = [
    "BoostedDecision",
    "DecisionExplainer",
    "DecisionParts",
    "LawDecision",
    "LinearDecision",
    "NeuralDecision",
]

__getattr__ = names_of(
    __name__,
    {
        "unmet.models.boosted": "BoostedDecision",
        "unmet.models.explaining": "DecisionExplainer DecisionParts",
        "unmet.models.law": "LawDecision",
        "unmet.models.linear": "LinearDecision",
        "unmet.models.neural": "NeuralDecision",
    },
)
