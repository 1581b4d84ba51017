"""Forged model files by seed: whatever a file says, it is refused in one sentence, or it decides.

Small models of every kind are saved. Of one of them, a few places are changed: values, shapes,
labels and keys of its state, bytes of its arrays, lines of its trees, what skops has written, and
the archive itself, which may unpack to more than it declares or to a hundred times its size. It is
written again with right checksums, loaded and asked in a process of its own.

=============  =====================================================================================
refused        one sentence at `load` that names the file
decided        orders, or one of our errors when it is asked
unfit          loaded, and an error of Python or NumPy when it is asked: numbers that do not fit
               together
foreign        an error that is not ours at `load`, or a sentence without the file (a failure)
leak           an order beyond what start and leaves of the trees in the file add up to (a failure)
crash          the process ended (a failure)
hang           no answer after 30 seconds (a failure)
memory         more than 1.5 GB were taken (a failure)
=============  =====================================================================================
"""

from __future__ import annotations

import copy
import io
import json
import resource
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from fuzz import Verdict
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unmet
from unmet.errors import InvalidInput, UnmetError
from unmet.persistence.saving import import_skops

COUNT = 2_000
OUTCOMES = ("refused", "decided", "unfit", "foreign", "leak", "crash", "hang", "memory")
FAILURES = OUTCOMES[3:]
SECONDS, MEMORY = 30, 1_500_000_000

# --- Models, and what they are asked.

N = 120
_rng = np.random.default_rng(36)
X = _rng.uniform(size=(N, 3))
Y = np.round(40 + X @ [30, -20, 5] + _rng.normal(scale=5, size=N))
TABLE = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(
    store=pl.Series(_rng.choice(["north", "south", "west", "east"], N))
)
SALES = pl.DataFrame(
    {
        "date": [date(2024, 1, 1) + timedelta(day) for day in range(60)] * 3,
        "item": np.repeat(["bread", "cake", "rolls"], 60),
        "sales": _rng.poisson(20, 180),
    }
)
COST = unmet.Newsvendor(underage=3, overage=1)
SMALL = {"max_iter": 5, "min_samples_leaf": 5, "max_leaf_nodes": 6, "random_state": 0}


def _latent(**how: Any) -> Any:
    return unmet.LatentBand(families="normal", random_state=0, **how)


MODELS: dict[str, Callable[[], Any]] = {
    "linear": lambda: unmet.LinearDecision(COST).fit(X, Y),
    "boosted": lambda: unmet.BoostedDecision(COST, **SMALL).fit(X, Y),
    "categories": lambda: unmet.BoostedDecision(
        COST, **{**SMALL, "options": {"min_data_per_group": 5, "cat_smooth": 1.0}}
    ).fit(TABLE, Y + 20 * (TABLE["store"] == "west").to_numpy()),
    "neural": lambda: unmet.NeuralDecision(
        COST, random_state=0, max_iter=2, hidden_layer_sizes=(3,)
    ).fit(X, Y),
    "latent": lambda: unmet.LinearDecision(COST, _latent()).fit(X, np.minimum(Y, 48)),
    "grown": lambda: unmet.LinearDecision(
        COST, _latent(location=HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=5))
    ).fit(X, np.minimum(Y, 48)),
    "pipeline": lambda: make_pipeline(StandardScaler(), unmet.LinearDecision(COST)).fit(X, Y),
    "sparse": lambda: unmet.LinearDecision(
        COST, unmet.AuditedBand(X[:60], Y[:60], Y[:60] + 3), random_state=np.random.RandomState(0)
    ).fit(X, Y),
    "grouped": lambda: unmet.GroupedDecision(unmet.LinearDecision(COST), by="store").fit(TABLE, Y),
    "orders": lambda: unmet.OrderPlan(horizon=2, cost=COST, model="linear").fit(SALES),
    "boosted orders": lambda: unmet.OrderPlan(horizon=2, cost=COST, model="boosted").fit(SALES),
    "table": lambda: unmet.DecisionPlan("y", ["a", "b", "store"], COST, model="linear").fit(
        TABLE.with_columns(y=pl.Series(Y))
    ),
}


def ask(model: Any) -> list[Any]:
    """Ask a model for a few decisions; give them."""
    if hasattr(model, "orders"):
        return [model.orders(), model.decide(SALES)]
    if isinstance(model, unmet.DecisionPlan):
        return [model.decide(TABLE.head(5))]
    named = getattr(model, "feature_names_in_", None) is not None or hasattr(model, "by")
    rows = TABLE.head(5) if named else X[:5]
    found = [model.predict(rows)]
    asked = [name for name in ("decide", "contributions") if hasattr(model, name)]
    found += [getattr(model, name)(rows) for name in asked]
    rule = getattr(model, "band_rule_", None)
    if rule is not None:
        found.append(rule.band(X[:5]).high)
    return found


def leaks(model: Any, found: list[Any]) -> bool:
    """Whether an order is beyond what start and leaves of the trees add up to."""
    trees = getattr(model, "trees_", None)
    if trees is None or not trees.text:
        return False
    lines = [each for each in trees.text.splitlines() if each.startswith("leaf_value=")]
    leaves = [np.abs(np.array(each[11:].split(), dtype=float)).max() for each in lines]
    least = float(getattr(model, "least_", 0.0))
    bound = 1.001 * (abs(trees.start) + sum(leaves)) + 1e-9
    order = np.asarray(found[0], dtype=float)
    return bool((~(np.abs(order) <= bound) & (order != least)).any())


# --- A process that loads and asks, and is replaced when it ends.


def try_file(path: str) -> Verdict:
    """Load a file and ask the model."""
    try:
        model = unmet.load(path)
    except InvalidInput as error:
        named = path in str(error) and "\n" not in str(error)
        return Verdict("refused" if named else "foreign", str(error))
    except Exception as error:
        return Verdict("foreign", f"{type(error).__name__}: {error}")
    try:
        with np.errstate(all="ignore"):
            found = ask(model)
            return Verdict("leak" if leaks(model, found) else "decided")
    except UnmetError as error:
        return Verdict("decided", str(error))
    except MemoryError as error:
        return Verdict("memory", str(error))
    except Exception as error:
        return Verdict("unfit", f"{type(error).__name__}: {error}")


def serve(channel: Any) -> None:
    """Try one file after another."""
    import warnings

    warnings.simplefilter("ignore")
    import_skops()
    used = _peak()
    room = used + 6 * MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    channel.send("ready")
    while True:
        verdict = try_file(channel.recv())
        if _peak() - used > MEMORY:
            verdict = Verdict("memory", f"{_peak() - used:,} bytes; {verdict}")
        channel.send(verdict)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Child:
    """The process, started when it is needed."""

    process: Any = None

    def start(self) -> None:
        context = get_context("spawn")
        self.channel, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.channel.recv()

    def ask(self, path: str) -> Verdict:
        if self.process is None:
            self.start()
        try:
            self.channel.send(path)
            verdict = self.channel.recv() if self.channel.poll(SECONDS) else Verdict("hang")
        except (EOFError, OSError):
            self.process.join()
            verdict = Verdict("crash", f"exit code {self.process.exitcode}")
        if verdict.outcome in ("crash", "hang", "memory"):
            self.process.kill()
            self.process.join()
            self.process = None
        return verdict


CHILD = Child()

# --- Files, and what is changed in them.


def unzipped(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", how) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return memory.getvalue()


@cache
def saved(name: str) -> dict[str, bytes]:
    """Members of the file of a model."""
    with tempfile.TemporaryDirectory() as folder:
        return unzipped(unmet.save(MODELS[name](), Path(folder) / "model").read_bytes())


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in JSON."""
    if path:
        yield path
    if not isinstance(value, dict | list):
        return
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield from places(each, (*path, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


ODD = (
    *(0, 1, -1, 2, 7, 1 << 31, 1 << 40, 1 << 62, -(1 << 62), 10**30, 0.5, -1e-300, 1e300),
    *(float("nan"), float("inf"), None, True, "", "north", "a" * 1000, [], {}, [[]], [0, 1]),
    *({"$see": 0}, {"$see": -1}, {"$tuple": []}, {"$dict": [[1, 2]]}, {"$is": "Rows", "state": {}}),
    *({"$scalar": 1}, {"$slice": [0, 1 << 40, 1]}, {"$date": "2024-01-01"}, {"$set": [1]}),
    {"$array": ["<f8", [0, 1 << 50], 0, "C", "<f8"]},
    {"$array": ["<f8", [2], 0, "C", "<f8"]},
    {"$array": ["<U9999999", [0], 0, "C", "<U9999999"]},
    {"$objects": [[2, 1], [None, "a"]]},
    {"$frame": [["a", "Int8", [1, 2], None, ["x", "y"]]]},
)


def change_json(rng: np.random.Generator, content: bytes) -> bytes:
    """Change one place of a JSON text."""
    value = json.loads(content)
    found = list(places(value))
    arrays = [path for path in found if path[-1] == "$array"]
    path = found[rng.integers(len(found))]
    holder, key = at(value, path[:-1]), path[-1]
    kind = rng.integers(8)
    if kind == 0 and arrays:
        inner = at(value, arrays[rng.integers(len(arrays))])
        place = rng.integers(5)
        if place == 1 and rng.random() < 0.5:
            inner[1] = [[*inner[1], 1], inner[1][::-1], [*inner[1], 0], [1 << 40], []][
                rng.integers(5)
            ]
        else:
            odd = ["<f2", "|i1", "<f8", "<i8", "<U3", "|O", "<M8[D]", "F", "C", 0, 8, -8, 1 << 40]
            inner[place] = odd[rng.integers(len(odd))]
    elif kind == 1:
        del holder[key]
    elif kind == 2:
        holder[key] = copy.deepcopy(at(value, found[rng.integers(len(found))]))
    elif kind == 3 and isinstance(holder[key], list) and holder[key]:
        holder[key] = holder[key] * int(rng.choice([2, 50]))
    elif kind == 4 and isinstance(holder[key], int | float):
        holder[key] = holder[key] + int(rng.choice([-1, 1, 1000]))
    elif kind == 5 and isinstance(holder, dict) and key == "$is":
        holder[key] = str(rng.choice(["Trees", "Network", "OrderPlan", "LatentBand", "Rows", "os"]))
    elif kind == 6 and rng.random() < 0.1:
        text = json.dumps(value)
        return text.replace(json.dumps(holder[key]), "[" * 100_000 + "]" * 100_000, 1).encode()
    else:
        holder[key] = ODD[rng.integers(len(ODD))]
    return json.dumps(value).encode()


def change_bytes(rng: np.random.Generator, content: bytes) -> bytes:
    """Change bytes, or numbers among them."""
    changed = bytearray(content)
    if not changed:
        return bytes(8)
    kind, start = rng.integers(5), int(rng.integers(len(changed)))
    if kind == 0:
        return bytes(changed[:start])
    if kind == 1:
        return bytes(len(changed))
    if kind == 2:
        odd = rng.choice([np.nan, np.inf, 1e300, -1.0, 1e-300])
        changed[start - start % 8 : start - start % 8 + 8] = np.float64(odd).tobytes()
    else:
        for place in rng.integers(len(changed), size=1 + 10 * (kind == 3)):
            changed[place] = rng.integers(256)
    return bytes(changed)


def change_trees(rng: np.random.Generator, content: bytes) -> bytes:
    """Change a line of LightGBM's text; as often as not, sizes of trees are set right."""
    value = json.loads(content)
    texts = [path for path in places(value) if path[-1] == "text" and at(value, path)]
    if not texts:
        return change_json(rng, content)
    path = texts[rng.integers(len(texts))]
    lines = at(value, path).split("\n")
    for _ in range(int(rng.integers(1, 3))):
        named = [place for place, line in enumerate(lines) if "=" in line]
        place = named[rng.integers(len(named))]
        key, _, numbers = lines[place].partition("=")
        listed, kind = numbers.split(" "), rng.integers(9)
        spot = int(rng.integers(len(listed)))
        if kind < 5:
            odd = [*range(-8, 9), -99, 99, 1 << 31, -(1 << 31), 1 << 40, 1e308, "nan", "inf", ""]
            listed[spot] = str(odd[rng.integers(len(odd))])
        elif kind == 5:
            del listed[spot]
        elif kind == 6:
            listed.append(str(rng.integers(-9, 9)))
        elif kind == 7:
            other = named[rng.integers(len(named))]
            lines[place], lines[other] = lines[other], lines[place]
            continue
        else:
            lines[place : place + 1] = lines[place : place + 1] * int(rng.choice([0, 2, 30]))
            continue
        lines[place] = f"{key}={' '.join(listed)}"
    text = "\n".join(lines)
    if rng.random() < 0.7 and "\ntree_sizes=" in text:
        head, _, rest = text.partition("\ntree_sizes=")
        trees = rest.partition("\n")[2]
        blocks = trees.partition("end of trees")[0].split("Tree=")[1:]
        sizes = " ".join(str(len(each) + 5) for each in blocks)
        text = f"{head}\ntree_sizes={sizes}\n{trees}"
    at(value, path[:-1])["text"] = text
    return json.dumps(value).encode()


def change_part(rng: np.random.Generator, content: bytes) -> bytes:
    """Change the schema or a file in a part of skops; nodes of trees by their fields."""
    members = unzipped(content)
    name = str(rng.choice(sorted(members)))
    if name.endswith(".npz"):
        members[name] = change_part(rng, members[name])
    elif name.endswith(".json"):
        members[name] = change_json(rng, members[name])
    else:
        array = np.load(io.BytesIO(members[name]))
        if array.dtype.names and array.size:
            for _ in range(int(rng.integers(1, 4))):
                field = str(rng.choice(["left", "right", "feature_idx", "is_leaf", "bitset_idx"]))
                with np.errstate(all="ignore"):
                    odd = rng.choice([0, 1, 2, 5, 255, 1 << 20])
                    array[field][rng.integers(array.size)] = odd.astype(array.dtype[field])
            memory = io.BytesIO()
            np.save(memory, array)
            members[name] = memory.getvalue()
        else:
            members[name] = change_bytes(rng, members[name])
    return zipped(members, zipfile.ZIP_STORED)


def bomb(rng: np.random.Generator, members: dict[str, bytes]) -> bytes:
    """Write an archive that takes more than it seems."""
    kind = rng.integers(9)
    state = json.loads(members["state.json"])
    attributes = state.get("state", {})
    part = members.get("part-0.skops")
    many = {"$array": ["|i1", [20_000_000], 0, "C", "<i8"]}
    if kind == 0:
        return zipped({**members, "arrays.bin": bytes(300_000_000)})
    if kind == 1:
        return zipped({**members, "state.json": b"[" + b"[],{}," * 3_000_000 + b"1]"})
    if kind == 2:
        return zipped({**members, "header.json": b'{"a":[' + b"[]," * 6_000_000 + b"1]}"})
    if kind == 3:
        attributes["more"] = [many] * 50
    if kind == 4:
        text = {"$frame": [["a", "Int8", {"$see": 0}, None, ["x" * 1000]]]}
        attributes["more"] = [many, [text] * 100]
    if kind in (3, 4):
        written = {"state.json": json.dumps(state).encode(), "arrays.bin": bytes(20_000_000)}
        return zipped({**members, **written})
    if kind == 5:
        content = zipped({**members, "arrays.bin": bytes(300_000_000)})
        return content.replace((300_000_000).to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    if kind == 6 and part is not None:
        return zipped(
            {**members, "part-0.skops": zipped({**unzipped(part), "a": bytes(300 << 20)})}
        )
    if kind == 7 and part is not None:
        inner = unzipped(part)
        schema = json.loads(inner["schema.json"])
        names = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode"}
        node = {**names, "type": "numpy", "file": "a.npy"}
        listed = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
        schema["content"]["content"]["memory"] = {**listed, "content": [node] * 20_000}
        memory = io.BytesIO()
        np.save(memory, np.zeros(1_000_000))
        inner |= {"schema.json": json.dumps(schema).encode(), "a.npy": memory.getvalue()}
        return zipped({**members, "part-0.skops": zipped(inner)})
    if kind == 8:
        how = zipfile.ZIP_BZIP2 if rng.random() < 0.5 else zipfile.ZIP_LZMA
        return zipped({**members, "arrays.bin": bytes(50_000_000)}, how)
    return zipped({**members, **{f"part-{each}.skops": b"" for each in range(20_000)}})


CHANGES: dict[str, Callable[..., bytes]] = {
    "state": change_json,
    "arrays": change_bytes,
    "trees": change_trees,
    "part": change_part,
    "header": change_json,
}


@dataclass(frozen=True)
class Case:
    """A model, and what is changed in its file: kinds of changes with their seeds."""

    model: str
    changes: tuple[tuple[str, int], ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        return (self.model, *(kind for kind, _ in self.changes))

    def simpler(self) -> Iterator[Case]:
        for place in range(len(self.changes) if len(self.changes) > 1 else 0):
            yield replace(self, changes=self.changes[:place] + self.changes[place + 1 :])

    def source(self) -> str:
        return repr(self)

    def content(self) -> bytes:
        """Bytes of the forged file."""
        members = dict(saved(self.model))
        for kind, seed in self.changes:
            rng = np.random.default_rng([36, seed])
            if kind == "bomb":
                return bomb(rng, dict(saved(self.model)))
            name = {"arrays": "arrays.bin", "header": "header.json"}.get(kind, "state.json")
            if kind == "part":
                name = str(rng.choice([each for each in members if each.startswith("part")]))
            with suppress(Exception):  # an earlier change may have left nothing to change
                members[name] = CHANGES[kind](rng, members[name])
        return zipped(members)


def generate(seed: int) -> Case:
    """Make the problem of a seed, which fixes it but for which file of a part of skops is changed.

    skops names these files by the place of an array in memory.
    """
    rng = np.random.default_rng([36, seed])
    model = str(rng.choice([*MODELS, "boosted", "categories", "grown"]))
    kinds = ["state", "state", "arrays"]
    kinds += ["trees"] * 6 * ("oosted" in model or model == "categories")
    kinds += ["part"] * 4 * any(name.startswith("part") for name in saved(model))
    chosen = [str(kind) for kind in rng.choice(kinds, int(rng.choice([1, 1, 1, 2, 3])))]
    if rng.random() < 0.03:
        chosen.append(str(rng.choice(["bomb", "header"])))
    return Case(model, tuple((kind, int(rng.integers(1 << 30))) for kind in chosen))


def evaluate(case: Case) -> Verdict:
    """Write the file, and try it in the other process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.unmet"
        path.write_bytes(case.content())
        return CHILD.ask(str(path))
