"""What each rule, check, member and constant is worth: switched off, one at a time.

usage: python benchmarks/ablation.py [--data folder] [--parts "flags;plan"] [--only "ridge;trees"]

A switch (`ablation_switches.py`) replaces one function or constant of the package, and the
scenarios that it can touch are run again. Decisions are evaluated on true demand, diagnoses on the
true share of censored rows. The change of the cost is given in percent, beside the change that
other folds alone bring about. Results go to results/ablation.json after each switch, and from there
to ablation.md. A switch whose target is gone keeps the row that was measured when it was there.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import inspect
import json
import pkgutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from ablation_switches import NOISY, Switch, switches
from closed_loop import FittedModel, real
from gap_cases import ON_DEMANDS, ON_SALES, Block, bakery, parts, yaz
from hours import cut_by_stock, errors
from report import head, row
from scenarios import bank, shop_demand
from threadpoolctl import threadpool_limits

from unmet import BoostedDecision, LatentBand, LinearDecision, Newsvendor, OrderPlan
from unmet.censoring.hours import detect_stockouts, recover
from unmet.data import load_bakery, load_yaz
from unmet.inventory import SupplyRules
from unmet.planning import Schema, example
from unmet.simulate import censor, history_orders, nonlinear_demand, run_shop, store10
from unmet.tables.hours import HourlySales, read_hourly

HERE = Path(__file__).parent
DATA: list[Path] = []  # the folder of fresh food, where there is one


# --- switching ------------------------------------------------------------------------------------


def modules(package: str) -> list[Any]:
    """A package of unmet and all modules in it."""
    top = importlib.import_module(f"unmet.{package}")
    names = pkgutil.walk_packages(getattr(top, "__path__", []), f"{top.__name__}.")
    return [top, *(importlib.import_module(each.name) for each in names)]


def find(target: str) -> tuple[Any, str] | None:
    """The owner and the name of a target; None if it is gone."""
    package, _, path = target.partition(":")
    first, _, rest = path.partition(".")
    try:
        places = [module for module in modules(package) if first in vars(module)]
    except ImportError:
        return None
    # where it was defined, if it can be told; else the first module that has it
    own = [each for each in places if getattr(vars(each)[first], "__module__", "") == each.__name__]
    if not places:
        return None
    owner = (own or places)[0]
    if not rest:
        used = sum(inspect.getsource(each).count(first) for each in modules(package))
        return (owner, first) if used > 1 else None  # a number that nobody reads is gone, too
    owner = getattr(owner, first)
    return (owner, rest) if hasattr(owner, rest) else None


@contextmanager
def switched(changes: dict[str, Callable[[Any], Any]]) -> Iterator[None]:
    """Replace what names stand for, in every module that has imported them."""
    undo: list[tuple[Any, str, Any]] = []
    for target, change in changes.items():
        found = find(target)
        if found is None:
            continue
        owner, name = found
        original = getattr(owner, name)
        new = change(original)
        others = [each for key, each in sys.modules.items() if key.startswith("unmet")]
        for place in [owner] if inspect.isclass(owner) else others:
            if vars(place).get(name) is original:
                undo.append((place, name, original))
                setattr(place, name, new)
    try:
        yield
    finally:
        for place, name, value in undo:
            setattr(place, name, value)


# --- scenarios: the latent model ------------------------------------------------------------------


class Scenario(NamedTuple):
    """Something that can be run with a seed of the model; it gives costs, and more."""

    name: str
    group: str
    run: Callable[..., dict[str, Any]]


def from_parts(train: Any, test: Any, series: Any) -> Block:
    return Block(
        X=train.features,
        sales=train.sales,
        demand=train.demand,
        order=train.order,
        dates=train.dates,
        series=series,
        X_test=test.features,
        demand_test=test.demand,
    )


@cache
def loaded(kind: str, which: int) -> Block:
    """Rows of a kind: real series, the paper's store, or a case of the scenarios."""
    orders = ON_DEMANDS if kind.endswith("demand") else ON_SALES
    if kind.startswith("bakery,") and "rows" not in kind:
        return bakery(which % 3, (101, 109, 110), orders).blocks[(4 * which) % 9]
    if kind.startswith("restaurant"):
        return yaz(4 * which, orders).blocks[(2 * which + 1) % 5]
    if kind == "paper's store":
        data = store10(which)
        return from_parts(data.train, data.test, data.train.category)
    if kind == "fresh food":
        from calibration import fresh

        return fresh(daily())(0).blocks[which]
    if kind == "fresh food, short":
        from known import short_series

        return short_series(daily())[7 * which]
    case = bank(kind, which)
    return from_parts(case.train, case.test, case.train.series)


def daily() -> Path:
    return DATA[0] / "freshretailnet_100series_daily.csv"


def estimated(
    kind: str, which: int, known: str, seed: int, linear: bool = True, **options: Any
) -> dict[str, Any]:
    """Orders for later days: of a linear model with `LatentBand`, or of its distribution."""
    block = loaded(kind, which)
    levels = (0.75, 0.9) if linear else (0.65, 0.75, 0.85, 0.95)
    costs = [Newsvendor.at_level(level) for level in levels]
    rate = float(block.censored.mean()) if known == "rate" else None
    told: dict[str, Any] = {"censored": block.censored} if known == "flags" else {}
    if known == "dates":
        told = {"time": block.dates, "series": block.series}
    rule = LatentBand(rate, random_state=seed, **options)
    if linear:
        models = LinearDecision().fit_path(block.X, block.sales, costs=costs, bands=rule, **told)
        decided = [model.predict(block.X_test) for model in models]
        found = models[0].diagnosis_
    else:
        rule.fit(costs[1], block.X, block.sales, **told)
        decided = [rule.quantile(block.X_test, level) for level in levels]
        found = rule.diagnosis_
    pairs = zip(costs, (np.maximum(each, 0.0) for each in decided), strict=True)
    return {
        "cost": [float(np.mean(cost.cost(each, block.demand_test))) for cost, each in pairs],
        "verdict": found.identified,
        "share": found.share_censored,
        "true": float(block.censored.mean()),
    }


def bent(known: str, which: int, seed: int) -> dict[str, Any]:
    """Boosted trees with `LatentBand` where demand is not linear."""
    data = nonlinear_demand(which)
    train, test = data.train, data.test
    rows = slice(0, 1500)
    sales, censored = train.sales[rows], train.censored[rows]
    told = {"censored": censored} if known == "flags" else {}
    rate = float(censored.mean()) if known == "rate" else None
    cost = Newsvendor.at_level(0.9)
    rule = LatentBand(rate, random_state=seed)
    model = BoostedDecision(cost, rule, max_iter=60, n_jobs=1, random_state=0)
    model.fit(train.features[rows], sales, **told)
    return {
        "cost": [float(np.mean(cost.cost(model.predict(test.features), test.demand)))],
        "verdict": model.diagnosis_.identified,
        "share": model.diagnosis_.share_censored,
        "true": float(censored.mean()),
    }


def plain(kind: str, orders: str) -> str:
    return f"{kind}, linear, 900 rows, {orders}"


NEVER = (
    *(plain(each, "none") for each in ("normal", "gumbel left", "two humps", "poisson")),
    "normal, saturated, 900 rows, none",
)
HIDDEN = (
    *(plain("normal", each) for each in ("noisy", "plane", "capacity")),
    *(plain(each, "plane") for each in ("poisson", "negative binomial", "whole normal")),
)
NAMED = (
    *((plain("normal", each), "normal") for each in ("none", "noisy", "restocked")),
    ("normal, saturated, 900 rows, none", "normal"),
    (plain("gumbel left", "none"), "normal"),
    *((plain("gamma", each), "gamma") for each in ("none", "noisy")),
    (plain("lognormal", "noisy"), "lognormal"),
    ("restaurant, sales", "normal"),
)
SHAPES = ("logistic", "laplace", "gumbel", "gumbel left", "gamma left", "weibull", "two humps")
MEANS = ("kinked", "saturated", "missing", "trend", "shift", "multiplicative")
DATED = (
    ("gamma, linear, 2700 rows, 30 series (dummies), sales history", 0),
    ("bakery, real, 730 rows, sales history", 0),
    ("yaz, real, 480 rows, sales history", 1),
    (plain("poisson", "sales history"), 0),
    ("bakery, real, 730 rows, none", 0),
    (plain("poisson", "none"), 0),
    (plain("poisson", "demand history"), 0),
)


def latent() -> Iterator[Scenario]:
    def some(group: str, known: str, cases: Any, **words: Any) -> Iterator[Scenario]:
        for kind, which in cases:
            yield Scenario(
                f"{kind} {which}", group, partial(estimated, kind, which, known, **words)
            )

    kinds = ("bakery, past demand", "bakery, sales", "restaurant, past demand", "restaurant, sales")
    series = [(kind, which) for kind in kinds for which in range(2)]
    fresh = [(f"fresh food{more}", which) for more in ("", ", short") for which in range(3)]
    others = [("paper's store", 0), (plain("gamma", "noisy"), 1)]
    for known in ("flags", "rate"):
        cases = (*series, *(fresh if DATA else []), *others)
        yield from some(known, known, cases, linear=False)
        yield from some(f"{known}, linear", known, (*series[1::2], *others))
    nothing = [("restaurant, past demand", 1), ("paper's store", 0)]
    nothing += [(name, 0) for name in (*NEVER, *HIDDEN)]
    yield from some("nothing", "nothing", nothing)
    for name, family in NAMED:
        yield from some("family named", "nothing", [(name, 0)], families=family)
    never = [plain(shape, "none") for shape in (*SHAPES, "skew-normal left")]
    never += [f"normal, {mean}, 900 rows, none" for mean in MEANS]
    wrong_family = [(name, 2) for name in never]
    yield from some("wrong family named", "nothing", wrong_family, families="normal")
    whole = ("poisson", "negative binomial", "whole normal")
    counts = [plain(each, orders) for orders in ("none", "plane") for each in whole]
    counts.append(plain("intermittent", "none"))
    yield from some("whole numbers", "nothing", [(name, 1) for name in counts])
    yield from some("dates", "dates", DATED)
    for known in ("flags", "rate", "nothing"):
        for which in (0, 1):
            yield Scenario(f"bends, {known} {which}", "bends", partial(bent, known, which))


# --- scenarios: plans, a shop, hours --------------------------------------------------------------


@cache
def panel_table(kind: str) -> tuple[pl.DataFrame, list[str], str]:
    """Sales with flags and the truth; columns of the series, and of the date."""
    if kind == "restaurant":
        sales = example().sales
        dishes = sales["dish"].unique().to_list()
        demand = load_yaz().unpivot(dishes, index="date", variable_name="dish", value_name="truth")
        table = sales.join(demand, on=["date", "dish"], how="left", maintain_order="left")
        kept = ["date", "dish", "is_holiday", "temperature", "sales", "sold_out", "truth"]
        return table.select(kept), ["dish"], "date"
    if kind == "bakery":
        table = load_bakery(stores=[2, 3]).filter(pl.col("date").dt.year() >= 2018)
        label = (table["store"].cast(str) + "/" + table["product"].cast(str)).to_numpy()
        wanted, dates = table["demand"].to_numpy().astype(float), table["date"].to_numpy()
        order = history_orders(wanted, dates, label, k=4, factor=1.1, on="sales")
        sold, censored = censor(wanted, order)
        table = table.select(
            *("date", "store", "product", "is_holiday", "promotion_currentweek"),
            pl.Series("sales", sold),
            pl.Series("sold_out", censored),
            pl.col("demand").alias("truth"),
        )
        return table, ["store", "product"], "date"
    # sales of fresh food are taken for demand, and cut by orders that followed them
    table = pl.read_csv(daily(), try_parse_dates=True)
    keys = table.select("store_id", "product_id").unique(maintain_order=True)[::3]
    table = table.join(keys, on=keys.columns, how="semi", maintain_order="left")
    label = (table["store_id"].cast(str) + "/" + table["product_id"].cast(str)).to_numpy()
    wanted, dates = table["sales"].to_numpy(), table["dt"].to_numpy()
    words: dict[str, Any] = {"k": 3, "factor": 1.1, "on": "sales", "round_up": False}
    sold, censored = censor(wanted, history_orders(wanted, dates, label, **words))
    table = table.select(
        *("dt", "store_id", "product_id", "discount", "holiday_flag"),
        pl.Series("sales", sold),
        pl.Series("sold_out", censored),
        pl.col("sales").alias("truth"),
    )
    return table, keys.columns, "dt"


def planned(
    kind: str, known: str, back: int, seed: int, model: str | tuple[str, ...] = "auto"
) -> dict[str, Any]:
    """A plan for a week from the days before it."""
    table, series, date = panel_table(kind)
    end = table[date].max() - datetime.timedelta(7 * back)
    start = end - datetime.timedelta(6)
    past = table.filter(pl.col(date) < start).drop("truth")
    coming = table.filter(pl.col(date).is_between(start, end))
    flag = "sold_out" if known == "flags" else None
    schema = Schema(date=date, series=tuple(series), sales="sales", sold_out=flag)
    cost = Newsvendor(3, 1)
    plan = OrderPlan(7, cost, schema=schema, model=model, random_state=seed, n_jobs=1)
    plan.fit(past if flag else past.drop("sold_out"))
    orders = plan.orders().select(*series, date, "order")
    joined = coming.join(orders, on=[*series, date], how="left", maintain_order="left")
    order, asked = (joined[name].cast(pl.Float64).to_numpy() for name in ("order", "truth"))
    some = np.isfinite(order)
    return {"cost": [float(np.mean(cost.cost(order[some], asked[some])))]}


def lived(kind: str, lead: int, seed: int) -> dict[str, Any]:
    """A shop that lives by its own orders for 16 weeks and logs its stock; the last ten count."""
    if kind in ("bakery", "restaurant"):
        demand = real(kind)[0][:6, : 56 + 112]
    else:
        demand = shop_demand(kind, 5, 56 + 112, seed=1)[0]
    life = {} if lead else {"shelf_life": 1}
    rules = SupplyRules(lead, holding=0.1, shortage=0.9, lot=1.0, **life)
    stock = np.empty((demand.shape[0], 56))
    for day in range(7):
        stock[:, day::7] = 1.05 * demand[:, day:56:7].mean(axis=1, keepdims=True)
    run = run_shop(
        demand,
        {"log": FittedModel(rules)},
        rules,
        n_before=56,
        history_stock=np.round(stock),
        learn_every=28,
        first_day=datetime.date(2024, 1, 1),
        seed=seed,
    )
    return {"cost": [float(run.total(since=42)["cost"][0])]}


@cache
def hourly() -> HourlySales:
    table = pl.read_parquet(DATA[0] / "freshretailnet_hourly.parquet")
    keys = ["store_id", "product_id"]
    some = table.select(keys).unique().sort(keys)[::16]
    table = table.join(some, on=keys, how="semi").sort(*keys, "dt")
    return read_hourly(table, series=keys, opens=6, closes=22)


def detected(seed: int) -> dict[str, Any]:
    """Logarithmic score of sold-out days, flags hidden."""
    chance = np.clip(detect_stockouts(hourly()).probability, 0.001, 0.999)
    flags = hourly().stock_out[:, :, 21]
    return {"cost": [float(-np.mean(np.log(np.where(flags, chance, 1 - chance))))]}


def recovered(level: float, spread: float, known: bool, seed: int) -> dict[str, Any]:
    """Weighted absolute error of daily demand where a stock level cut it."""
    held = hourly()
    clean = ~held.stock_out[:, :, 6:22].any(axis=2)
    day = np.where(clean[:, :, None], held.sales, 0.0)
    sold, out = cut_by_stock(day, level, spread, 5, share=0.4)
    flags = held.stock_out | (out & clean[:, :, None])
    sales = np.where(clean[:, :, None], sold, held.sales)
    cut = replace(held, sales=sales, stock_out=flags if known else None)
    truth = held.sales.sum(axis=2)
    if not known:
        return {"cost": [float(errors(detect_stockouts(cut).demand, truth, clean)[0])]}
    rows = clean & out[:, :, 6:22].any(axis=2) & (sold.sum(axis=2) < truth)
    found = [recover(cut, busier=busier).demand for busier in (False, True)]
    return {"cost": [float(errors(each, truth, rows)[0]) for each in found]}


def planning() -> Iterator[Scenario]:
    cases = [("restaurant", 0), ("restaurant", 3), ("bakery", 0), ("bakery", 5)]
    cases += [("fresh food", 0), ("fresh food", 2)] if DATA else []
    for kind, back in cases:
        name = f"{kind}, {back} weeks before the end"
        for known in ("flags", "nothing"):
            yield Scenario(name, f"members, {known}", partial(planned, kind, known, back))
        yield Scenario(name, "plan", partial(planned, kind, "flags", back))
    for kind in ("bakery", "restaurant", "negative binomial+weekday"):
        yield Scenario(kind, "shop", partial(lived, kind, 0))
    for kind in ("bakery", "negative binomial+weekday"):
        yield Scenario(f"{kind}, lead time 2", "shop", partial(lived, kind, 2))
    if DATA:
        yield Scenario("detection, logarithmic score", "hours", detected)
        for level, spread in ((0.6, 0.2), (0.8, 0.3)):
            for known, word in ((True, "recovery"), (False, "detection")):
                run = partial(recovered, level, spread, known)
                yield Scenario(f"{word}, stock at {level}", "hours", run)


@cache
def scenarios() -> tuple[Scenario, ...]:
    return (*latent(), *planning())


# --- measuring ------------------------------------------------------------------------------------


def functions(switch: Switch) -> set[str]:
    """Targets that are functions: it can be seen whether a scenario calls them."""
    found = {target: find(target) for target in switch.changes}
    return {
        target
        for target, place in found.items()
        if place and inspect.isfunction(inspect.getattr_static(*place))
    }


def measured(scenario: Scenario, seed: int) -> dict[str, Any]:
    start = time.process_time()
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = scenario.run(seed=seed)
    except Exception as error:  # one scenario must not end the run
        found = {"failed": f"{type(error).__name__}: {error}"[:200]}
    return {**found, "seconds": round(time.process_time() - start, 3)}


def run_base(groups: tuple[str, ...], seed: int = 0) -> dict[str, Any]:
    """All scenarios of some groups as the code is, with the replaceable functions they call."""
    found, called = {}, set()

    def watched(target: str) -> Callable[[Any], Any]:
        def change(original: Any) -> Any:
            def watching(*given: Any, **words: Any) -> Any:
                called.add(target)
                return original(*given, **words)

            return watching

        return change

    targets = {target for switch in switches() for target in functions(switch)}
    with switched({target: watched(target) for target in targets}):
        for each in scenarios():
            if each.group in groups:
                called.clear()
                cell = measured(each, seed)
                found[f"{each.group}|{each.name}"] = {**cell, "called": sorted(called)}
    return found


def run(switch: Switch, base: dict[str, Any]) -> dict[str, Any]:
    """The scenarios of a switch, without those that never call what it replaces."""
    found, seen = {}, functions(switch)
    with switched(switch.changes):
        for each in scenarios():
            key = f"{each.group}|{each.name}"
            if each.group not in switch.groups:
                continue
            if switch.model:
                other = each._replace(run=partial(each.run, model=switch.model))
                found[key] = measured(other, 0)
            elif len(seen) == len(switch.changes) and not seen & set(base[key].get("called", seen)):
                found[key] = {**base[key], "skipped": True}
            else:
                found[key] = measured(each, 0)
    return found


def mistake(cell: dict[str, Any]) -> str:
    """What is wrong with a verdict "yes": censoring that is not there, or none where there is."""
    if cell.get("verdict") != "yes" or cell.get("share") is None:
        return ""
    if cell["true"] == 0 and cell["share"] > 0.02:
        return "false yes"
    if cell["true"] >= 0.05 and cell["share"] < 0.02:
        return "false nothing"
    return "far off" if abs(cell["share"] - cell["true"]) > 0.15 else ""


def compared(base: dict[str, Any], other: dict[str, Any], group: str) -> dict[str, Any]:
    """Mean change of the cost in percent, its standard error, and changes of verdicts."""
    changes: dict[str, float] = {}
    verdicts, failed, seconds, reached = [], [], np.zeros(2), 0
    for key, cell in other.items():
        where, name = key.split("|", 1)
        before = base[key]
        if where != group or "failed" in before:
            continue
        if "failed" in cell:
            failed.append(f"{name}: {cell['failed']}")
            continue
        changes[name] = float(100 * np.mean(np.array(cell["cost"]) / before["cost"] - 1))
        seconds += before["seconds"], cell["seconds"]
        reached += not cell.get("skipped")
        now, then = (each.get("verdict") for each in (cell, before))
        if now != then or mistake(cell) != mistake(before):
            verdicts.append(", ".join(filter(None, (f"{name}: {then} → {now}", mistake(cell)))))
    values = np.array(list(changes.values()) or [0.0])
    worst = max(changes, key=lambda name: abs(changes[name]), default="")
    return {
        "mean": round(float(values.mean()), 3),
        "error": round(float(values.std() / np.sqrt(values.size)), 3),
        "changed": int((np.abs(values) > 1e-6).sum()),
        "reached": reached,
        "n": len(changes),
        "worst": f"{worst} {changes[worst]:+.1f}%" if worst else "",
        "by": {name: round(change, 2) for name, change in changes.items() if abs(change) > 1e-6},
        "verdicts": verdicts,
        "failed": failed,
        "time": round(float(seconds[1] / max(seconds[0], 1e-9)), 2),
    }


# --- the page -------------------------------------------------------------------------------------


def proposal(groups: dict[str, Any], noise: dict[str, Any]) -> str:
    """What the numbers allow; whoever deletes decides."""
    cells = list(groups.values())
    lies = ("false yes", "false nothing", "far off")
    worse = sum(verdict.endswith(lies) for cell in cells for verdict in cell["verdicts"])
    worse += sum(len(cell["failed"]) for cell in cells)
    if worse:
        return f"keep: {worse} wrong verdicts or failures"
    if not any(cell.get("reached", 1) for cell in cells):
        return "not reached"
    dearer = {group: cell["mean"] for group, cell in groups.items() if cell["mean"] > 0.25}
    # where folds matter, scenarios are draws; elsewhere every difference is one
    sure = [
        group not in noise or mean > 2 * groups[group]["error"] for group, mean in dearer.items()
    ]
    if any(sure):
        return "keep"
    if any(mean > noise[group]["error"] for group, mean in dearer.items()):
        return "unclear: dearer within noise"
    if any(cell["verdicts"] for cell in cells):
        return "may go if verdicts may change"
    if not any(cell["changed"] for cell in cells):
        return "may go: nothing changes"
    return "may go: within noise"


def shown(cell: dict[str, Any] | None) -> str:
    if not cell or not cell.get("n"):
        return ""
    worst = cell["worst"] if cell["changed"] and abs(cell["mean"]) + cell["error"] > 0.5 else ""
    reached = f"{cell['changed']} of {cell.get('reached', cell['n'])} of {cell['n']}"
    return f"{cell['mean']:+.2f} ± {cell['error']:.2f} ({reached}){'; ' + worst if worst else ''}"


def page(results: dict[str, Any]) -> str:
    lines = [
        "# What each part is worth: switched off, one at a time",
        "",
        "Made by `benchmarks/ablation.py`, which says how. Change of the cost on true demand in %, "
        "positive where it is dearer without the part; ± standard error over scenarios. In "
        "brackets: scenarios with another cost, of those that reach the code, of all; then the "
        "largest change. *Other folds* is the noise: the same code with another seed. Lines are "
        "those of the functions that would go.",
        "",
        results.get("about", ""),
        "",
    ]
    rows = results["switches"]
    for part in dict.fromkeys(each["part"] for each in rows.values()):
        some = {name: each for name, each in rows.items() if each["part"] == part}
        groups = list(dict.fromkeys(group for each in some.values() for group in each["groups"]))
        titles = ["switched off", "lines", *groups, "time", "verdicts that change"]
        lines += [f"## {part[0].upper()}{part[1:]}", "", head([*titles, "proposal"])]
        noise = [shown(results["noise"].get(group)) for group in groups]
        if any(noise):
            lines.append(row(["*other folds*", "", *noise, "", "", ""]))
        for name, each in some.items():
            cells = [each["groups"].get(group) for group in groups]
            took = float(np.mean([cell["time"] for cell in cells if cell]))
            said = [text for cell in cells if cell for text in cell["verdicts"] + cell["failed"]]
            more = "; ".join(said[:4]) + (f"; and {len(said) - 4} more" if len(said) > 4 else "")
            text = [name, str(each["lines"] or ""), *map(shown, cells), f"{took:.2f}", more]
            lines.append(row([*text, proposal(each["groups"], results["noise"])]))
        lines.append("")
    return "\n".join(lines)


def save(results: dict[str, Any], folder: Path) -> None:
    """Write in one step, so that an interrupted run leaves a whole file."""
    fresh = folder / "ablation.new"
    fresh.write_text(json.dumps(results, indent=1) + "\n")
    fresh.replace(folder / "ablation.json")
    (folder / "ablation.md").write_text(page(results).rstrip() + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with files of FreshRetailNet-50K")
    parser.add_argument("--parts", default="", help="parts of names of sections, joined by ;")
    parser.add_argument("--only", default="", help="parts of names of switches, joined by ;")
    parser.add_argument("--list", action="store_true", help="list switches, and which are gone")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    asked = parser.parse_args()
    DATA.extend([asked.data] if asked.data else [])
    file = asked.output / "ablation.json"
    results: dict[str, Any] = {"about": "", "noise": {}, "switches": {}}
    if file.exists():
        results = json.loads(file.read_text())
    if asked.page:
        save(results, asked.output)
        return
    wanted, only = parts(asked.parts), parts(asked.only)
    base: dict[str, Any] = {}
    for switch in switches():
        if wanted and not any(each in switch.part.lower() for each in wanted):
            continue
        if only and not any(each in switch.name.lower() for each in only):
            continue
        gone = [target for target in switch.changes if find(target) is None]
        if gone or asked.list:
            print(f"{switch.part} | {switch.name}{' | gone: ' if gone else ''}{', '.join(gone)}")
            continue
        missing = tuple(
            group for group in switch.groups if not any(key.startswith(f"{group}|") for key in base)
        )
        if missing:
            base |= run_base(missing)
            noisy = tuple(group for group in missing if group in NOISY)
            other = run_base(noisy, seed=1)
            results["noise"] |= {group: compared(base, other, group) for group in noisy}
        found = run(switch, base)
        groups = {group: compared(base, found, group) for group in switch.groups}
        results["switches"][switch.name] = {
            "part": switch.part,
            "lines": switch.lines,
            "groups": groups,
        }
        save(results, asked.output)
        told = "; ".join(f"{group} {shown(cell)}" for group, cell in groups.items())
        print(f"{switch.name}: {told}", flush=True)


if __name__ == "__main__":
    main()
