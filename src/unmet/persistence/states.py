"""What a saved model consists of: plain values, arrays, and states of our own classes.

A file names our classes by the labels of one registry, which are their names, never by where they
stand in the package. The state of an object is its fields or attributes; a class that keeps less,
because training rows stay behind, says so (`to_state`).

A state is JSON. What JSON does not know is an object with one key that begins with ``$``:

========================  ======================================================================
``$tuple``, ``$set``      entries
``$dict``                 pairs of key and value
``$slice``                start, stop, step
``$date``, ``$datetime``  in ISO 8601
``$timedelta``            days, seconds, microseconds
``$scalar``               of NumPy: an array without dimensions
``$array``                type as written, shape, place among the bytes of all arrays, order, type
``$objects``              shape and entries of an array of objects
``$frame``                columns of a polars table
``$is``                   label of one of our classes, with its ``state``
``$part``                 number of a part in the format of skops, and what of ours it ``holds``
``$see``                  number of an object, an array or a part that came before
========================  ======================================================================

Everything else (objects of scikit-learn, sparse tables, random generators, classes of a user) is a
part in the format of skops. What such a part holds of ours (the last step of a pipeline, say) is
taken out of it and written as our state.
"""

from __future__ import annotations

import copy
import datetime as dates
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from unmet.errors import InvalidInput, Note

_CLASSES: Mapping[str, str] = {
    "arrays": "Band SignedBand Limits",
    "rows": "Rows",
    "costs.replacement": "AgeReplacement PreventiveReplacement",
    "costs.base": "Revenue SquaredError",
    "costs.hinge": "CustomPricing Newsvendor TieredCost",
    "solvers.problem": "Solution",
    "solvers.losses": "Units",
    "solvers.boosting.growing": "Trees",
    "solvers.descent.minibatch": "MiniBatchOptions",
    "solvers.neural.networks": "Network NetworkLayout FeatureScaling",
    "censoring.model": "Ambiguity Choice Diagnosis Candidate RobustnessCheck "
    "QuantilePlot Sensitivity",
    "censoring.rule": "FixedBand LinearRule",
    "censoring.searched": "SearchedBand",
    "censoring.audited": "AuditedBand",
    "censoring.order_rule": "OrderRuleDetection DetectedRule OrderRule",
    "censoring.latent.band": "LatentBand",
    "censoring.latent.families": "Family",
    "censoring.latent.likelihood": "LatentModel",
    "censoring.latent.location": "Grown Location LocationBasis",
    "censoring.latent.model": "FittedModel",
    "censoring.latent.observed": "Observed",
    "censoring.latent.sellout": "RateRange",
    "censoring.latent.orders": "OrderPlane",
    "censoring.latent.selection": "FittedCandidate",
    "estimators.linear": "LinearDecision",
    "estimators.distribution": "DistributionDecision",
    "estimators.lots": "GroupShiftCost ShiftCost",
    "estimators.neural": "NeuralDecision",
    "estimators.boosted": "BoostedDecision Columns",
    "estimators.explaining": "DecisionExplainer",
    "censoring.panel": "PanelDistribution",
    "estimators.grouped": "GroupedDecision GroupIndex Level",
    "inventory.orders": "Projection Replenishment",
    "inventory.paths": "DemandDistribution",
    "inventory.rules": "StockState SupplyRules",
    "evaluation.backtest": "ModelChoice",
    "planning.decision_models": "BlendedDecision ModelEstimator RuleEstimator",
    "planning.decision_log": "Overrides",
    "planning.history": "LinearColumns",
    "tables.encoding": "TableEncoder",
    "tables.panel": "Panel PanelFacts",
    "planning.candidates": "PanelModel",
    "planning.order_plan": "OrderPlan",
    "planning.decision_plan": "DecisionPlan",
    "tables.schema": "Schema",
    "planning.decision_report": "Comparison MethodCost",
}
"""All classes of ours that a file may name, by their module: the only place that follows a move."""

_MODULES = {name: f"unmet.{where}" for where, names in _CLASSES.items() for name in names.split()}
_PLACEHOLDER = "$unmet"
_ARRAY_KINDS = "biufcmMSU"


def label_of(value: Any) -> str | None:
    """Give the label of one of our classes; None for objects of other classes."""
    kind = type(value)
    return kind.__name__ if _MODULES.get(kind.__name__) == kind.__module__ else None


def class_of(label: Any) -> Any:
    """Give the class of a label; imports its module, and no other."""
    if label not in _MODULES:
        raise InvalidInput(f"it has the type {str(label)!r:.60}, which no model of unmet has.")
    return getattr(import_module(_MODULES[label]), label)


# --- Writing.

# Small values, which are written wherever they occur: their key, and what is written of them.
_SMALL: Mapping[type, tuple[str, Callable[[Any], Any]]] = {
    tuple: ("$tuple", list),
    set: ("$set", list),
    frozenset: ("$set", list),
    dict: ("$dict", lambda value: [list(pair) for pair in value.items()]),
    slice: ("$slice", lambda value: [value.start, value.stop, value.step]),
    dates.date: ("$date", dates.date.isoformat),
    dates.datetime: ("$datetime", dates.datetime.isoformat),
    dates.timedelta: ("$timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
}


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
        kind = type(value)
        if value is None or kind in (bool, int, float, str, Note):
            return value
        if kind is list:
            return [self.write(each) for each in value]
        if kind in _SMALL:
            key, taken = _SMALL[kind]
            return {key: self.write(taken(value))}
        if isinstance(value, np.generic):
            return {"$scalar": self.write(np.asarray(value))}
        if id(value) in self._known:
            return {"$see": self._known[id(value)][0]}
        if kind is np.ndarray and value.dtype.kind == "O":
            return {"$objects": [list(value.shape), self.write(value.ravel().tolist())]}
        if kind.__module__.startswith("polars.") and kind.__name__ == "DataFrame":
            return {"$frame": self.write([_column_state(column) for column in value])}
        self._known[id(value)] = len(self._known), value
        if kind is np.ndarray and value.dtype.kind in _ARRAY_KINDS:
            return self._array(value)
        if label_of(value):
            state = {name: self.write(each) for name, each in state_of(value).items()}
            return {"$is": label_of(value), "state": state}
        return self._part(value)

    def _array(self, value: Any) -> Any:
        """Keep the order in memory as well: sums of products depend on it in their last digit."""
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        small = compact(value)
        content = small.tobytes(order=order)
        start = self._starts.setdefault(content, len(self.arrays))
        if start == len(self.arrays):
            self.arrays += content
        return {"$array": [small.dtype.str, list(value.shape), start, order, value.dtype.str]}

    def _part(self, value: Any) -> Any:
        """Take what is ours out of an object of others, and leave numbers in its place."""
        ours = [each for each in parts_of(value) if each is not value and label_of(each)]
        held = {id(each) for outer in ours for each in parts_of(outer) if each is not outer}
        inner = [each for each in ours if id(each) not in held]
        memo: dict[int, Any] = {id(each): {_PLACEHOLDER: place} for place, each in enumerate(inner)}
        number = len(self.parts)
        self.parts.append(copy.deepcopy(value, memo) if inner else value)
        return {"$part": number, "holds": self.write(inner)}


def compact(values: Any) -> Any:
    """Keep numbers in the smallest type that holds each of them exactly."""
    smaller = {"f": (np.float16, np.float32), "i": (np.int8, np.int16, np.int32)}
    for kind in smaller.get(values.dtype.kind, ()):
        with np.errstate(over="ignore", invalid="ignore"):
            small = values.astype(kind)
        same = np.array_equal(small.astype(values.dtype), values, equal_nan=True)
        if same and small.itemsize < values.itemsize:
            return small
    return values


def state_of(value: Any) -> dict[str, Any]:
    """State of one of our objects: what its class says, otherwise its fields or attributes."""
    if hasattr(value, "to_state"):
        state: dict[str, Any] = value.to_state()
        return state
    if isinstance(value, tuple):
        return dict(value._asdict())  # type: ignore[attr-defined]
    kind: Any = type(value)
    if is_dataclass(value) and kind.__getstate__ is object.__getstate__:
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return dict(value.__getstate__() or {})


def parts_of(model: Any) -> Iterator[Any]:
    """Walk through containers and attributes, each object once; plain values are left out."""
    waiting, known = [model], dict[int, Any]()  # keeps them alive: numbers of objects are reused
    while waiting:
        each = waiting.pop()
        if isinstance(each, str | bytes | int | float | type) or id(each) in known:
            continue
        known[id(each)] = each
        if isinstance(each, np.ndarray):
            waiting.extend(each.ravel().tolist() if each.dtype == object else ())
            continue
        yield each
        if isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list | tuple | set):
            waiting.extend(each)
        else:
            waiting.extend(getattr(each, "__dict__", {}).values())


# --- Tables of polars: name, type, numbers and missing entries of each column, words of text.

_NUMBERS = (
    *("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"),
    *("Float32", "Float64", "Boolean", "Date"),
)


def _column_state(column: Any) -> list[Any]:
    import polars as pl

    kind, words = type(column.dtype).__name__, None
    if kind not in _NUMBERS:  # text, and what is read as text: numbers of its words
        text = column.cast(pl.String)
        listed = column.dtype.categories if kind == "Enum" else text.drop_nulls().unique().sort()
        words = listed.to_list()
        column = text.cast(pl.Enum(words))
    missing = column.is_null().to_numpy() if column.null_count() else None
    numbers = column.to_physical().fill_null(strategy="zero").to_numpy()
    return [column.name, kind, numbers, missing, words]


def _frame(state: list[Any]) -> Any:
    import polars as pl

    columns = []
    for name, kind, numbers, missing, words in state:
        column = pl.Series(name, numbers)
        if words is not None:
            there = [*words, ""]  # a column without any text has no words
            column = pl.Series(name, there, dtype=pl.String).gather(column)
            kinds: dict[str, Any] = {"Categorical": pl.Categorical, "Enum": pl.Enum(words)}
            column = column.cast(kinds.get(kind, pl.String), strict=False)
        else:
            column = column.cast({each: getattr(pl, each) for each in _NUMBERS}[kind])
        if missing is not None:
            kept = pl.when(~pl.Series(missing)).then(pl.col(name))
            column = pl.DataFrame([column]).select(kept).to_series()
        columns.append(column)
    return pl.DataFrame(columns)


# --- Reading.


def _objects(state: Any) -> Any:
    shape, entries = state
    whole = np.empty(len(entries), dtype=object)
    whole[:] = entries
    return whole.reshape(shape)


_MADE: Mapping[str, Callable[[Any], Any]] = {
    "$tuple": tuple,
    "$set": set,
    "$dict": dict,
    "$slice": lambda ends: slice(*ends),
    "$date": dates.date.fromisoformat,
    "$datetime": dates.datetime.fromisoformat,
    "$timedelta": lambda parts: dates.timedelta(*parts),
    "$scalar": lambda array: array[()],
    "$objects": _objects,
    "$frame": _frame,
}


class Room:
    """What loading may still take in memory, by what a file declares.

    Parameters
    ----------
    max_bytes : int
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = self.left = max_bytes

    def take(self, n_bytes: int) -> None:
        """Refuse the file where there is not that much left."""
        self.left -= n_bytes
        if self.left < 0:
            raise InvalidInput(
                f"it takes more than max_bytes, {self._max_bytes:,}, in memory; if you trust it, "
                f"unmet.load(path, max_bytes={4 * self._max_bytes}) allows more."
            )


class Reader:
    """Makes an object of a state.

    Parameters
    ----------
    arrays : bytes
    parts : sequence of pairs
        Objects of others as they were loaded, and what each of them takes in memory.
    room : Room
        What is left of the memory that all of it may take.
    """

    def __init__(self, arrays: bytes, parts: Sequence[tuple[Any, int]], room: Room) -> None:
        self._arrays = arrays
        self._parts = parts
        self._room = room
        self._known: list[Any] = []

    def read(self, state: Any) -> Any:
        """Make what a state describes."""
        if isinstance(state, list):
            return [self.read(each) for each in state]
        if not isinstance(state, dict):
            return state
        key = next(iter(state))
        if key in _MADE:
            inner = self.read(state[key])
            for _, _, numbers, _, words in inner if key == "$frame" else ():
                self._room.take(len(numbers) * (8 + max(map(len, words or [""]))))
            return _MADE[key](inner)
        if key == "$see":
            return self._known[state[key]]
        numbered = {"$array": self._array, "$is": self._ours, "$part": self._part}[key]
        place = len(self._known)
        self._known.append(None)
        self._known[place] = numbered(state)
        return self._known[place]

    def _array(self, state: Any) -> Any:
        written, shape, start, order, kind = state["$array"]
        packed, dtype = np.dtype(written), np.dtype(kind)
        widened = packed == dtype or packed.kind + dtype.kind in ("ff", "ii")
        if not widened or dtype.kind not in _ARRAY_KINDS:
            raise InvalidInput(f"it has an array of {kind!r:.40} written as {written!r:.40}.")
        end = start + prod(shape) * packed.itemsize
        if min([start, *shape]) < 0 or end > len(self._arrays):
            raise InvalidInput("an array in it is not as long as it says.")
        self._room.take(prod(max(each, 1) for each in shape) * dtype.itemsize)
        flat = np.frombuffer(self._arrays[start:end], packed).astype(dtype)
        return flat.reshape(shape, order=order)

    def _ours(self, state: Any) -> Any:
        """Make an object of ours from its state; no constructor is called."""
        cls = class_of(state["$is"])
        inner = {name: self.read(each) for name, each in state["state"].items()}
        if issubclass(cls, tuple):
            return cls(**inner)
        made = object.__new__(cls)
        if hasattr(cls, "__setstate__"):
            made.__setstate__(inner)
        else:
            vars(made).update(inner)
        if hasattr(made, "check_state"):
            made.check_state()
        return made

    def _part(self, state: Any) -> Any:
        (part, size), inner = self._parts[state["$part"]], self.read(state["holds"])
        self._room.take(size)
        places = [
            each
            for each in parts_of(part)
            if isinstance(each, dict) and each.keys() == {_PLACEHOLDER}
        ]
        if not places:
            return part
        return copy.deepcopy(part, {id(each): inner[each[_PLACEHOLDER]] for each in places})
