"""One panel per group: every method's share of the gap closed, mean and worst case."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from gap_cases import GROUPS, NEVER
from gap_methods import IGNORING, METHODS, OPTIMUM
from gap_report import Run, mean_closed, relative

# Okabe and Ito's colours, told apart by the colour-blind, and a mark for each as well
KNOWN = {
    "nothing": ("#D55E00", "o", "nothing"),
    "dates": ("#CC79A7", "^", "dates and series"),
    "the sell-out rate": ("#E69F00", "s", "the sell-out rate"),
    "flags": ("#0072B2", "D", "flags or stock"),
    "stock": ("#0072B2", "D", "flags or stock"),
    "the truth": ("#000000", "P", "the truth, of some or all rows"),
}
LOWEST, HIGHEST = -1.0, 1.08  # of the axis; what lies below is drawn as an arrow at its end


def colour(method: str) -> tuple[str, str, str]:
    return next(look for start, look in KNOWN.items() if METHODS[method].knows.startswith(start))


def draw(run: Run, folder: Path) -> None:
    groups = [group for group in GROUPS if run.finished(group)]
    names = [
        name
        for name in run.methods([case for group in groups for case in run.finished(group)])
        if name not in (IGNORING, OPTIMUM)
    ][::-1]
    if not names:
        return
    size = (3.1 * len(groups) + 2.2, 0.3 * len(names) + 1.9)
    figure, panels = plt.subplots(
        1, len(groups), figsize=size, sharey=True, layout="constrained", squeeze=False
    )
    for panel, group in zip(panels[0], groups, strict=True):
        (harm if group == NEVER else gain)(run, panel, group, names)
        panel.set_title(f"{group}\n{len(run.finished(group))} cases", loc="left", fontsize=10)
        panel.grid(axis="x", color="#dddddd", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_yticks(range(len(names)), names)
        panel.set_ylim(-0.6, len(names) - 0.4)
    looks = dict.fromkeys(colour(name) for name in names[::-1])
    handles = [
        plt.Line2D([], [], color=tone, marker=mark, linestyle="", label=words)
        for tone, mark, words in looks
    ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=len(looks),
        frameon=False,
        title="what is known",
    )
    fresh = folder / "gap_closed.new.svg"
    figure.savefig(fresh, metadata={"Date": None})
    fresh.replace(folder / "gap_closed.svg")
    plt.close(figure)


def gain(run: Run, panel: plt.Axes, group: str, names: list[str]) -> None:
    """Gap closed: a small mark for each case, a large one for their mean."""
    panel.axvline(0, color="#888888", linewidth=1)
    panel.axvline(1, color="#888888", linewidth=1, linestyle=":")
    for height, name in enumerate(names):
        costs = [run.four(case, name) for case in run.finished(group)]
        shares = [share for each in costs if (share := mean_closed(each)) is not None]
        if shares:
            marks(panel, name, height, np.array(shares), LOWEST, HIGHEST)
    panel.set_xlim(LOWEST - 0.06, HIGHEST)
    panel.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    panel.set_xlabel("gap closed, α ≥ .65")


def harm(run: Run, panel: plt.Axes, group: str, names: list[str]) -> None:
    """Cost relative to ignoring censoring, at the worst level."""
    panel.axvline(1, color="#888888", linewidth=1)
    for height, name in enumerate(names):
        costs = [run.four(case, name) for case in run.finished(group)]
        ratios = [float(relative(each).max()) for each in costs if len(each)]
        if ratios:
            marks(panel, name, height, np.array(ratios), 0.9, 1.6)
    panel.set_xlim(0.9, 1.62)
    panel.set_xlabel("cost ÷ IEO at the worst α")


def marks(
    panel: plt.Axes, name: str, height: int, values: np.ndarray, low: float, high: float
) -> None:
    tone, mark, _ = colour(name)
    inside = np.clip(values, low, high)
    look = {"color": tone, "linestyle": "", "clip_on": False}
    panel.plot(inside, np.full(len(values), height), marker="|", markersize=7, alpha=0.7, **look)
    mean = float(values.mean())
    if low <= mean <= high:
        panel.plot(mean, height, marker=mark, markersize=7, zorder=3, **look)
    else:
        panel.plot(np.clip(mean, low, high), height, marker="<" if mean < low else ">", **look)
        words = f"{100 * mean:.0f} %" if low < 0 else f"{mean:.2f}"
        side = (8, 0) if mean < low else (-8, 0)
        panel.annotate(
            words,
            (np.clip(mean, low, high), height),
            xytext=side,
            textcoords="offset points",
            va="center",
            ha="left" if mean < low else "right",
            fontsize=7,
            color=tone,
        )
