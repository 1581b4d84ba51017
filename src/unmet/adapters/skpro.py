"""The distribution of a censored truth as a survival regressor of skpro.

skpro calls ``fit(X, y, C)`` with C = 0 if y is the truth and 1 if the truth lies above y, and
expects distributions. `LatentBand` learns from such flags. The adapter needs ``pip install
'unmet[skpro]'``.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.base import clone

from unmet.arrays import Array
from unmet.censoring import LatentBand
from unmet.costs import Newsvendor
from unmet.errors import InvalidInput, MissingPackage
from unmet.validation import Instance, Maybe

try:
    from skpro.distributions.base import BaseDistribution
    from skpro.survival.base import BaseSurvReg
except ImportError:
    raise MissingPackage.for_extra("unmet.adapters.skpro", "skpro", "skpro") from None

# Moments are integrals of the quantile over normal scores z, by the trapezoidal rule: exact to
# rounding for smooth distributions, since what is integrated, q(Φ(z)) φ(z), vanishes at both ends.
_SCORES = np.arange(-7.5, 7.51, 0.25)
_LEVELS = np.asarray(ndtr(_SCORES))
_WEIGHTS = np.exp(-0.5 * np.square(_SCORES))
_WEIGHTS /= _WEIGHTS.sum()


class LatentDistribution(BaseDistribution):
    """Distributions of the truth of some rows, from a fitted `LatentBand`.

    Probabilities and quantiles are those of the rule. Mean and variance are integrals of the
    quantiles, and the density is a difference of probabilities.

    Parameters
    ----------
    rule : LatentBand
        Fitted rule.
    features : ndarray of shape (n_rows, n_features)
        Features of the rows.
    index, columns : pandas.Index, optional
        Labels of the rows, and of the single target. None is the distribution of a single row.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LatentBand, Newsvendor
    >>> from unmet.adapters.skpro import LatentDistribution
    >>> rule = LatentBand(families="normal", orders="absent", random_state=0)
    >>> rule = rule.fit(Newsvendor(3, 1), [[0.0]] * 40, list(range(40)))
    >>> float(LatentDistribution(rule, np.array([[0.0]])).ppf(0.5)).__round__()
    20
    """

    _tags = {  # noqa: RUF012 (skpro's way)
        "capabilities:approx": ["mean", "var", "energy", "pdf", "log_pdf", "pdfnorm"],
        "capabilities:exact": ["cdf", "ppf"],
        "distr:measuretype": "continuous",
        "distr:paramtype": "nonparametric",
    }

    def __init__(self, rule: Any, features: Any, index: Any = None, columns: Any = None) -> None:
        self.rule = rule
        self.features = features
        super().__init__(index=index, columns=columns)

    def _cdf(self, x: Array) -> Array:
        return np.asarray(1.0 - self.rule.survival(self.features, np.ravel(x))).reshape(np.shape(x))

    def _surv(self, x: Array) -> Array:
        return np.asarray(self.rule.survival(self.features, np.ravel(x))).reshape(np.shape(x))

    def _ppf(self, p: Array) -> Array:
        inside = np.clip(np.ravel(p), 1e-15, 1 - 1e-15)
        return np.asarray(self.rule.quantile(self.features, inside)).reshape(np.shape(p))

    def _pdf(self, x: Array) -> Array:
        quantile = self.rule.quantile_function(self.features)
        # a difference over a small part of the range between quartiles stands for the density
        step = np.maximum(1e-4 * (quantile(0.75) - quantile(0.25)), np.finfo(np.float64).tiny)
        step = step.reshape(np.shape(x))
        return np.asarray((self._cdf(x + step) - self._cdf(x - step)) / (2.0 * step))

    def _log_pdf(self, x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._pdf(x)))

    def _nodes(self) -> Array:
        """Quantiles of all rows at `_LEVELS`, of shape (n_levels, n_rows)."""
        quantile = self.rule.quantile_function(self.features)
        return np.stack([quantile(float(level)) for level in _LEVELS])

    def _mean(self) -> Array:
        return np.asarray(_WEIGHTS @ self._nodes()).reshape(self.shape)

    def _var(self) -> Array:
        nodes = self._nodes()
        return np.asarray(_WEIGHTS @ np.square(nodes - _WEIGHTS @ nodes)).reshape(self.shape)

    def _iloc(self, rowidx: Any = None, colidx: Any = None) -> Any:
        if (
            np.ndim(rowidx) == 0
            and np.ndim(colidx) == 0
            and not (rowidx is None or colidx is None or isinstance(rowidx, slice))
        ):
            return self._iat(rowidx, colidx)
        rows, columns = _places(len(self.index), rowidx), _places(len(self.columns), colidx)
        index, columns = self.index.take(rows), self.columns.take(columns)
        return LatentDistribution(self.rule, self.features[rows], index, columns)

    def _iat(self, rowidx: Any = None, colidx: Any = None) -> Any:  # noqa: ARG002 (one column)
        return LatentDistribution(self.rule, self.features[[rowidx]])


class LatentSurvival(BaseSurvReg):
    """Survival regression of skpro by a `LatentBand`.

    Parameters
    ----------
    rule : LatentBand, optional
        Rule that learns the distribution. None is ``LatentBand(random_state=random_state)``.
    random_state : int, RandomState or None, default=None
        Seed of the rule if `rule` is None.

    Attributes
    ----------
    rule_ : LatentBand
        The fitted rule; ``rule_.diagnosis_`` shows how much the observations hide.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from unmet.adapters import LatentSurvival
    >>> generator = np.random.default_rng(0)
    >>> X = pd.DataFrame({"warmth": generator.uniform(size=500)})
    >>> demand = 50 + 30 * X["warmth"] + generator.normal(scale=12, size=500)
    >>> stock = 60 + 20 * X["warmth"]
    >>> sales = pd.DataFrame({"sales": np.minimum(demand, stock)})
    >>> sold_out = pd.DataFrame({"sales": (demand > stock).astype(int)})
    >>> model = LatentSurvival(random_state=0).fit(X, sales, C=sold_out)
    >>> distribution = model.predict_proba(pd.DataFrame({"warmth": [0.5]}))
    >>> mean, deviation = distribution.mean().iloc[0, 0], distribution.var().iloc[0, 0] ** 0.5
    >>> bool(abs(mean - 65) < 3 and abs(deviation - 12) < 3)
    True
    """

    _tags = {  # noqa: RUF012
        "authors": ["the unmet developers"],
        "capability:multioutput": False,
        "capability:missing": False,
        "capability:survival": True,
        "X_inner_mtype": "pd_DataFrame_Table",
        "y_inner_mtype": "pd_DataFrame_Table",
        "C_inner_mtype": "pd_DataFrame_Table",
    }

    rule_: LatentBand

    def __init__(self, rule: Any = None, random_state: Any = None) -> None:
        self.rule = rule
        self.random_state = random_state
        super().__init__()

    def _fit(self, X: Any, y: Any, C: Any = None) -> Self:
        Maybe(Instance(LatentBand, "a LatentBand"))("rule", self.rule)
        if y.shape[1] != 1:
            raise InvalidInput(f"y must have one column, got {y.shape[1]}.")
        # skpro's convention: without C all are seen
        flags = np.zeros(len(y)) if C is None else C.to_numpy(dtype=np.float64)[:, 0]
        rule = LatentBand(random_state=self.random_state) if self.rule is None else clone(self.rule)
        observed = y.to_numpy(dtype=np.float64)[:, 0]
        self.rule_ = rule.fit(Newsvendor(1.0, 1.0), _numbers(X), observed, censored=flags)
        self._target = y.columns
        return self

    def _predict_proba(self, X: Any) -> LatentDistribution:
        return LatentDistribution(self.rule_, _numbers(X), X.index, self._target)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:  # noqa: ARG003
        """Give parameters for the tests of skpro.

        Parameters
        ----------
        parameter_set : str, default="default"
            Ignored; skpro passes it.

        Returns
        -------
        list of dict
            Parameters of instances to test.
        """
        quick = LatentBand(families="normal", location=None, random_state=1)
        return [{"random_state": 0}, {"rule": quick}]


def _places(count: int, chosen: Any) -> NDArray[np.intp]:
    """Positions from what pandas calls an indexer: a slice, a mask, positions, or None for all."""
    if chosen is None:
        return np.arange(count)
    return np.atleast_1d(
        np.arange(count)[chosen if isinstance(chosen, slice) else np.asarray(chosen)]
    )


def _numbers(X: Any) -> Array:
    """Features as numbers: skpro allows names of columns that scikit-learn does not."""
    return np.asarray(X.to_numpy(dtype=np.float64))
