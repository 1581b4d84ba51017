"""From records to a page: the bars, then the tables of each section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from models_tasks import (
    ALL,
    ALONE,
    AT_ONCE,
    BOOSTED,
    BOOSTED_CASES,
    BOOSTED_PEER,
    BOOSTED_US,
    KERAS_LOOP,
    KERAS_TUNED,
    MANY,
    MODELS,
    NETWORK,
    ONE,
    SECTIONS,
    SOLVERS,
    TRAINED,
    US_BEST,
    WIDE,
    WIDE_US,
    Way,
)
from report import duration, head, ratio, row, size
from rich.console import Console
from rich.table import Table

from unmet.simulate.store10 import PUBLISHED_LEVELS

# --- Read access to the results of `models.py`, and the measures taken from them

LEAST_GAP = 0.005  # of the floor: where ignoring censoring costs less than that, nothing is closed


class Run:
    """The records of one run: a section, a name, threads, and what else tells them apart."""

    def __init__(self, results: dict) -> None:
        self.setting: dict = results.get("setting", {})
        self.sizes: dict[str, int] = results.get("sizes", {})
        self.records: dict[str, dict] = results["records"]

    def finished(self, section: str, name: str, threads: str = ONE) -> dict[str, dict]:
        """Records with an answer, by the rest of their key."""
        start = f"{section}|{name}|{threads}|"
        return {
            key.removeprefix(start): record
            for key, record in self.records.items()
            if key.startswith(start) and "failed" not in record
        }

    def fits(self, section: str, name: str, threads: str = ONE, case: str = "") -> list[dict]:
        """Every fit of a name, over seeds and levels; of one case, if there are several."""
        return [
            fit
            for told, record in self.finished(section, name, threads).items()
            if not case or told.startswith(f"{case}|")
            for fit in record["fits"]
        ]

    def mean(
        self, field: str, section: str, name: str, threads: str = ONE, case: str = ""
    ) -> float | None:
        fits = self.fits(section, name, threads, case)
        values = [fit[field] for fit in fits if fit.get(field) is not None]
        return float(np.mean(values)) if values else None

    def memory(self, section: str, name: str, threads: str = ONE) -> float | None:
        peaks = [record["memory"] for record in self.finished(section, name, threads).values()]
        return float(max(peaks)) if peaks else None

    def failures(self) -> dict[str, list[str]]:
        """Sentence of an error → where it came up."""
        found: dict[str, list[str]] = {}
        for key, record in self.records.items():
            if "failed" in record:
                found.setdefault(record["failed"], []).append(key.replace("|", ", "))
        return found

    def versions(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for record in self.records.values():
            found.update(record.get("versions", {}))
        return dict(sorted(found.items()))

    # nonlinear censored demand: key "censored|model|threads|trained on|seed"

    def realised(self, model: str, trained: str) -> dict[str, dict[float, float]]:
        """Mean cost of the test rows by seed and level."""
        return self._costs(model, trained, "realised")

    def best(self, model: str, trained: str) -> dict[str, dict[float, float]]:
        """Cost of the true quantile on the same rows."""
        return self._costs(model, trained, "best")

    def _costs(self, model: str, trained: str, field: str) -> dict[str, dict[float, float]]:
        return {
            told.rpartition("|")[2]: {fit["level"]: fit[field] for fit in record["fits"]}
            for told, record in self.finished("censored", model).items()
            if told.startswith(f"{trained}|")
        }


def divide(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def closed(
    ignoring: Iterable[float],
    method: Iterable[float],
    floor: Iterable[float],
    truth: Iterable[float],
) -> float | None:
    """Share of the gap closed; costs of several seeds are added up before they are divided.

    None where even the same model trained on the truth costs hardly less than one that ignores
    censoring: what separates both from the floor is then estimation, not censoring.
    """
    first, middle, last, known = (float(sum(each)) for each in (ignoring, method, floor, truth))
    helps = first - max(last, known) > LEAST_GAP * last
    return (first - middle) / (first - last) if helps else None


# --- What the project promises about neural and boosted decisions, checked against a run

SAME = 1.02  # a training cost that counts as the same
IGNORING, LATENT, TRUTH = TRAINED
HIGH = 0.65  # levels from here on: below, censoring at the mean hardly matters


@dataclass(frozen=True)
class Bar:
    """One line of the table: a number and the value it must not exceed (or fall below)."""

    where: str
    words: str
    value: float | None  # None: not measured
    bound: float
    at_least: bool = False
    percent: bool = False

    def met(self) -> bool | None:
        if self.value is None:
            return None
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def texts(self) -> tuple[str, str]:
        """The bound and what was measured."""
        sign = "≥" if self.at_least else "≤"
        texts = [
            "not measured"
            if each is None
            else f"{100 * each:.0f} %"
            if self.percent
            else f"{each:.3g}"
            for each in (self.bound, self.value)
        ]
        return f"{sign} {texts[0]}", texts[1]


def bars(run: Run) -> list[Bar]:
    return [*_network(run), *_many(run), *_wide(run), *_boosted(run), *_censored(run)]


def _network(run: Run) -> Iterator[Bar]:
    where = "paper's network"
    keras = least(run.mean("cpu", "network", KERAS_TUNED, threads) for threads in (ONE, ALL))
    ratio = divide(keras, run.mean("cpu", "network", US_BEST))
    yield Bar(where, "tuned Keras on JAX ÷ unmet, CPU seconds of a fit", ratio, 50, at_least=True)
    costs = [run.mean("training", "network", name) for name in (US_BEST, KERAS_TUNED)]
    words = "unmet ÷ tuned Keras on JAX, mean training cost"
    yield Bar(where, words, divide(costs[0], costs[1]), SAME)


def _many(run: Run) -> Iterator[Bar]:
    for solver in SOLVERS:
        names = [f"{solver}, {way}" for way in (ALONE, AT_ONCE)]
        wall, training = (
            [run.mean(field, "many", name) for name in names] for field in ("wall", "training")
        )
        where = f"250 networks, {solver}"
        yield Bar(
            where,
            "one by one ÷ fit_many, wall seconds, one thread",
            divide(*wall),
            5,
            at_least=True,
        )
        words = "fit_many ÷ one by one, mean training cost"
        yield Bar(where, words, divide(training[1], training[0]), SAME)


def _wide(run: Run) -> Iterator[Bar]:
    """Against the faster form of PyTorch; one thread each, since ours uses one."""
    peers = [way.name for way in WIDE if way.name.startswith("PyTorch")]
    where = "256 × 256"
    fastest = least(run.mean("cpu", "wide", name) for name in peers)
    ratio = divide(run.mean("cpu", "wide", WIDE_US), fastest)
    yield Bar(where, "unmet (NumPy) ÷ PyTorch, CPU seconds, one thread", ratio, 1.3)
    lowest = least(run.mean("training", "wide", name) for name in peers)
    ratio = divide(run.mean("training", "wide", WIDE_US), lowest)
    yield Bar(where, "unmet (NumPy) ÷ PyTorch, training cost", ratio, SAME)


def _boosted(run: Run) -> Iterator[Bar]:
    for case in BOOSTED_CASES:
        costs, seconds = (
            [run.mean(field, "boosted", name, case=case) for name in (BOOSTED_US, BOOSTED_PEER)]
            for field in ("realised", "cpu")
        )
        where = f"boosted, {case}"
        yield Bar(where, "unmet ÷ LightGBM quantile, mean pinball loss", divide(*costs), 1.01)
        yield Bar(where, "unmet ÷ LightGBM quantile, CPU seconds", divide(*seconds), 3)


def _censored(run: Run) -> Iterator[Bar]:
    for model in ("neural", "boosted"):
        where = f"nonlinear censored, {model}"
        to_best, to_model = (
            [
                share
                for level, share in levels_closed(run, model, floor).items()
                if level >= HIGH and share is not None
            ]
            for floor in (True, False)
        )
        mean = sum(to_best) / len(to_best) if to_best else None
        words = "gap to the true quantile closed, mean over α ≥ .65"
        yield Bar(where, words, mean, 0.6, at_least=True, percent=True)
        words = "gap to the same model trained on the truth closed, worst α ≥ .65"
        yield Bar(where, words, least(to_model), 0.6, at_least=True, percent=True)


def levels_closed(run: Run, model: str, to_best: bool = True) -> dict[float, float | None]:
    """Share of the gap closed by the latent band at each level, over all seeds.

    The floor is the true quantile, or the same model trained on the truth.
    """
    costs = [run.realised(model, trained) for trained in TRAINED]
    ignoring, latent, truth = costs
    floor = run.best(model, IGNORING) if to_best else truth
    seeds = sorted(set(ignoring) & set(latent) & set(truth))
    found = {}
    for level in PUBLISHED_LEVELS:
        if seeds and all(level in each[seed] for each in costs for seed in seeds):
            four = (ignoring, latent, floor, truth)
            found[level] = closed(*([each[seed][level] for seed in seeds] for each in four))
    return found


# --- Tables of the page of `models.py`, one function each


def ways(run: Run, section: str, catalogue: tuple[Way, ...]) -> list[tuple[Way, str]]:
    """Those with an answer, each with its threads, fastest first."""
    found = [(way, ALL if way.threads is None else ONE) for way in catalogue]
    found = [(way, threads) for way, threads in found if run.fits(section, way.name, threads)]
    return sorted(found, key=lambda each: run.mean("cpu", section, each[0].name, each[1]) or 0.0)


def bold(name: str) -> str:
    return f"**{name}**" if name.startswith("unmet") else name


def network_table(run: Run) -> list[str]:
    columns = ["way", "threads", "fits", "CPU", "of it compiling", "wall", "× L-BFGS, CPU"]
    columns += ["training cost, 10⁻⁴", "÷ tuned Keras", "realised cost", "peak memory", "packages"]
    lines = [head(columns)]
    ours = run.mean("cpu", "network", US_BEST)
    for way, threads in ways(run, "network", NETWORK):
        where = ("network", way.name, threads)
        cpu, wall, training, realised = (
            run.mean(field, *where) or 0.0 for field in ("cpu", "wall", "training", "realised")
        )
        compiling = run.mean("compile", *where)
        keras = alike(run, "training", way.name, threads)
        installed = run.sizes.get(way.environment or "unmet")
        cells = [
            bold(way.name),
            threads.split()[0],
            str(len(run.fits(*where))),
            duration(cpu),
            "" if compiling is None else duration(compiling),
            duration(wall),
            ratio(cpu / ours) if ours else "",
            f"{1e4 * training:.3f}",
            "" if keras is None else f"{training / keras:.3f}",
            f"{realised:.2f}",
            size(run.memory(*where) or 0.0),
            size(installed) if installed else "",
        ]
        lines.append(row(cells))
    return lines


def alike(run: Run, field: str, name: str, threads: str) -> float | None:
    """Mean of tuned Keras over the seeds that the other was measured on, too."""
    seeds = run.finished("network", name, threads)
    keras = run.finished("network", KERAS_TUNED)
    values = [fit[field] for seed in seeds if seed in keras for fit in keras[seed]["fits"]]
    return sum(values) / len(values) if values else None


def level_table(run: Run) -> list[str]:
    """The same network by level: training cost of each way, over seeds."""
    lines = [head(["way", *(f"α = {level:g}" for level in PUBLISHED_LEVELS)])]
    for way in NETWORK:
        fits = run.fits("network", way.name) if way.threads else []
        cells = []
        for level in PUBLISHED_LEVELS:
            costs = [1e4 * fit["training"] for fit in fits if fit["level"] == level]
            cells.append(f"{sum(costs) / len(costs):.3f}" if costs else "")
        if any(cells):
            lines.append(row([bold(way.name), *cells]))
    return lines


def many_table(run: Run) -> list[str]:
    columns = ["solver", "way", "threads", "wall", "CPU", "wall a network", "training cost, 10⁻⁴"]
    lines = [head([*columns, "worst network, 10⁻⁴"])]
    for solver in SOLVERS:
        for way, count in MANY:
            threads = ONE if count == 1 else ALL
            for fit in run.fits("many", f"{solver}, {way}", threads):
                times = [duration(fit[field]) for field in ("wall", "cpu")]
                times.append(duration(fit["wall"] / fit["networks"]))
                costs = [f"{1e4 * fit[field]:.3f}" for field in ("training", "worst")]
                lines.append(row([solver, way, threads.split()[0], *times, *costs]))
    return lines


def wide_table(run: Run) -> list[str]:
    columns = ["way", "threads", "CPU", "wall", "wall ÷ NumPy's", "training cost, 10⁻³"]
    lines = [head([*columns, "realised cost", "peak memory"])]
    ours = run.mean("wall", "wide", WIDE_US)
    for way, threads in ways(run, "wide", WIDE):
        where = ("wide", way.name, threads)
        cpu, wall, training, realised = (
            run.mean(field, *where) or 0.0 for field in ("cpu", "wall", "training", "realised")
        )
        cells = [bold(way.name), threads.split()[0], duration(cpu), duration(wall)]
        cells += [ratio(wall / ours) if ours else "", f"{1e3 * training:.3f}", f"{realised:.4f}"]
        lines.append(row([*cells, size(run.memory(*where) or 0.0)]))
    return lines


def boosted_table(run: Run, case: str) -> list[str]:
    """Pinball loss on test rows by level, relative to LightGBM's own objective, and time."""
    levels = sorted({fit["level"] for fit in run.fits("boosted", BOOSTED_PEER, case=case)})
    columns = ["package", *(f"α = {level:g}" for level in levels), "mean", "CPU", "÷ LightGBM"]
    lines = [head(columns)]
    peer = run.fits("boosted", BOOSTED_PEER, case=case)
    for name in BOOSTED:
        fits = run.fits("boosted", name, case=case)
        if not fits:
            continue
        cells = []
        for level in [*levels, None]:
            mine, theirs = (
                sum(fit["realised"] for fit in each if level in (None, fit["level"]))
                for each in (fits, peer)
            )
            cells.append(f"{mine / theirs:.4f}" if theirs else "")
        cpu = run.mean("cpu", "boosted", name, case=case) or 0.0
        times = [duration(cpu), f"{divide(cpu, mean_cpu(run, case)) or 0.0:.2f}"]
        lines.append(row([f"**{name}**" if name == BOOSTED_US else name, *cells, *times]))
    return lines


def mean_cpu(run: Run, case: str) -> float | None:
    return run.mean("cpu", "boosted", BOOSTED_PEER, case=case)


def censored_table(run: Run) -> list[str]:
    """Realised cost of each model and training, then the share of the gap closed."""
    lines = [head(["model", "trained on", *(f"α = {level:g}" for level in PUBLISHED_LEVELS)])]
    for model in MODELS:
        for trained in TRAINED:
            if found := run.realised(model, trained):
                words = {IGNORING: "sales as truth (IEO)", LATENT: "sales, latent band"}
                lines.append(row([model, words.get(trained, trained), *costs(found)]))
    if found := run.best("linear", IGNORING):
        lines.append(row(["*true quantile*", "", *costs(found)]))
    return lines


def costs(found: dict[str, dict[float, float]]) -> list[str]:
    cells = []
    for level in PUBLISHED_LEVELS:
        values = [by_level[level] for by_level in found.values() if level in by_level]
        cells.append(f"{sum(values) / len(values):.3f}" if values else "")
    return cells


def closed_table(run: Run) -> list[str]:
    lines = [head(["model", "floor", *(f"α = {level:g}" for level in PUBLISHED_LEVELS)])]
    for model in MODELS:
        for to_best, words in (
            (True, "true quantile"),
            (False, "same model, trained on the truth"),
        ):
            shares = levels_closed(run, model, to_best)
            cells = [shares.get(level) for level in PUBLISHED_LEVELS]
            texts = ["–" if cell is None else f"{100 * cell:.0f} %" for cell in cells]
            if shares:
                lines.append(row([model, words, *texts]))
    return lines


def seconds_table(run: Run) -> list[str]:
    """CPU seconds of one fit, with the band learned where there is one."""
    lines = [head(["model", *TRAINED, "of the seeds, identified"])]
    for model in MODELS:
        cells = []
        for trained in TRAINED:
            fits = run.fits("censored", model, case=trained)
            seconds = [fit["cpu"] for fit in fits if fit["with_rule"] or trained != LATENT]
            cells.append(duration(sum(seconds) / len(seconds)) if seconds else "")
        said = Counter(
            record["identified"]
            for record in run.finished("censored", model).values()
            if "identified" in record
        )
        words = ", ".join(f"{word} {said[word]}" for word in ("yes", "weakly", "no") if said[word])
        lines.append(row([model, *cells, words]))
    return lines


def show(results: dict, console: Console) -> None:
    """Print the bars with what was measured."""
    table = Table("where", "what", "bar", "measured", "")
    for bar in bars(Run(results)):
        word = {True: "met", False: "missed", None: ""}[bar.met()]
        table.add_row(bar.where, bar.words, *bar.texts(), word)
    console.print(table)


def bar_table(run: Run) -> list[str]:
    lines = [head(["where", "what", "bar", "measured", "met"])]
    for bar in bars(run):
        mark = {True: "✓", False: "✗", None: ""}[bar.met()]
        lines.append(row([bar.where, bar.words, *bar.texts(), mark]))
    return lines


def network_words(run: Run) -> list[str]:
    """What the bar leaves open: compilation, and a loop that Keras does not offer."""
    words = [
        "Two hidden layers of sigmoids, published ε, sales scaled to [0, 1]; peers train 500",
        "epochs of Adam in batches of 79 with Keras's defaults. CPU seconds of a fit, without",
        "imports and loading, with compilation. Training cost: mean insensitive cost of the final",
        "weights in scaled units; realised cost: per test row, in units. Means over fits",
        "(seeds × levels).",
    ]
    ours = run.mean("cpu", "network", US_BEST)
    tuned, compiling = (run.mean(field, "network", KERAS_TUNED) for field in ("cpu", "compile"))
    loop = divide(run.mean("cpu", "network", KERAS_LOOP), ours)
    if ours and tuned and compiling is not None and loop:
        words += [
            "",
            "Tuned Keras without its compilation takes "
            f"{ratio((tuned - compiling) / ours)} × the time of L-BFGS;",
            "a loop around Keras's stateless functions, compiled as a whole, takes "
            f"{ratio(loop)} ×.",
        ]
    return words


def sections(run: Run) -> Iterator[tuple[str, list[str]]]:
    """Section → what stands under its title."""
    yield "network", [*network_words(run), "", *network_table(run), "", *by_level(run)]
    yield (
        "many",
        [
            "Levels × folds × starts on store-10 data, as a search needs them; one thread.",
            "",
            *many_table(run),
        ],
    )
    yield (
        "wide",
        [
            "Twenty features, α = .75, rectified linear units, Adam in batches of 512, 5 epochs,",
            "constant rate. Training cost in scaled units.",
            "",
            *wide_table(run),
        ],
    )
    yield "boosted", boosted_words(run)
    yield (
        "censored",
        [
            "`unmet.simulate.nonlinear_demand`, orders at_mass up on the mean of demand, nothing",
            "known; five seeds of 3,000 training and 4,000 test rows. Mean realised cost in units.",
            "",
            *censored_table(run),
            "",
            "Share of the gap closed by the latent band: (cost of IEO − its cost) ÷ (cost of IEO −",
            "floor), costs summed over seeds; – where even the same model trained on the truth is",
            "less than 0.5 % cheaper than IEO. The bars take the true quantile, which no model",
            "trained on 3,000 rows reaches.",
            "",
            *closed_table(run),
            "",
            "CPU seconds of one fit; with a latent band, of the fit that learns it:",
            "",
            *seconds_table(run),
        ],
    )


def by_level(run: Run) -> list[str]:
    return ["Training cost by level, 10⁻⁴:", "", *level_table(run)]


def boosted_words(run: Run) -> list[str]:
    lines = [
        "Never-censored demand, so that the cost is the pinball loss; 100 trees of 31 leaves, rate",
        "0.1, at least 20 rows in a leaf, one thread. Loss of test rows relative to LightGBM's.",
    ]
    for case in BOOSTED_CASES:
        if run.fits("boosted", BOOSTED_PEER, case=case):
            lines += ["", f"### {case}", "", *boosted_table(run, case)]
    return lines


def page(run: Run) -> str:
    """Return the whole page in Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in run.versions().items())
    lines = [
        "# Neural and boosted decisions and their peers",
        "",
        "Made by `benchmarks/models.py`; how to read it: `benchmarks/README.md`.",
        f"{run.setting['cpu']}, {run.setting['cores']} cores, Python {run.setting['python']}; "
        f"{versions}.",
        "",
        "![Cost of decisions on nonlinear censored demand, and time of a fit](models.svg)",
        "",
        "## What is promised",
        "",
        *bar_table(run),
    ]
    measured = {key.partition("|")[0] for key, each in run.records.items() if "failed" not in each}
    for section, content in sections(run):
        if section in measured:
            title = SECTIONS[section]
            lines += ["", f"## {title[0].upper()}{title[1:]}", "", *content]
    if failures := run.failures():
        lines += ["", "## What did not finish", ""]
        lines += [
            f"- {len(where)} × {words} First: {where[0]}" for words, where in failures.items()
        ]
    return "\n".join(lines) + "\n"


def write(results: dict, folder: Path) -> None:
    """Write models.md, and models.svg where matplotlib is present; whole or not at all."""
    run = Run(results)
    fresh = folder / "models.md.new"
    fresh.write_text(page(run))
    fresh.replace(folder / "models.md")
    try:
        from models_figure import draw
    except ImportError:
        return
    draw(run, folder)
