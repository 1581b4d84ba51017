"""What a saved model consists of: plain values, arrays, and states of our own classes.

A file names our classes by the labels of one registry, never by where they stand in the package:
`LinearDecision`, `LatentBand`, `Newsvendor` for what users know by these names, plain words for
parts of them ("shift cost"). So classes and modules may be renamed and moved, and saved models
still load. A class says itself what its state is (`to_state`, and `from_state` to make it again);
where it does not, its state is its fields or attributes.

A state is JSON. What JSON does not know is an object with one key that begins with ``$``:

====================  ==========================================================================
``$float``            "nan", "inf" or "-inf"
``$tuple``, ``$set``  entries
``$dict``             pairs of key and value
``$bytes``            in base 64
``$slice``            start, stop, step
``$scalar``           of NumPy: its type and its value
``$date``             kind (date, datetime, timedelta) and value
``$random``           state of a ``RandomState`` or a ``Generator``
``$array``            type, shape, place among the bytes of all arrays, order (C or F)
``$objects``          shape and entries of an array of objects
``$sparse``           kind of the table, its shape and its three arrays
``$is``               label of one of our classes, with its ``state``
``$part``             number of a part in the format of skops, and what of ours it ``holds``
``$see``              number of an object, an array or a part that came before
====================  ==========================================================================

Objects of scikit-learn, and of classes of a user, are parts in the format of skops. What such a
part holds of ours (the last step of a pipeline, say) is taken out of it and written as our state.
"""

from __future__ import annotations

import base64
import copy
import datetime as dates
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from importlib import import_module
from math import isfinite, prod
from typing import Any

import numpy as np

from unmet.errors import InvalidInput

_PUBLIC: Mapping[str, str] = {
    "unmet.arrays": "Band SignedBand Limits",
    "unmet.costs.replacement": "AgeReplacement PreventiveReplacement",
    "unmet.costs.newsvendor": "Newsvendor",
    "unmet.costs.pricing": "CustomPricing",
    "unmet.costs.squared": "SquaredError",
    "unmet.costs.tiered": "TieredCost",
    "unmet.models.linear": "LinearDecision",
    "unmet.models.distribution": "DistributionDecision",
    "unmet.models.neural": "NeuralDecision",
    "unmet.models.boosted": "BoostedDecision",
    "unmet.models.explaining": "DecisionExplainer",
    "unmet.scale.grouped.model": "GroupedDecision",
    "unmet.solvers.problem": "Solution",
    "unmet.solvers.descent.minibatch": "MiniBatchOptions",
    "unmet.models.levels": "ConformalLevels",
    "unmet.bands.diagnosis": "Ambiguity Choice Diagnosis Candidate RobustnessCheck "
    "QuantilePlot Sensitivity",
    "unmet.bands.fixed": "FixedBand",
    "unmet.bands.searched": "SearchedBand",
    "unmet.bands.audited": "AuditedBand",
    "unmet.bands.order_rule.detection": "OrderRuleDetection DetectedRule",
    "unmet.bands.order_rule.rules": "OrderRule",
    "unmet.bands.latent.band": "LatentBand",
    "unmet.planning.decision_plan": "DecisionPlan",
    "unmet.planning.order_plan": "OrderPlan ChosenModel",
    "unmet.planning.replenishment_plan": "ReplenishmentPlan",
    "unmet.planning.decision_log": "Overrides",
    "unmet.planning.demand_forecast": "DemandForecast",
    "unmet.replenishment.paths": "DemandDistribution",
    "unmet.replenishment.rules": "SupplyRules",
    "unmet.replenishment.state": "StockState",
    "unmet.planning.schema": "Schema",
    "unmet.planning.model_selection": "ModelChoice",
    "unmet.planning.encoding": "TableEncoder",
    "unmet.planning.decision_report": "Comparison Fold MethodCost",
}
"""Classes that users know, by their module: their label is their name."""

_PARTS: Mapping[str, str] = {
    "network steps": "unmet.models.networks.Steps",
    "columns": "unmet.models.trees.Columns",
    "shift cost": "unmet.models.lots.ShiftCost",
    "rows": "unmet.rows.Rows",
    "groups": "unmet.scale.grouped.keys.GroupIndex",
    "distribution of a panel": "unmet.scale.grouped.panel_distribution.PanelDistribution",
    "levels of groups": "unmet.scale.grouped.pooling.Level",
    "shift cost of groups": "unmet.scale.grouped.lots.GroupShiftCost",
    "trees": "unmet.solvers.boosting.growing.Trees",
    "descent": "unmet.solvers.descent.minibatch.DescentState",
    "units": "unmet.solvers.losses.Units",
    "network": "unmet.solvers.neural.networks.Network",
    "layers": "unmet.solvers.neural.networks.NetworkLayout",
    "feature scaling": "unmet.solvers.neural.networks.FeatureScaling",
    "moments": "unmet.solvers.neural.optimisers.Moments",
    "answers by cost": "unmet.bands.refitting.PredictionsByCost",
    "linear rule": "unmet.bands.refitting.LinearRule",
    "trainer": "unmet.bands.refitting.Trainer",
    "band search": "unmet.bands.searched._BandSearch",
    "searched band": "unmet.bands.searched._Prediction",
    "audit": "unmet.bands.audited.Audit",
    "audit search": "unmet.bands.audited._AuditSearch",
    "audited shift": "unmet.bands.audited._Found",
    "family": "unmet.bands.latent.families.Family",
    "location basis": "unmet.bands.latent.location.LocationBasis",
    "location": "unmet.bands.latent.location.Location",
    "stock by features": "unmet.bands.latent.location.StockOf",
    "bins": "unmet.bands.latent.location.Bins",
    "plane and trees": "unmet.bands.latent.location.Grown",
    "orthogonal basis": "unmet.bands.latent.fitting.OrthogonalBasis",
    "order plane": "unmet.bands.latent.orders.OrderPlane",
    "candidate of a panel": "unmet.planning.panel_models.PanelModel",
    "columns of a line": "unmet.planning.panel_models.LineColumns",
    "model estimator": "unmet.planning.problem_estimators.ModelEstimator",
    "age estimator": "unmet.planning.problem_estimators.AgeEstimator",
    "revenue estimator": "unmet.planning.problem_estimators.RevenueEstimator",
}
"""What these consist of, by label. With the table above, the only place that follows a renaming."""

_PATHS = {name: f"{module}.{name}" for module, names in _PUBLIC.items() for name in names.split()}
_PATHS |= _PARTS
_LABELS = {path: label for label, path in _PATHS.items()}
_PLACEHOLDER = "$unmet"
_ARRAY_KINDS = "biufcmMSU"


def labels() -> list[str]:
    """Labels of all our classes that a file may name."""
    return sorted(_PATHS)


def label_of(value: Any) -> str | None:
    """Label of one of our classes; None for objects of other classes."""
    kind = type(value)
    return _LABELS.get(f"{kind.__module__}.{kind.__qualname__}")


@lru_cache(maxsize=256)
def class_of(label: str) -> Any:
    """Class of a label; its module is imported now, and no other."""
    where, _, name = _PATHS[label].rpartition(".")
    return getattr(import_module(where), name)


# --- Writing.


class Writer:
    """Turns an object into a state, arrays and parts.

    Attributes
    ----------
    arrays : bytearray
        Numbers of all arrays, one after another.
    parts : list
        Objects that are not ours, with what is ours in them replaced.
    """

    def __init__(self) -> None:
        self.arrays = bytearray()
        self.parts: list[Any] = []
        self._starts: dict[bytes, int] = {}  # the same numbers are written once
        self._known: dict[int, tuple[int, Any]] = {}  # keeps them alive: numbers are reused

    def write(self, value: Any) -> Any:
        """State of anything, in JSON."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if isfinite(value) else {"$float": repr(value)}
        if type(value) is list:
            return [self.write(each) for each in value]
        written = self._container(value)
        if written is not None:
            return written
        if id(value) in self._known:
            return {"$see": self._known[id(value)][0]}
        if isinstance(value, np.ndarray) and value.dtype.kind in _ARRAY_KINDS:
            return self._array(value)
        if isinstance(value, np.ndarray) and value.dtype.kind == "O":
            entries = [self.write(each) for each in value.ravel().tolist()]
            return {"$objects": [list(value.shape), entries]}
        if label_of(value) is not None:
            return self._ours(value)
        sparse = self._sparse(value)
        return self._part(value) if sparse is None else sparse

    def _container(self, value: Any) -> Any:
        """State of a small value that is written wherever it occurs; None for anything else."""
        kind = type(value)
        if kind is tuple:
            return {"$tuple": [self.write(each) for each in value]}
        if kind is dict:
            return {"$dict": [[self.write(key), self.write(v)] for key, v in value.items()]}
        if kind in (set, frozenset):
            return {"$set": [self.write(each) for each in value]}
        if kind is bytes:
            return {"$bytes": base64.b64encode(value).decode()}
        if kind is slice:
            return {"$slice": [self.write(v) for v in (value.start, value.stop, value.step)]}
        if isinstance(value, np.generic) and value.dtype.kind in _ARRAY_KINDS:
            whole = np.asarray(value)
            return {"$scalar": [whole.dtype.str, base64.b64encode(whole.tobytes()).decode()]}
        if kind is dates.timedelta:
            return {"$date": ["timedelta", [value.days, value.seconds, value.microseconds]]}
        if kind in (dates.date, dates.datetime):
            return {"$date": [kind.__name__, value.isoformat()]}
        if kind is np.random.RandomState:
            return {"$random": ["RandomState", self.write(value.get_state(legacy=False))]}
        if kind is np.random.Generator:
            return {"$random": ["Generator", self.write(value.bit_generator.state)]}
        return None

    def _number(self, value: Any) -> int:
        self._known[id(value)] = len(self._known), value
        return self._known[id(value)][0]

    def _array(self, value: Any) -> Any:
        """Keep the order in memory as well: sums of products depend on it in their last digit."""
        self._number(value)
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        content = value.tobytes(order=order)
        start = self._starts.setdefault(content, len(self.arrays))
        if start == len(self.arrays):
            self.arrays += content
        return {"$array": [value.dtype.str, list(value.shape), start, order]}

    def _ours(self, value: Any) -> Any:
        self._number(value)
        state = {name: self.write(each) for name, each in state_of(value).items()}
        return {"$is": label_of(value), "state": state}

    def _sparse(self, value: Any) -> Any:
        kind = type(value).__name__
        if kind not in _SPARSE or not type(value).__module__.startswith("scipy.sparse"):
            return None
        whole = [self.write(np.array(part)) for part in (value.data, value.indices, value.indptr)]
        self._number(value)
        return {"$sparse": [kind, list(value.shape), *whole]}

    def _part(self, value: Any) -> Any:
        """Take what is ours out of an object of others, and leave numbers in its place."""
        self._number(value)
        ours = [each for each in parts_of(value) if each is not value and label_of(each)]
        inner = _outermost(ours)
        memo: dict[int, Any] = {id(each): {_PLACEHOLDER: place} for place, each in enumerate(inner)}
        bare = copy.deepcopy(value, memo) if inner else value
        number = len(self.parts)
        self.parts.append(bare)
        return {"$part": number, "holds": [self.write(each) for each in inner]}


def state_of(value: Any) -> dict[str, Any]:
    """State of one of our objects: what its class says, otherwise its fields or attributes."""
    if hasattr(value, "to_state"):
        state: dict[str, Any] = value.to_state()
        return state
    if isinstance(value, tuple):
        return dict(value._asdict())  # type: ignore[attr-defined]
    kind: Any = type(value)
    if kind.__getstate__ is not object.__getstate__:
        return dict(value.__getstate__())
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return dict(vars(value))


def parts_of(model: Any) -> Iterator[Any]:
    """Walk through containers and attributes, each object once; plain values are left out."""
    waiting, known = [model], dict[int, Any]()  # keeps them alive: numbers of objects are reused
    while waiting:
        each = waiting.pop()
        if isinstance(each, str | bytes | int | float | np.ndarray | type) or id(each) in known:
            continue
        known[id(each)] = each
        yield each
        if isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list | tuple | set):
            waiting.extend(each)
        else:
            waiting.extend(getattr(each, "__dict__", {}).values())


def _outermost(ours: Sequence[Any]) -> list[Any]:
    """Those of our objects that are not held by another of ours."""
    held = {id(each) for outer in ours for each in parts_of(outer) if each is not outer}
    return [each for each in ours if id(each) not in held]


# --- Reading.

_SPARSE = ("csr_array", "csr_matrix", "csc_array", "csc_matrix")
_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def check_labels(state: Any) -> None:
    """Refuse a state that names a class we do not have, before anything is made of it."""
    waiting = [state]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if "$is" in each and each["$is"] not in _PATHS:
                raise InvalidInput(
                    f"The file was not loaded: it asks for {str(each['$is'])!r:.60}, which models "
                    "of unmet do not hold."
                )
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)


class Reader:
    """Makes an object of a state that has been checked.

    Parameters
    ----------
    arrays : bytes
    parts : sequence of objects
        As they were loaded.
    """

    def __init__(self, arrays: bytes, parts: Sequence[Any]) -> None:
        self._arrays = arrays
        self._parts = parts
        self._known: list[Any] = []

    def read(self, state: Any) -> Any:
        """Make what a state describes."""
        if isinstance(state, list):
            return [self.read(each) for each in state]
        if not isinstance(state, dict):
            return state
        kind = next(iter(state))
        return getattr(self, f"_read_{kind[1:]}")(state)

    def _read_float(self, state: Any) -> float:
        return {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}[state["$float"]]

    def _read_tuple(self, state: Any) -> tuple[Any, ...]:
        return tuple(self.read(state["$tuple"]))

    def _read_set(self, state: Any) -> set[Any]:
        return set(self.read(state["$set"]))

    def _read_dict(self, state: Any) -> dict[Any, Any]:
        return {self.read(key): self.read(value) for key, value in state["$dict"]}

    def _read_bytes(self, state: Any) -> bytes:
        return base64.b64decode(state["$bytes"])

    def _read_slice(self, state: Any) -> slice:
        return slice(*state["$slice"])

    def _read_scalar(self, state: Any) -> Any:
        kind, content = state["$scalar"]
        return np.frombuffer(base64.b64decode(content), _dtype(kind), count=1)[0]

    def _read_date(self, state: Any) -> Any:
        kind, value = state["$date"]
        if kind == "timedelta":
            return dates.timedelta(*value)
        return {"date": dates.date, "datetime": dates.datetime}[kind].fromisoformat(value)

    def _read_random(self, state: Any) -> Any:
        kind, inner = state["$random"][0], self.read(state["$random"][1])
        name = inner["bit_generator"]
        if name not in _BIT_GENERATORS or (kind == "RandomState" and name != "MT19937"):
            raise InvalidInput(f"The file was not loaded: it asks for numpy.random.{name}.")
        if kind == "RandomState":
            old = np.random.RandomState()
            old.set_state(inner)
            return old
        bits = getattr(np.random, name)()
        bits.state = inner
        return np.random.Generator(bits)

    def _read_array(self, state: Any) -> Any:
        kind, shape, start, order = state["$array"]
        dtype, count = _dtype(kind), prod(shape)
        end = start + count * dtype.itemsize
        if min([start, *shape]) < 0 or end > len(self._arrays):
            raise InvalidInput("The file was not loaded: an array in it is not as long as it says.")
        flat = np.frombuffer(self._arrays[start:end], dtype, count).copy()
        whole = flat.reshape(shape, order=order)
        self._known.append(whole)
        return whole

    def _read_objects(self, state: Any) -> Any:
        shape, entries = state["$objects"]
        whole = np.empty(len(entries), dtype=object)
        whole[:] = self.read(entries)
        return whole.reshape(shape)

    def _read_sparse(self, state: Any) -> Any:
        from scipy import sparse

        kind, shape, *inner = state["$sparse"]
        if kind not in _SPARSE:
            raise InvalidInput(f"The file was not loaded: it asks for a table {kind!r:.40}.")
        table = getattr(sparse, kind)(tuple(self.read(inner)), shape=tuple(shape))
        table.check_format(full_check=True)
        self._known.append(table)
        return table

    def _read_is(self, state: Any) -> Any:
        place = len(self._known)
        self._known.append(None)
        cls = class_of(state["$is"])
        inner = {name: self.read(each) for name, each in state["state"].items()}
        made = _made(cls, inner)
        self._known[place] = made
        return made

    def _read_part(self, state: Any) -> Any:
        place = len(self._known)
        self._known.append(None)
        part, inner = self._parts[state["$part"]], self.read(state["holds"])
        marks = [
            each
            for each in parts_of(part)
            if isinstance(each, dict) and each.keys() == {_PLACEHOLDER}
        ]
        if marks:
            part = copy.deepcopy(part, {id(mark): inner[mark[_PLACEHOLDER]] for mark in marks})
        self._known[place] = part
        return part

    def _read_see(self, state: Any) -> Any:
        return self._known[state["$see"]]


def _dtype(name: str) -> np.dtype[Any]:
    dtype = np.dtype(name)
    if dtype.kind not in _ARRAY_KINDS:
        raise InvalidInput(f"The file was not loaded: it has an array of {name!r:.40}.")
    return dtype


def _made(cls: Any, state: dict[str, Any]) -> Any:
    """Make an object of ours from its state; no constructor is called."""
    if hasattr(cls, "from_state"):
        return cls.from_state(state)
    if issubclass(cls, tuple):
        return cls(**state)
    made = object.__new__(cls)
    if hasattr(cls, "__setstate__"):
        made.__setstate__(state)
    else:
        vars(made).update(state)
    return made
