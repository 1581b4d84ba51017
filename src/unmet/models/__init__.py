"""scikit-learn estimators that learn decisions."""

from unmet.models.linear import LinearDecision

__all__ = ["LinearDecision"]
