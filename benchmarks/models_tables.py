"""Tables of the page of `models.py`, one function each."""

from __future__ import annotations

from collections import Counter

from models_bars import IGNORING, LATENT, levels_closed
from models_results import Run, divide
from models_tasks import (
    ALL,
    BOOSTED,
    BOOSTED_PEER,
    BOOSTED_US,
    KERAS_TUNED,
    MANY,
    MODELS,
    NETWORK,
    ONE,
    SOLVERS,
    TRAINED,
    US_BEST,
    WIDE,
    WIDE_US,
    Way,
)
from report import duration, head, ratio, row, size

from unmet.simulate import PUBLISHED_LEVELS


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
