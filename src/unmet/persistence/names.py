"""Every type that a saved model may consist of, besides those that skops itself trusts.

A type that is not here is not loaded. Whoever adds a class to what a fitted model holds adds its
name here; the tests of this room save and load every model and say which name is missing. Classes
are only made from their attributes, never called: so keep out whatever does something when it is
filled in (``__setstate__``) beyond looking at what it was given, and all functions.
"""

from __future__ import annotations

from collections.abc import Sequence

from unmet.errors import InvalidInput

_OURS: dict[str, tuple[str, ...]] = {
    "unmet.band": ("Band", "SignedBand"),
    "unmet.limits": ("Limits",),
    "unmet.costs.age_replacement": ("AgeReplacement",),
    "unmet.costs.newsvendor": ("Newsvendor",),
    "unmet.costs.pricing": ("CustomPricing",),
    "unmet.costs.replacement": ("PreventiveReplacement",),
    "unmet.costs.squared": ("SquaredError",),
    "unmet.costs.tiered": ("TieredCost",),
    "unmet.bands.audit": ("Audit",),
    "unmet.bands.audited": ("AuditedBand", "_Found", "_Search"),
    "unmet.bands.censored_normal": ("Normal",),
    "unmet.bands.diagnosis": ("Diagnosis", "Explanation", "QuantilePicture", "Sensitivity"),
    "unmet.bands.em": ("EMBand",),
    "unmet.bands.fingerprint": ("OrderFingerprint",),
    "unmet.bands.fingerprint_result": ("Fingerprint",),
    "unmet.bands.fingerprint_rules": ("HistoryRule",),
    "unmet.bands.fixed": ("FixedBand",),
    "unmet.bands.kaplan_meier": ("KaplanMeierBand",),
    "unmet.bands.levels": ("LinearQuantiles",),
    "unmet.bands.projection": ("ProjectionBand",),
    "unmet.bands.refitting": ("Learned", "LinearRule", "Trainer"),
    "unmet.bands.sample": ("Sample",),
    "unmet.bands.searched": ("SearchedBand", "_Answer", "_Search"),
    "unmet.bands.similar": ("Leaf", "Nearest", "Splits"),
    "unmet.bands.tails": ("QuantileTailBand",),
    "unmet.bands.latent_band": ("LatentBand",),
    "unmet.bands.latent.design": ("Design",),
    "unmet.bands.latent.explain": ("Ranked",),
    "unmet.bands.latent.families": ("Family",),
    "unmet.bands.latent.findings": ("ProfileOf",),
    "unmet.bands.latent.fitting": ("Fit", "Problem", "Rate"),
    "unmet.bands.latent.frame": ("Frame",),
    "unmet.bands.latent.learn": ("Learned",),
    "unmet.bands.latent.likelihood": ("Rows",),
    "unmet.bands.latent.location": ("Location", "StockOf"),
    "unmet.bands.latent.model": ("Layout", "Model"),
    "unmet.bands.latent.observed": ("Observed",),
    "unmet.bands.latent.piles": ("Pile",),
    "unmet.bands.latent.race": ("Entry", "Field", "Runner"),
    "unmet.bands.latent.seen": ("SeenQuantiles",),
    "unmet.bands.latent.settings": ("RateRange",),
    "unmet.bands.latent.trees": ("Bins", "Grown"),
    "unmet.bands.latent.typical": ("TypicalRows",),
    "unmet.models.boosted": ("BoostedDecision",),
    "unmet.models.boosted_columns": ("Columns",),
    "unmet.models.linear": ("LinearDecision",),
    "unmet.models.lots": ("ShiftCost",),
    "unmet.models.network_steps": ("Steps",),
    "unmet.models.neural": ("NeuralDecision",),
    "unmet.models.training": ("Training",),
    "unmet.planning.deciders": ("AgeDecider", "ModelDecider", "RevenueDecider"),
    "unmet.planning.encoding": ("TableEncoder",),
    "unmet.planning.plan": ("Plan",),
    "unmet.planning.results": ("Comparison", "Fold", "MethodCost"),
    "unmet.scale.grouped": ("GroupedDecision",),
    "unmet.scale.grouped_keys": ("GroupIndex",),
    "unmet.scale.grouped_level": ("Level",),
    "unmet.scale.grouped_lots": ("GroupShiftCost",),
    "unmet.solvers.boosting.trees": ("Trees",),
    "unmet.solvers.minibatch": ("DescentState",),
    "unmet.solvers.minibatch_options": ("MiniBatchOptions",),
    "unmet.solvers.minibatch_rows": ("Units",),
    "unmet.solvers.neural.adam": ("Moments",),
    "unmet.solvers.neural.layout": ("Layout",),
    "unmet.solvers.neural.scaling": ("FeatureScaling", "TargetScaling"),
    "unmet.solvers.neural.scratch": ("Scratch",),
    "unmet.solvers.neural.tasks": ("Network",),
    "unmet.solvers.problem": ("Solution",),
}

OURS = frozenset(f"{module}.{name}" for module, names in _OURS.items() for name in names)
"""Our classes."""

SCIKIT_LEARN = frozenset(
    {
        # trees of `LatentBand`; what makes them unsafe is looked at by trees.py
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    }
)
"""What our models need of scikit-learn beyond what skops trusts."""

SCIPY = frozenset(
    f"scipy.sparse._{kind}.{kind}_{form}" for kind in ("csr", "csc") for form in ("array", "matrix")
)
"""Sparse tables; that they point inside themselves is looked at."""


def read_trusted(trusted: Sequence[str]) -> frozenset[str]:
    """Names that a caller adds: dotted, with the module."""
    if isinstance(trusted, str):
        raise InvalidInput(f"trusted must be a list of names, got the text {trusted!r:.60}.")
    for name in trusted:
        if not isinstance(name, str) or "." not in name:
            raise InvalidInput(
                f"trusted must hold names with their module, such as 'my_costs.MyCost', got "
                f"{name!r:.60}."
            )
    return frozenset(trusted)


def trusted_types() -> list[str]:
    """Names of all types beyond those of skops that a saved model may hold.

    For tools that save by skops themselves and ask what to trust, such as MLflow.

    Returns
    -------
    list of str
    """
    return sorted({*OURS, *SCIKIT_LEARN, *SCIPY})
