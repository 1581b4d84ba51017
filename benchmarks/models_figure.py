"""Cost of decisions on nonlinear censored demand; time of one fit of the paper's network."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import matplotlib.ticker
import numpy as np
from models_report import IGNORING, LATENT, TRUTH, Run, ways
from models_tasks import MODELS, NETWORK, ONE
from report import duration

from unmet.simulate.store10 import PUBLISHED_LEVELS

# Okabe and Ito's colours, told apart by the colour-blind, a mark for each as well, and lines ever
# thinner, so that one lying on another does not hide it
LOOKS = {
    IGNORING: ("#D55E00", "o", 4.0, 10, "sales as truth (IEO)"),
    LATENT: ("#56B4E9", "D", 2.2, 6, "sales, latent band"),
    TRUTH: ("#000000", "s", 1.0, 3, "the truth"),
}
TITLES = {
    "linear": "LinearDecision",
    "neural": "NeuralDecision",
    "boosted": "BoostedDecision",
}


def draw(run: Run, folder: Path) -> None:
    figure = plt.figure(figsize=(11.5, 7.2), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=(3.6, 3.0))
    panels = top.subplots(1, len(MODELS), sharey=True, sharex=True)
    for panel, model in zip(panels, MODELS, strict=True):
        decisions(run, panel, model)
    panels[0].set_ylabel("realised cost per test row, units")
    panels[0].set_ylim(bottom=0)
    handles, labels = panels[0].get_legend_handles_labels()
    top.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    top.suptitle(
        "Nonlinear demand, half of it censored, nothing known: trained on …", x=0.01, ha="left"
    )
    times(run, bottom.subplots())
    bottom.suptitle("One fit of the paper's network", x=0.01, ha="left")
    fresh = folder / "models.new.svg"
    figure.savefig(fresh, metadata={"Date": None})
    fresh.replace(folder / "models.svg")
    plt.close(figure)


def decisions(run: Run, panel: plt.Axes, model: str) -> None:
    """Cost against level, one line for each training; thin lines are seeds."""
    for trained, (tone, mark, width, size, words) in LOOKS.items():
        found = run.realised(model, trained)
        for by_level in found.values():
            panel.plot(*zip(*sorted(by_level.items()), strict=True), color=tone, alpha=0.2, lw=0.7)
        if found:
            look = {"color": tone, "marker": mark, "lw": width, "markersize": size}
            panel.plot(*mean(found), **look, label=words)
    if best := run.best(model, IGNORING):
        panel.plot(*mean(best), color="#888888", linestyle=":", lw=1.5, label="true quantile")
    panel.set_title(TITLES[model], loc="left", fontsize=10)
    panel.set_xticks(PUBLISHED_LEVELS, [f"{level:g}".lstrip("0") for level in PUBLISHED_LEVELS])
    panel.set_xlabel("level α")
    panel.grid(color="#dddddd", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def mean(found: dict[str, dict[float, float]]) -> tuple[list[float], list[float]]:
    levels = sorted({level for by_level in found.values() for level in by_level})
    return levels, [
        float(np.mean([each[level] for each in found.values() if level in each]))
        for level in levels
    ]


def times(run: Run, panel: plt.Axes) -> None:
    """CPU seconds of every way, fastest on top."""
    rows = ways(run, "network", NETWORK)[::-1]
    for height, (way, threads) in enumerate(rows):
        seconds = run.mean("cpu", "network", way.name, threads) or 0.0
        tone, mark = ("#0072B2", "D") if way.name.startswith("unmet") else ("#666666", "o")
        panel.plot(seconds, height, color=tone, marker=mark, markersize=7)
        panel.annotate(
            duration(seconds),
            (seconds, height),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=tone,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},  # no line through it
        )
    names = [way.name if threads == ONE else f"{way.name}, {threads}" for way, threads in rows]
    panel.set_yticks(range(len(rows)), names)
    panel.set_xscale("log")
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())
    panel.set_xlabel("CPU seconds of a fit, compilation included (logarithmic)")
    panel.margins(x=0.1, y=0.08)
    panel.grid(color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
