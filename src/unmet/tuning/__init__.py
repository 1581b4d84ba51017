"""Search of hyperparameters for any model, with Optuna."""

from unmet.tuning.result import SearchResult
from unmet.tuning.searching import search
from unmet.tuning.space import Choice, Uniform, Whole
from unmet.tuning.splits import RollingOrigin, shuffled_splits
from unmet.tuning.trial import Trial

__all__ = [
    "Choice",
    "RollingOrigin",
    "SearchResult",
    "Trial",
    "Uniform",
    "Whole",
    "search",
    "shuffled_splits",
]
