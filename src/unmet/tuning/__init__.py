"""Search of hyperparameters for any model, with Optuna."""

from unmet.tuning.ledger import Trial
from unmet.tuning.search import SearchResult, search
from unmet.tuning.space import Choice, Uniform, Whole
from unmet.tuning.splits import RollingOrigin, shuffled_splits

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
