"""One panel per case: the share of the gap that each method closes."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from alternatives_methods import CASES, DATES, FLAGS, METHODS, NOTHING, OPTIMUM, RATE
from alternatives_report import Run

# Okabe and Ito's colours, told apart by the colour-blind
TONES = {
    NOTHING: "#D55E00",
    RATE: "#E69F00",
    DATES: "#CC79A7",
    FLAGS: "#0072B2",
    "stock": "#56B4E9",
}
LOWEST, HIGHEST = -1.0, 1.7  # room for labels; what lies below is marked


def draw(run: Run, folder: Path) -> None:
    cases = [case for case in CASES if run.seeds(case)]
    names = [
        name
        for name, method in METHODS.items()
        if method.knows in TONES and any(run.cost(case, name) is not None for case in cases)
    ][::-1]
    if not names:
        return
    size = (2.9 * len(cases) + 2.6, 0.31 * len(names) + 1.5)
    figure, panels = plt.subplots(
        1, len(cases), figsize=size, sharey=True, layout="constrained", squeeze=False
    )
    for panel, case in zip(panels[0], cases, strict=True):
        floor = "true quantile" if run.cost(case, OPTIMUM) is not None else "trained on demand"
        panel.set_title(f"{case}\n100 % = {floor}", loc="left", fontsize=10)
        bars(run, panel, case, names)
    looks = [tone for tone in TONES if any(METHODS[name].knows == tone for name in names)]
    handles = [plt.Rectangle((0, 0), 1, 1, color=TONES[tone], label=tone) for tone in looks]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=len(looks),
        frameon=False,
        title="what a method is told, besides features and sales (full colour: unmet)",
    )
    fresh = folder / "alternatives.new.svg"
    figure.savefig(fresh, metadata={"Date": None})
    fresh.replace(folder / "alternatives.svg")
    plt.close(figure)


def bars(run: Run, panel: plt.Axes, case: str, names: list[str]) -> None:
    for height, name in enumerate(names):
        ours, share = METHODS[name].ours, run.closed(case, name)
        if share is None:
            words = "not at every α"
            panel.text(0.04, height, words, va="center", fontsize=7.5, color="#666666")
            continue
        tone = TONES[METHODS[name].knows]
        panel.barh(height, max(share, LOWEST), height=0.62, color=tone, alpha=1.0 if ours else 0.5)
        panel.annotate(
            ("◂ " if share < LOWEST else "") + f"{round(100 * share)} %",
            (max(share, 0.0), height),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
            color="#222222",
            fontweight="bold" if ours else "normal",
        )
    panel.axvline(0, color="#444444", linewidth=1)
    panel.axvline(1, color="#888888", linewidth=1, linestyle=":")
    panel.set_xlim(LOWEST, HIGHEST)
    panel.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    panel.set_xlabel("gap closed, α = .65, .75, .9")
    panel.grid(axis="x", color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(-0.6, len(names) - 0.4)
