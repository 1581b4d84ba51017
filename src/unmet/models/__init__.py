"""scikit-learn estimators that learn decisions."""

from unmet.models.boosted import BoostedDecision
from unmet.models.linear import LinearDecision
from unmet.models.neural import NeuralDecision

__all__ = ["BoostedDecision", "LinearDecision", "NeuralDecision"]
