"""Time against the number of rows, both axes logarithmic, one line per solver."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from cases import CASES
from peers import FLOOR, PEERS, US

if TYPE_CHECKING:
    from report import Run

# packages with several methods share a colour
COLOURS = {
    FLOOR: "#888888",
    US: "#d1342f",
    "paper's": "#e8a0bf",
    "scipy": "#1f77b4",
    "scikit-learn": "#17becf",
    "cvxpy": "#9467bd",
    "statsmodels": "#8c564b",
    "pyfixest": "#2ca02c",
    "ReHLine": "#bcbd22",
    "R": "#ff7f0e",
}
MARKS = "osD^v"


def draw(run: Run, folder: Path) -> None:
    figure, panels = plt.subplots(1, 2, figsize=(13, 6.5), sharey=True, layout="constrained")
    for panel, banded in zip(panels, (False, True), strict=True):
        ends = [end for name in PEERS if (end := line(run, panel, name, banded))]
        panel.set(xscale="log", yscale="log", xlabel="rows")
        label(panel, ends)
        panel.set_title("with a band" if banded else "without a band", loc="left")
        panel.grid(which="major", color="#dddddd", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
        panel.margins(x=0.03)
    panels[0].set_ylabel("seconds, one thread")
    figure.suptitle("Dense features, 50 columns (20 at ten million rows); ▲ stopped at the limit")
    figure.savefig(folder / "linear.svg", metadata={"Date": None})
    plt.close(figure)


def style(name: str) -> dict:
    family = next(start for start in COLOURS if name.startswith(start))
    siblings = [peer for peer in PEERS if peer.startswith(family)]
    heavy = name in (US, FLOOR)
    return {
        "color": COLOURS[family],
        "marker": MARKS[siblings.index(name) % len(MARKS)],
        "linewidth": 2.6 if heavy else 1.2,
        "markersize": 6 if heavy else 4,
        "zorder": 3 if heavy else 2,
    }


def line(run: Run, panel: plt.Axes, name: str, banded: bool) -> tuple | None:
    """Draw one solver; its last point, for the label."""
    cases = [c for c in CASES.values() if c.kind == "dense" and c.banded == banded]
    points, stopped = [], None
    for case in sorted(cases, key=lambda case: case.rows):
        if record := run.finished(case.name, name):
            points.append((case.rows, min(record["seconds"])))
        elif (record := run.record(case.name, name)) and record["failed"] == "limit":
            stopped = stopped or (case.rows, record["limit"])
    look = style(name)
    if points:
        panel.plot(*zip(*points, strict=True), **look)
    if stopped:
        path = points[-1:] + [stopped]
        panel.plot(*zip(*path, strict=True), color=look["color"], linestyle=":", linewidth=1)
        panel.plot(*stopped, marker="^", color=look["color"], markersize=8)
    last = stopped or (points[-1] if points else None)
    return (*last, name, look["color"]) if last else None


def label(panel: plt.Axes, ends: list[tuple]) -> None:
    """Write the names beside the ends of their lines, moved apart where they would overlap."""
    below: dict[float, float] = {}
    for rows, seconds, name, colour in sorted(ends, key=lambda end: end[1]):
        height = below[rows] = max(seconds, below.get(rows, 0.0) * 1.45)
        panel.annotate(
            name,
            (rows, height),
            xytext=(8, 0),
            textcoords="offset points",
            color=colour,
            fontsize=8,
            va="center",
            weight="bold" if name in (US, FLOOR) else "normal",
            annotation_clip=False,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.9},
            zorder=5,  # a line that crosses a name must not strike it out
        )
    panel.set_ylim(top=max([panel.get_ylim()[1], *(1.5 * height for height in below.values())]))
