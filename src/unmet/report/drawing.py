"""Charts as SVG that fits any width, drawn from what `unmet.censoring.plots` describes.

Lines are stretched to the room there is, while labels stand beside them as HTML and keep their
size: one drawing serves a wide screen, a phone and paper. Colours are names that the style sheet
(`charts.css`) gives a meaning, so that light and dark need no second drawing. Lines differ by
dashes and markers, areas by hatching, so that nothing hangs on a colour. Scripts add numbers under
the mouse and a legend that hides lines; without them nothing is missing but that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from math import ceil, floor, isfinite, log10

from unmet.censoring.plots import Chart, Line, Role
from unmet.censoring.text import fixed, number
from unmet.report.html import Html, element, joined

HEIGHT = 260
"""Pixels of a panel."""
_SIZE = 1000  # units of a drawing, both ways; stretched to the room there is
_MAX_MARKERS = 45  # of a line: more would hide it
_DIGITS = 4
_TICKS = 5
_RATE_TICKS = 8

# Styles are classes of charts.css: that of the line, and that of its markers; "" has none.
_STYLES: dict[Role, tuple[str, str]] = {
    "truth": ("truth", ""),
    "fitted": ("fitted", ""),
    "seen": ("", "seen"),
    "sold out": ("", "soldout"),
    "decision": ("truth thin", "truth"),
    "likelihood": ("fitted", ""),
    "cost": ("cost", "cost square"),
    "order": ("order", "order square"),
}


def style_sheet() -> str:
    """Colours and places of everything that is drawn here."""
    return (files("unmet.report") / "charts.css").read_text(encoding="utf-8")


def figure(
    *charts: Chart,
    name: str,
    finding: str,
    how: str = "",
    numbers: str = "",
    height: int = HEIGHT,
) -> Html:
    """Draw charts below each other that share their axis across, with a legend and a caption.

    Parameters
    ----------
    *charts : Chart
    name : str
        Tells this figure from others of the page.
    finding : str
        What the plot shows, in a sentence: its caption, and what those are told who do not see
        it.
    how : str
        How to read it, for those who see it.
    numbers : str
        Numbers, for those who do not.
    height : int
        Pixels of a panel.

    Returns
    -------
    Html
    """
    said = element("strong", finding)
    caption = element("figcaption", said, " " if how else "", how)
    drawn = plots(*charts, alt=f"{finding} {numbers}".strip(), height=height)
    return element("figure", drawn, caption, class_="chart", id=f"chart-{name}")


def plots(*charts: Chart, alt: str, height: int = HEIGHT) -> Html:
    """Draw charts below each other, and one legend; `alt` is for those who do not see them."""
    panels = []
    for chart in charts:
        heading = chart.upward.replace("\n", " ")
        panels += [element("p", heading, class_="upward"), _panel(chart, height)]
    across = element("p", charts[-1].across.replace("\n", " "), class_="across")
    image = element("div", *panels, across, role="img", aria_label=alt)
    return joined([image, _legend(charts)])


# --- One panel: axes, marks, lines.


@dataclass(frozen=True)
class _Axis:
    """Where numbers stand between the ends of an axis, and what is written beside it."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    scale: Callable[[float], float]

    def place(self, value: float) -> float:
        """Share of the way from the low to the high end."""
        low, high = self.scale(self.low), self.scale(self.high)
        return (self.scale(value) - low) / (high - low)

    def units(self, value: float) -> int:
        return round(_SIZE * self.place(value))


def _panel(chart: Chart, height: int) -> Html:
    across, upward = _across(chart), _upward(chart)
    shapes: list[Html] = []
    if chart.within is not None:
        low, high = (across.units(end) for end in chart.within[0])
        low, high = max(low, 0), min(high, _SIZE)
        width = str(max(high - low, 1))
        shapes.append(element("rect", class_="within", x=str(low), width=width, height=str(_SIZE)))
    for value, _ in upward.ticks:
        shapes.append(_path("grid", f"M0 {_SIZE - upward.units(value)}H{_SIZE}"))
    if chart.area is not None:
        shapes.append(_area(*chart.area, across, upward))
    if chart.shaded:
        shapes += _hidden(chart, across, upward)
    for kind, mark in (("share", chart.share), ("assumed", chart.assumed)):
        if mark is not None:
            shapes.append(_path(f"mark {kind}", f"M{across.units(mark[0])} 0V{_SIZE}"))
    before: list[str] = []
    for place, line in enumerate(chart.lines):
        shapes.append(_line(line, across, upward, place, before))
        before = told_places(line)
    drawn = element(
        "svg",
        *shapes,
        viewBox=f"0 0 {_SIZE} {_SIZE}",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
    labels = [
        element("span", text, class_="y", style=f"bottom:{100 * upward.place(value):.2f}%")
        for value, text in upward.ticks
    ]
    labels += [
        element("span", text, class_="x", style=f"left:{100 * across.place(value):.2f}%")
        for value, text in across.ticks
    ]
    left = max((len(text) for _, text in upward.ticks), default=1) + 1
    plot = element("div", drawn, *labels, class_="plot")
    return element("div", plot, class_="panel", style=f"height:{height}px;padding-left:{left}ch")


def _across(chart: Chart) -> _Axis:
    if chart.ticks:
        places = [place for line in chart.lines for place in line.x]
        low, high = min(places), max(places)
        edge = 0.015 * (high - low) or 0.5
        ticks = [(place, text) for place, text in chart.ticks.items()]
        return _Axis(low - edge, high + edge, ticks, float)
    low, high = chart.ends
    rates = [rate for rate in round_numbers(low, high, _RATE_TICKS) if rate >= 0]
    decimals = 0 if high - low > 0.06 else 1
    ticks = [(rate, f"{100 * rate:.{decimals}f}%") for rate in rates]
    return _Axis(low, high, ticks, float)


def _upward(chart: Chart) -> _Axis:
    if chart.shares:
        return _Axis(-0.03, 1.06, [(0.0, "0%"), (0.5, "50%"), (1.0, "100%")], float)
    lines = (*chart.lines, *(chart.area or ()))
    values = [value for line in lines for value in line.y if isfinite(value)]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if chart.logarithmic:
        edge = (high / low) ** 0.04
        ticks = [(value, f"{value:,.10g}") for value in _powers(low / edge, high * edge)]
        return _Axis(low / edge, high * edge, ticks, log10)
    edge = 0.06 * (high - low) or 0.05 * abs(high) or 0.5
    low, high = low - edge, high + edge
    if chart.from_zero:
        low = min([0.0, *values])
    marked = round_numbers(low, high, _TICKS)
    step = marked[1] - marked[0] if len(marked) > 1 else abs(high - low)
    decimals = max(-floor(log10(step) + 1e-9), 0)
    return _Axis(low, high, [(value, fixed(value, decimals)) for value in marked], float)


def round_numbers(low: float, high: float, most: int) -> list[float]:
    """At most so many round numbers between two ends, the same distance apart.

    Examples
    --------
    >>> round_numbers(0.0, 97.0, 5)
    [0.0, 20.0, 40.0, 60.0, 80.0]
    """
    least = (high - low) / most
    unit = 10.0 ** floor(log10(least))
    step = next(size * unit for size in (1, 2, 5, 10) if size * unit >= least * (1 - 1e-9))
    marks = (step * place for place in range(ceil(low / step), floor(high / step) + 1))
    return [min(max(mark, low), high) for mark in marks]  # rounding may lead just outside


def _powers(low: float, high: float) -> list[float]:
    """Give 1, 2, 5, 10, … between two ends; only powers of ten where that would be many."""
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    sizes = (1, 2, 5) if len(decades) <= 4 else (1,)
    found = [size * 10.0**decade for decade in decades for size in sizes]
    return [value for value in found if low <= value <= high]


def _path(kind: str, way: str, **more: str) -> Html:
    return element("path", class_=kind or None, d=way, **more)


def _line(line: Line, across: _Axis, upward: _Axis, place: int, before: Sequence[str]) -> Html:
    """One line with its markers, and the numbers that scripts show under the mouse.

    Places that are those of the line `before` are not told again: many charts make a large file.
    """
    style, marker = _STYLES[line.role]
    middle = [0.5 * (one + two) for one, two in pairwise(line.x)] if line.stepped else line.x
    points = [
        (across.units(x), _SIZE - upward.units(y)) if isfinite(y) else None
        for x, y in zip(middle, line.y, strict=True)
    ]
    dots = "".join(f"M{point[0]} {point[1]}h.1" for point in points if point is not None)
    told = {
        "data_label": line.label,
        "data_y": "|".join(number(y, _DIGITS) for y in line.y if isfinite(y)),
    }
    names = told_places(line)
    if names != before:
        told["data_x"] = "|".join(names)
    parts = []
    if line.stepped:  # scripts look for numbers in the middle of the steps
        parts = [_path(f"line {style}", _steps(line, across, upward)), _path("", dots, **told)]
    elif style:
        parts = [_path(f"line {style}", _joined_up(points), **told)]
        if marker and len(points) <= _MAX_MARKERS:
            parts.append(_path(f"dots {marker}", dots))
    else:
        parts = [_path(f"dots {marker}", dots, **told)]
        if marker == "seen":  # a ring: paper inside of ink
            parts.append(_path("dots inside", dots))
    return element("g", *parts, data_line=str(place))


def told_places(line: Line) -> list[str]:
    """Name the places of a line that have a number, for its reader."""
    if line.places:
        names = list(line.places)
    elif line.stepped:
        names = [f"{number(one)} to {number(two)}" for one, two in pairwise(line.x)]
    else:
        names = [f"{100 * x:.0f}%" for x in line.x]
    return [name for name, y in zip(names, line.y, strict=True) if isfinite(y)]


def _joined_up(points: Sequence[tuple[int, int] | None]) -> str:
    """Straight pieces from point to point, with gaps where there is none."""
    way, pen = [], "M"
    for point in points:
        if point is None:
            pen = "M"
            continue
        way.append(f"{pen}{point[0]} {point[1]}")
        pen = "L"
    return "".join(way)


def _steps(line: Line, across: _Axis, upward: _Axis) -> str:
    floor_ = _SIZE - upward.units(max(upward.low, 0.0))
    way = f"M{across.units(line.x[0])} {floor_}"
    for end, height in zip(line.x[1:], line.y, strict=True):
        way += f"V{_SIZE - upward.units(height)}H{across.units(end)}"
    return f"{way}V{floor_}"


def _hidden(chart: Chart, across: _Axis, upward: _Axis) -> list[Html]:
    """Shade the area between what can be seen and the truth, and hatch it."""
    truth, fitted = chart.lines[:2]
    above = [max(pair) for pair in zip(truth.y, fitted.y, strict=True)]
    edge = [(across.units(x), _SIZE - upward.units(y)) for x, y in zip(truth.x, above, strict=True)]
    back = [
        (across.units(x), _SIZE - upward.units(y)) for x, y in zip(fitted.x, fitted.y, strict=True)
    ]
    way = _joined_up([*edge, *reversed(back)]) + "Z"
    stripe = _path("stripe", "M0 30L12 0")
    pattern = element(
        "pattern", stripe, id="hatch", width="12", height="30", patternUnits="userSpaceOnUse"
    )
    return [
        element("defs", pattern),
        _path("hidden", way),
        _path("hatched", way, fill="url(#hatch)"),
    ]


def _area(low: Line, high: Line, across: _Axis, upward: _Axis) -> Html:
    """Fill what lies between two lines."""
    edge = [
        (across.units(x), _SIZE - upward.units(y))
        for x, y in [
            *zip(low.x, low.y, strict=True),
            *reversed(list(zip(high.x, high.y, strict=True))),
        ]
    ]
    return _path("within", _joined_up(edge) + "Z")


def _legend(charts: Sequence[Chart]) -> Html:
    """One entry for each line and mark; a click hides a line."""
    entries: dict[str, Html] = {}
    for panel, chart in enumerate(charts):
        if len(charts[0].lines) == len(charts) == 1 and chart.share is None:
            break  # a single line is named by its axis
        for place, line in enumerate(chart.lines):
            style, marker = _STYLES[line.role]
            parts = []
            if style:
                parts.append(_path(f"line {style}", "M0 7H28"))
            if marker and not line.stepped:
                parts.append(_path(f"dots {marker}", "M14 7h.1"))
                if marker == "seen":
                    parts.append(_path("dots inside", "M14 7h.1"))
            entries[line.label] = _entry(line.label, parts, data_line=f"{panel}-{place}")
        if chart.area is not None:
            label = chart.area[0].label
            entries[label] = _entry(label, [_path("within", "M0 0H28V14H0Z")])
    first = charts[0]
    if first.shaded:
        entries["hidden"] = _entry("hidden", [_path("hidden", "M0 0H28V14H0Z")])
    for kind, mark in (("share", first.share), ("assumed", first.assumed)):
        if mark is not None:
            entries[mark[1]] = _entry(mark[1], [_path(f"mark {kind}", "M14 0V14")])
    if first.within is not None:
        entries[first.within[1]] = _entry(first.within[1], [_path("within", "M0 0H28V14H0Z")])
    return element("ul", *entries.values(), class_="legend") if entries else Html()


def _entry(label: str, parts: Sequence[Html], **more: str) -> Html:
    sample = element("svg", *parts, width="28", height="14", aria_hidden="true")
    return element("li", sample, " ", label, **more)


# --- Bars, each on a line of its own below its name: beside it they would not fit on a phone.


@dataclass(frozen=True)
class Bar:
    """One bar.

    Attributes
    ----------
    name, value : str
        Stand above it.
    size : float
    parts : sequence of (float, str)
        Sizes of parts of it, marked by diamonds, and what each is.
    ours : bool
        Whether it stands out.
    """

    name: str
    value: str
    size: float
    parts: Sequence[tuple[float, str]] = ()
    ours: bool = False


def bars(
    shown: Sequence[Bar], *, name: str, finding: str, how: str = "", numbers: str = "", part: str
) -> Html:
    """Draw bars from 0, or from the least of them where it is below; `part` names the diamonds."""
    sizes = [0.0, *(size for each in shown for size in (each.size, *(s for s, _ in each.parts)))]
    finite = [size for size in sizes if isfinite(size)]
    axis = _Axis(min(finite), (max(finite) - min(finite) or 1.0) * 1.03 + min(finite), (), float)
    rows = []
    for place, each in enumerate(shown):
        start, end = sorted((axis.units(0.0), axis.units(each.size)))
        width = str(max(end - start, 2))
        kind = "ours" if each.ours else "other"
        shapes = [element("rect", class_=kind, x=str(start), width=width, height="1000")]
        if not each.ours:
            shapes.append(
                _path("slashes", "".join(f"M{at} 1000l18-1000" for at in range(start, end, 18)))
            )
        marked = [(axis.units(size), text, size) for size, text in each.parts if isfinite(size)]
        if marked:
            dots = "".join(f"M{at} 500h.1" for at, _, _ in marked)
            told = "|".join(number(size, _DIGITS) for _, _, size in marked)
            names = "|".join(text for _, text, _ in marked)
            shapes += [
                _path("dots part", dots, data_label=each.name, data_y=told, data_x=names),
                _path("dots part inside", dots),
            ]
        drawn = element(
            "svg",
            element("g", *shapes, data_line=str(place)),
            viewBox=f"0 0 {_SIZE} {_SIZE}",
            preserveAspectRatio="none",
            aria_hidden="true",
        )
        rows += [
            element("p", each.name, " ", element("strong", each.value), class_="bar-name"),
            element("div", element("div", drawn, class_="plot"), class_="bar"),
        ]
    image = element("div", *rows, role="img", aria_label=f"{finding} {numbers}".strip())
    legend = ""
    if any(each.parts for each in shown):
        dot = [_path("dots part", "M14 7h.1"), _path("dots part inside", "M14 7h.1")]
        legend = element("ul", _entry(part, dot), class_="legend")
    caption = element("figcaption", element("strong", finding), " " if how else "", how)
    return element("figure", image, legend, caption, class_="chart", id=f"chart-{name}")
