"""Export linear models, networks and trees to ONNX, for runtimes without Python.

All arithmetic is in double precision, as in `predict`. Trees are a ``TreeEnsemble`` of
``ai.onnx.ml`` 5, which compares and adds doubles. With thresholds in single precision, a feature
next to a split could go down the other branch, and single-precision leaves would lose half of the
digits. The adapter needs ``pip install 'unmet[onnx]'``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array
from unmet.errors import MissingPackage, Unsupported
from unmet.estimators.base import DecisionModel
from unmet.estimators.boosted import BoostedDecision
from unmet.estimators.linear import LinearDecision
from unmet.estimators.lots import ROUNDING, read_room
from unmet.estimators.neural import NeuralDecision
from unmet.validation import Maybe, Number

_CHILDREN = {side: (f"{side}nodeids", f"{side}leafs") for side in ("true", "false")}


def to_onnx(
    model: DecisionModel,
    *,
    step: float | None = None,
    lower: float | None = None,
    upper: float | None = None,
) -> Any:
    """Export a fitted model to ONNX.

    Parameters
    ----------
    model : LinearDecision, NeuralDecision or BoostedDecision
        Fitted model. Use skl2onnx for the steps before it in a pipeline; no model of this package
        needs scaled features.
    step, lower, upper : float, optional
        Lots and bounds of the decisions, as in `decide`. None of them gives the result of
        `predict`.

    Returns
    -------
    onnx.ModelProto
        Graph with one input ``X``, doubles of shape (n_rows, n_features), and one output
        ``decision``, doubles of shape (n_rows,). Its metadata ``features`` are the names of the
        features in JSON, if `fit` saw names.

    Notes
    -----
    A runtime does not check inputs. Only trees accept missing values (NaN), as in `predict`. Linear
    models and networks give NaN for them, where `predict` would raise an error. Three kinds of
    models are refused: trees with categorical columns, `DistributionDecision` and
    `GroupedDecision`. `decide` with a minimum quantity is not supported.

    Examples
    --------
    >>> import onnxruntime
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.adapters import to_onnx
    >>> model = LinearDecision(Newsvendor(underage=3, overage=1))
    >>> model = model.fit([[1], [2], [3], [4]], [11, 19, 31, 39])
    >>> exported = to_onnx(model, step=6, lower=0)
    >>> session = onnxruntime.InferenceSession(exported.SerializeToString())
    >>> session.run(["decision"], {"X": [[1.0], [2.0], [3.0]]})
    [array([12., 24., 30.])]
    >>> model.decide([[1], [2], [3]], step=6)
    array([12., 24., 30.])
    """
    onnx = MissingPackage.or_load("to_onnx", "onnx", "onnx")
    export = _exporter(model)
    check_is_fitted(model)
    positive, number = Maybe(Number(above=0)), Maybe(Number())
    step, lower, upper = positive("step", step), number("lower", lower), number("upper", upper)
    graph = _Graph(onnx, model.n_features_in_)
    decision, room = export(graph, "X", model), read_room(step, lower, upper, 1)
    if step is not None:  # step by step as `unmet.estimators.lots` does it
        counted = graph.add("Div", decision, step)
        size = graph.add("Max", graph.add("Abs", counted), 1.0)
        slack = graph.add("Mul", size, ROUNDING)
        whole = graph.add("Floor", graph.add("Add", counted, slack))
        threshold = float(model._shift_cost.thresholds(np.array([step]))[0])
        beyond = graph.add("Max", slack, threshold)
        up = graph.add("Greater", graph.add("Sub", counted, whole), beyond)
        lots = graph.add("Add", whole, graph.whole_to_double(up))
        decision = graph.add("Mul", lots, step)
    for operator, bound in (("Max", room.first[0]), ("Min", room.last[0])):
        if np.isfinite(bound):
            decision = graph.add(operator, decision, bound)
    # no negative zeros
    graph.finish(decision if step is None else graph.add("Add", decision, 0.0))
    names = getattr(model, "feature_names_in_", None)
    return graph.model(type(model).__name__, None if names is None else list(map(str, names)))


class _Graph:
    """Nodes in the order in which they are computed, and the constants that they read."""

    def __init__(self, onnx: Any, n_features: int) -> None:
        self._onnx, self._n_features = onnx, n_features
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._trees = False

    def constant(self, value: Any) -> str:
        """Keep a number or an array; what is no whole number and no truth value is a double."""
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = array.astype(np.float64)
        name = f"constant_{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def add(self, operator: str, *inputs: Any, domain: str = "", **attributes: Any) -> str:
        """Add a node; inputs are names of values, or numbers and arrays. Gives its output."""
        self._trees = self._trees or bool(domain)
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        output = f"value_{len(self._nodes)}"
        self._nodes.append(
            self._onnx.helper.make_node(operator, names, [output], domain=domain, **attributes)
        )
        return output

    def tensor(self, value: Any) -> Any:
        """Give an array as an attribute of a node."""
        return self._onnx.numpy_helper.from_array(np.asarray(value))

    def whole_to_double(self, value: str) -> str:
        """Turn truth values into 0 and 1."""
        return self.add("Cast", value, to=self._onnx.TensorProto.DOUBLE)

    def finish(self, value: str) -> None:
        """Name what was computed last."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], ["decision"]))

    def model(self, name: str, features: list[str] | None) -> Any:
        """Put all together, and let onnx look whether it holds."""
        helper, double = self._onnx.helper, self._onnx.TensorProto.DOUBLE
        graph = helper.make_graph(
            self._nodes,
            name,
            [helper.make_tensor_value_info("X", double, ["n_rows", self._n_features])],
            [helper.make_tensor_value_info("decision", double, ["n_rows"])],
            self._constants,
        )
        operators = [helper.make_opsetid("", 17)]
        if self._trees:
            operators.append(helper.make_opsetid("ai.onnx.ml", 5))
        made = helper.make_model(
            graph,
            producer_name="unmet",
            producer_version=version("unmet"),
            opset_imports=operators,
            ir_version=9,
        )
        if features is not None:
            helper.set_model_props(made, {"features": json.dumps(features, ensure_ascii=False)})
        self._onnx.checker.check_model(made, full_check=True)
        return made


# --- What a model consists of.


def _exporter(model: Any) -> Callable[[_Graph, str, Any], str]:
    """Give what adds the nodes of a model, and refuses models that have none."""
    exporters: tuple[tuple[type, Callable[[_Graph, str, Any], str]], ...] = (
        (LinearDecision, _line),
        (NeuralDecision, _network),
        (BoostedDecision, _trees),
    )
    for kind, export in exporters:
        if isinstance(model, kind):
            return export
    raise Unsupported(
        "to_onnx needs a LinearDecision, a NeuralDecision or a BoostedDecision, got a "
        f"{type(model).__name__}."
    )


def _line(graph: _Graph, value: str, model: LinearDecision) -> str:
    """Multiply and add."""
    intercept = np.array([model.intercept_], dtype=np.float64)
    return _flat(graph, _layer(graph, value, model.coef_[:, np.newaxis], intercept))


def _layer(graph: _Graph, value: str, weights: Array, biases: Array) -> str:
    """Products and sums, weights of shape (n_in, n_out).

    Not as MatMul and Add: ONNX Runtime puts a scaling of one column before a MatMul into an
    attribute of it, which is in single precision.
    """
    return graph.add("Gemm", value, np.ascontiguousarray(weights), biases)


def _flat(graph: _Graph, value: str) -> str:
    """Numbers of shape (n_rows, 1) as (n_rows,)."""
    return graph.add("Squeeze", value, np.array([1]))


def _network(graph: _Graph, value: str, model: NeuralDecision) -> str:
    """Scale, pass the layers, and scale back."""
    network = model.network_
    value = graph.add("Sub", value, network.features.location)
    value = graph.add("Div", value, network.features.unit)
    layers = network.layers()
    for place, (weights, biases) in enumerate(layers):
        value = _layer(graph, value, weights.T, biases)
        if place < len(layers) - 1:
            value = _activated(graph, value, network.activation)
    scaled = graph.add("Mul", _flat(graph, value), network.target.unit)
    return graph.add("Add", scaled, network.target.centre)


def _activated(graph: _Graph, value: str, activation: str) -> str:
    if activation in ("tanh", "relu"):
        return graph.add(activation.capitalize(), value)
    # written out: the operator Sigmoid is an approximation in some runtimes
    gate = graph.add("Exp", graph.add("Neg", value))
    gate = graph.add("Reciprocal", graph.add("Add", gate, 1.0))
    return graph.add("Mul", value, gate) if activation == "silu" else gate


# --- Trees.


def _trees(graph: _Graph, value: str, model: BoostedDecision) -> str:
    """Fill what is missing as the model does, and add up trees."""
    columns, start = model._columns, float(model.trees_.start)
    if columns.categories:
        raise Unsupported(
            "to_onnx and columns of categories do not fit together, because the exported model "
            "reads numbers only: encode them before the fit, one column of 0 and 1 for each."
        )
    nodes: dict[str, list[int]] = {
        name: [] for name in ("featureids", "tracks", *_CHILDREN["true"], *_CHILDREN["false"])
    }
    thresholds: list[Array] = []
    leaves: list[Array] = []
    roots, n_nodes, n_leaves = [], 0, 0
    filled = np.array(
        columns.median if columns.median is not None else [np.nan] * model.n_features_in_
    )
    for tree in _read_trees(model.trees_.text):
        if tree["left_child"].size == 0:
            start += float(tree["leaf_value"][0])
            continue
        kinds = tree["decision_type"].astype(np.intp)
        missing, feature = kinds >> 2, tree["split_feature"].astype(np.intp)
        # LightGBM's decision_type: bit 0 is a category, bit 1 says that missing values go left, the
        # others which values are missing (0 none, 1 zero, 2 NaN)
        if (missing == 1).any():
            raise Unsupported(
                "to_onnx and the option zero_as_missing do not fit together, because ONNX knows "
                "only NaN as missing."
            )
        # LightGBM takes NaN for 0 where a column was never missing in the rows it saw
        never = feature[missing == 0]
        filled[never] = np.where(np.isnan(filled[never]), 0.0, filled[never])
        roots.append(n_nodes)
        nodes["featureids"] += feature.tolist()
        nodes["tracks"] += ((kinds & 2) > 0).astype(np.intp).tolist()
        for side, child in (("true", tree["left_child"]), ("false", tree["right_child"])):
            numbers, leafs = _CHILDREN[side]
            leaf = child < 0
            place = np.where(leaf, n_leaves - 1 - child, n_nodes + child).astype(np.intp)
            nodes[numbers] += place.tolist()
            nodes[leafs] += leaf.astype(np.intp).tolist()
        thresholds.append(tree["threshold"])
        leaves.append(tree["leaf_value"])
        n_nodes += feature.size
        n_leaves += tree["leaf_value"].size
    if not roots:
        rows = graph.add("Shape", value, start=0, end=1)
        return graph.add("Expand", start, rows)
    if not np.isnan(filled).all():
        absent, known = graph.add("IsNaN", value), ~np.isnan(filled)
        gap = graph.add("And", absent, known)
        value = graph.add("Where", gap, filled, value)
    tracks = nodes.pop("tracks")
    total = graph.add(
        "TreeEnsemble",
        value,
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function=1,  # the sum
        tree_roots=roots,
        # on to the first child where x ≤ threshold
        nodes_modes=graph.tensor(np.zeros(n_nodes, dtype=np.uint8)),
        nodes_splits=graph.tensor(np.concatenate(thresholds)),
        nodes_missing_value_tracks_true=tracks,
        leaf_targetids=[0] * n_leaves,
        leaf_weights=graph.tensor(np.concatenate(leaves)),
        **{f"nodes_{name}": listed for name, listed in nodes.items()},
    )
    return graph.add("Add", _flat(graph, total), start)


_LINES = (
    *("split_feature", "threshold", "decision_type"),
    *("left_child", "right_child", "leaf_value"),
)


def _read_trees(text: str) -> Iterator[dict[str, Array]]:
    """Read LightGBM's own format: lines ``name=numbers`` below each ``Tree=``."""
    _, *blocks = text.partition("\nend of trees")[0].split("\nTree=")
    for block in blocks:
        lines = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        yield {
            name: np.array(lines.get(name, "").split(), dtype=np.float64)  # 17 digits
            for name in _LINES
        }
