"""Charts, drawn by Vega-Lite: the only module of the library that draws.

A chart is a Vega-Lite specification, which is plain data, so nothing is imported to make it. The
report and `Chart.save` write it with ``vega.min.js`` (Vega, Vega-Lite and Vega's interpreter, see
LICENSE.vega.txt) into one HTML file that needs no network. The page hands it to streamlit. The
extra vl-convert renders SVG and PNG. Lines differ by dashes and markers as well as by colour.

`lines` combines the parts of a chart (`curve`, `between`, `at`, `span`, `label`), and `panels` puts
charts side by side.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from hashlib import sha256
from html import escape
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

from unmet.errors import InvalidInput, MissingPackage
from unmet.files import write_content, write_text

# On light and on dark paper. Okabe and Ito's: told apart with any kind of colour vision.
COLOURS = {
    "ink": ("#1d2126", "#e8eaed"),
    "quiet": ("#59636e", "#aab2bd"),
    "grid": ("#dfe3e8", "#343b45"),
    "blue": ("#0072b2", "#56b4e9"),
    "vermilion": ("#d55e00", "#ff8a3d"),
    "green": ("#00805d", "#2cc79d"),
    "orange": ("#e69f00", "#f0b93a"),
    "sky": ("#56b4e8", "#7cc5f0"),
    "purple": ("#cc79a7", "#e6a3c8"),
    "grey": ("#8a929c", "#8b949f"),
}

Style: TypeAlias = tuple[str, Sequence[int] | None, str]
"""Name of a colour, dashes of the line (None: no line), shape of the markers ("stroke": none)."""

STYLES: dict[str, Style] = {
    "truth": ("blue", (1, 0), "stroke"),
    "fitted": ("vermilion", (6, 4), "stroke"),
    "seen": ("ink", None, "circle"),
    "sold out": ("vermilion", None, "triangle-up"),
    "decision": ("blue", (1, 0), "circle"),
    "cost": ("green", (2, 3), "square"),
    "order": ("green", (1, 0), "square"),
    "other": ("grey", (1, 0), "stroke"),
    "hidden": ("orange", None, "square"),
    "range": ("sky", None, "square"),
    "found": ("ink", (8, 3, 2, 3), "stroke"),
}
Part: TypeAlias = tuple[str, Style, str, list[dict[str, Any]]]
"""Name, style, kind ("curve", "between", "at", "span" or "label") and rows of data."""


def curve(
    name: str, style: str | Style, x: Iterable[Any], y: Iterable[Any], **more: Iterable[Any]
) -> Part:
    """Make a line or markers through points; `more` holds further columns, such as ``when``."""
    keys = ("x", "y", *more)
    rows = [dict(zip(keys, each, strict=True)) for each in zip(x, y, *more.values(), strict=True)]
    kept = [row | {"x": _place(row["x"])} for row in rows if _known(row["y"])]
    return name, _style(style), "curve", kept


def between(
    name: str, style: str | Style, x: Iterable[Any], low: Iterable[Any], high: Iterable[Any]
) -> Part:
    """Make an area between two curves."""
    rows = [{"x": _place(a), "y": b, "y2": c} for a, b, c in zip(x, low, high, strict=True)]
    return name, _style(style), "between", rows


def at(name: str, style: str | Style, x: Any = None, y: Any = None) -> Part:
    """Make a straight line across the chart, vertical at `x` or horizontal at `y`."""
    return name, _style(style), "at", [{"x": _place(x)} if y is None else {"y": y}]


def span(name: str, style: str | Style, low: Any, high: Any) -> Part:
    """Make a vertical strip across the chart, from `low` to `high` on the x axis."""
    return name, _style(style), "span", [{"x": _place(low), "x2": _place(high)}]


def label(x: Any, y: Any, text: str) -> Part:
    """Make a text inside the chart."""
    return "", ("ink", None, "stroke"), "label", [{"x": _place(x), "y": y, "text": text}]


def _style(style: str | Style) -> Style:
    return STYLES[style] if isinstance(style, str) else style


def _place(x: Any) -> Any:
    """Write dates so that browsers read them in their own time zone, and show the same day."""
    if isinstance(x, datetime):
        return x.isoformat(timespec="minutes")
    return f"{x.isoformat()}T00:00" if isinstance(x, date) else x


def _all_named(parts: Sequence[Part], place: str = "") -> list[Part]:
    """Give parts without a name one that the legend does not show."""
    return [(name or f" {place}{k}", *rest) for k, (name, *rest) in enumerate(parts)]  # type: ignore[misc]


def _known(value: Any) -> bool:
    return value is not None and isfinite(value)


class Chart:
    """Chart as a Vega-Lite specification, with a text for readers who do not see it.

    A notebook displays it. `lines`, `panels` and `bars` make charts.

    Parameters
    ----------
    spec : dict
        Specification. The chart is as wide as its container, unless the specification gives a
        width.
    alt : str
        Description of the chart in words.

    Examples
    --------
    >>> from unmet.charts import curve, lines
    >>> chart = lines([curve("sales", "seen", [1, 2, 3], [4, 6, 5])], alt="Sales of three days")
    >>> chart.alt
    'Sales of three days'
    """

    def __init__(self, spec: dict[str, Any], alt: str = "") -> None:
        self.spec, self.alt = spec, alt

    def on(self, *, dark: bool) -> dict[str, Any]:
        """Give the specification with colours for a light or a dark background.

        Parameters
        ----------
        dark : bool
            Whether the background is dark.
        """
        text = json.dumps(self.spec)
        for light, other in COLOURS.values() if dark else ():
            text = text.replace(light, other)
        found: dict[str, Any] = json.loads(text)
        return found

    def html(self) -> str:
        """Give an HTML page with this chart; it needs no network."""
        title = f"<title>{escape(self.alt or 'Chart')}</title>"
        return (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{policy(DRAW)}{title}'
            f"<style>body{{margin:0;font-family:sans-serif}}</style></head><body>"
            f'<div class="vega" role="img" aria-label="{escape(self.alt)}">{embedded(self.spec)}'
            f"</div><script>{script()}</script><script>{DRAW}</script></body></html>\n"
        )

    def _repr_html_(self) -> str:
        page = escape(self.html(), quote=True)
        return f'<iframe srcdoc="{page}" style="border:0;width:100%;height:32em"></iframe>'

    def save(self, path: str | Path, *, width: int = 560) -> Path:
        """Write the chart: .html or .json, or .svg, .png or .pdf with vl-convert.

        Parameters
        ----------
        path : path
            File to write; its ending determines the format.
        width : int
            Width of an image in pixels, if the chart has no width of its own.
        """
        path = Path(path)
        kind = path.suffix[1:]
        if kind == "html":
            return write_text(path, self.html())
        spec = {**self.spec, "background": "white"}
        if spec.get("width") == "container":
            spec["width"] = width
        if kind == "json":
            return write_text(path, json.dumps(spec, indent=1) + "\n")
        if kind not in ("svg", "png", "pdf"):
            raise InvalidInput(f"path must end in .html, .json, .svg, .png or .pdf, got {path}.")
        render = MissingPackage.or_load("An image of a chart", "vl_convert", "images")
        scale = {"scale": 2} if kind == "png" else {}
        made = getattr(render, f"vegalite_to_{kind}")(spec, vl_version="6.4", **scale)
        return write_content(path, made.encode() if isinstance(made, str) else made)


def axis(
    title: str = "",
    *,
    form: str = ",~f",
    domain: Sequence[Any] | None = None,
    ticks: Mapping[float, str] | None = None,
    n_ticks: int = 6,
    log: bool = False,
    zero: bool = False,
    hidden: bool = False,
) -> dict[str, Any]:
    """Describe an axis, for `lines`.

    Parameters
    ----------
    title : str
        Title of the axis.
    form : str
        Format of its numbers, in the notation of d3.
    domain : pair, optional
        Its ends; values outside are cut off.
    ticks : mapping of float to str, optional
        Its labels.
    n_ticks : int
        Approximate number of labels.
    log : bool
        Whether it is logarithmic.
    zero : bool
        Whether it begins at 0.
    hidden : bool
        Whether to leave it out.
    """
    shown: dict[str, Any] | None = {"format": form, "tickCount": n_ticks}
    if ticks:
        text = f"{json.dumps(list(ticks.values()))}[indexof({list(ticks)}, datum.value)]"
        shown = {"values": list(ticks), "labelExpr": text}
    scale: dict[str, Any] = {"zero": zero}
    if log:
        scale = {"type": "log", "nice": False, "zero": False}
    if domain is not None:
        scale |= {"domain": list(domain), "nice": False}
    return {"title": title or None, "axis": None if hidden else shown, "scale": scale}


def lines(
    parts: Sequence[Part],
    *,
    x: str | Mapping[str, Any] = "",
    y: str | Mapping[str, Any] = "",
    title: str = "",
    alt: str = "",
    height: int = 260,
    legend: Mapping[str, Style] | None = None,
) -> Chart:
    """Draw parts on common axes, the first at the back.

    Parameters
    ----------
    parts : sequence of Part
        Parts from `curve`, `between`, `at`, `span` and `label`. A part with a name has an entry in
        the legend.
    x, y : str or mapping
        Titles of the axes, or the result of `axis`.
    title : str
        Title of the chart.
    alt : str
        Description of the chart in words.
    height : int
        Height in pixels.
    legend : mapping of str to Style, optional
        Entries of the legend, if there are more than parts.

    Returns
    -------
    Chart
        The chart.

    Examples
    --------
    >>> from unmet.charts import curve, lines
    >>> sales = curve("sales", "seen", [1, 2, 3], [4, 6, 5])
    >>> lines([sales], x="day", y="units").spec["height"]
    260
    """
    parts = _all_named(parts)
    values = [row | {"s": name} for name, _, _, rows in parts for row in rows]
    across = dict(axis(x) if isinstance(x, str) else x)
    upward = {"field": "y", "type": "quantitative", **(axis(y) if isinstance(y, str) else y)}
    clip = "domain" in across["scale"] or "domain" in upward["scale"]
    places = [row["x"] for row in values if "x" in row]
    shown: dict[str, Any] = {"field": "x", "title": across["title"] or "x"}
    if any("when" in row for row in values):
        shown |= {"field": "when", "type": "nominal"}
    elif places and isinstance(places[0], str):
        shown |= {"type": "temporal", "title": "date", "format": "%a %d %b %Y"}
    else:
        shown |= {"type": "quantitative", "format": (across["axis"] or {}).get("format", "")}
    if places and isinstance(places[0], str):
        first, last = min(places), max(places)
        years = " to ".join(dict.fromkeys((first[:4], last[:4])))
        across |= {"type": "temporal", "title": across["title"] or years, "scale": {"padding": 6}}
        across["axis"] = {"tickCount": across["axis"]["tickCount"], "labelOverlap": True}
        if (datetime.fromisoformat(last) - datetime.fromisoformat(first)).days < 10:
            across["axis"] |= {"tickCount": {"interval": "day", "step": 1}, "format": "%d %b"}
    else:
        across["scale"] = {"nice": False, "padding": 8, **across["scale"]}
        across["type"] = "quantitative"
    across["field"] = "x"
    named = dict(legend or {name: style for name, style, _, _ in parts})
    listed = [name for name in named if not name.startswith(" ")]
    key = {"title": None, "values": listed} if len(listed) > 1 else None

    def scaled(value: Callable[[Style], Any]) -> dict[str, Any]:
        scale = {"domain": list(named), "range": [value(style) for style in named.values()]}
        return {"field": "s", "type": "nominal", "scale": scale, "legend": key}

    colour = {"color": scaled(lambda style: COLOURS[style[0]][0])}
    line = {**colour, "strokeDash": scaled(lambda style: list(style[1] or (1, 0)))}
    point = {**colour, "shape": scaled(lambda style: style[2])}
    both = {"x": across, "y": upward}
    layers: list[dict[str, Any]] = []

    def draw(kept: Iterable[Part], mark: dict[str, Any], **encoding: Any) -> None:
        names = list(dict.fromkeys(name for name, *_ in kept))
        if names:
            only = {"filter": {"field": "s", "oneOf": names}}
            made = {"transform": [only], "mark": mark | {"clip": clip}, "encoding": encoding}
            layers.append(made)

    kinds = ("span", "between", "at", "curve", "label")
    of = {kind: [part for part in parts if part[2] == kind] for kind in kinds}
    draw(of["span"], {"type": "rect", "opacity": 0.25}, x=across, x2={"field": "x2"}, **colour)
    draw(of["between"], {"type": "area", "opacity": 0.3}, **both, y2={"field": "y2"}, **colour)
    for way, channel in both.items():
        straight = [part for part in of["at"] if way in part[3][0]]
        draw(straight, {"type": "rule", "strokeWidth": 1.5}, **{way: channel}, **line)
    joined = [part for part in of["curve"] if part[1][1] is not None]
    draw(joined, {"type": "line", "strokeWidth": 2}, **both, **line)
    marked = [part for part in of["curve"] if part[1][2] != "stroke"]
    mark = {"type": "point", "size": 34, "opacity": 1, "strokeWidth": 1.3}
    draw(marked, mark, **both, **point)
    draw(of["label"], {"type": "text", "fontSize": 12}, **both, text={"field": "text"})
    hover = [{"field": "s", "title": " "}, shown]
    hover.append({"field": "y", "type": "quantitative", "format": ",.4~r", "title": "value"})
    draw(of["curve"], {"type": "point", "size": 160, "opacity": 0}, **both, tooltip=hover)
    spec = _framed(layers, height, rows=values)
    return Chart(spec | ({"title": title} if title else {}), alt)


def _framed(layers: list[dict[str, Any]], height: int, **datasets: Any) -> dict[str, Any]:
    """Give a specification that is as wide as what it stands in."""
    return {
        "width": "container",
        "height": height,
        "data": {"name": "rows"},
        "datasets": datasets,
        "layer": layers,
        "config": config(),
        "autosize": {"type": "fit-x", "contains": "padding"},
    }


def panels(
    parts: Mapping[str, Sequence[Part]], *, width: int = 260, shared: bool = True, **how: Any
) -> Chart:
    """Draw charts side by side, with one legend.

    Parameters
    ----------
    parts : mapping of str to sequence of Part
        Parts of each panel, by its title.
    width : int
        Width of a panel in pixels.
    shared : bool
        Whether the panels share the vertical axis.
    **how
        Options of `lines`, for all panels.

    Returns
    -------
    Chart
        The chart.

    Examples
    --------
    >>> from unmet.charts import curve, panels
    >>> sales = [curve("sales", "seen", [1, 2, 3], [4, 6, 5])]
    >>> chart = panels({"bread": sales, "rolls": sales}, alt="Sales of two items")
    >>> chart.alt
    'Sales of two items'
    """
    parts = {title: _all_named(each, title) for title, each in parts.items()}
    legend = {name: style for each in parts.values() for name, style, *_ in each}
    charts = [lines(each, title=title, legend=legend, **how) for title, each in parts.items()]
    return side_by_side(*charts, width=width, shared=shared)


def side_by_side(*charts: Chart, width: int = 300, shared: bool = False) -> Chart:
    """Put charts next to each other, with one legend; they may share the vertical axis."""
    scales = dict.fromkeys((*_KEYS, *(["y"] if shared else [])), "shared")
    return _together("hconcat", charts, width, {"resolve": {"scale": scales}}, charts[0].alt)


def stacked(charts: Sequence[Chart], *, title: str = "", width: int = 560) -> Chart:
    """Put charts below each other, each with its own axes and legend."""
    more: dict[str, Any] = {"resolve": {"scale": dict.fromkeys(_KEYS, "independent")}}
    return _together("vconcat", charts, width, more | {"title": title}, title)


_KEYS = ("color", "strokeDash", "shape")


def _together(
    how: str, charts: Sequence[Chart], width: int, more: dict[str, Any], alt: str
) -> Chart:
    specs, datasets = [], {}
    for place, chart in enumerate(charts):
        spec = {
            key: value for key, value in chart.spec.items() if key not in ("config", "autosize")
        }
        datasets[f"rows{place}"] = spec.pop("datasets")["rows"]
        specs.append(spec | {"width": width, "data": {"name": f"rows{place}"}})
    return Chart({how: specs, "datasets": datasets, "config": config()} | more, alt)


def bars(rows: Sequence[Mapping[str, Any]], *, x: str = "") -> Chart:
    """Draw horizontal bars from 0.

    Parameters
    ----------
    rows : sequence of mapping
        Bars, each with ``name``, ``value``, ``ours`` (whether the bar stands out) and ``parts``, a
        sequence of values that diamonds mark.
    x : str
        Title of the axis.

    Returns
    -------
    Chart
        The chart.

    Examples
    --------
    >>> from unmet.charts import bars
    >>> row = {"name": "this plan", "value": 12.5, "ours": True, "parts": (11.0, 14.0)}
    >>> bars([row], x="cost per row").spec["layer"][0]["encoding"]["x"]["title"]
    'cost per row'
    """
    order = [row["name"] for row in rows]
    wide: dict[str, Any] = {"field": "value", "type": "quantitative", "title": x or None}
    wide |= {"axis": {"format": ",~f", "tickCount": 6}}
    # names stand above the bars: beside them they would not fit on a phone
    down: dict[str, Any] = {"field": "name", "type": "nominal", "sort": order, "axis": None}
    kept = [{"name": r["name"], "value": r["value"], "ours": bool(r.get("ours"))} for r in rows]
    dots = [{"name": r["name"], "value": value} for r in rows for value in r.get("parts", ())]
    blue, grey, ink = (COLOURS[name][0] for name in ("blue", "grey", "ink"))
    colour = {"condition": {"test": "datum.ours", "value": blue}, "value": grey}
    shown = [{"field": "name", "title": " "}]
    shown.append({"field": "value", "type": "quantitative", "format": ",.4~r"})
    encoding = {"x": wide, "y": down, "tooltip": shown}
    name = {"type": "text", "align": "left", "dy": -17, "fontSize": 12, "color": ink}
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "bar", "height": 16}, "encoding": encoding | {"color": colour}},
        {
            "mark": name | {"limit": {"expr": "width"}},
            "encoding": {"y": down, "x": {"value": 0}, "text": {"field": "name"}},
        },
    ]
    if dots:
        mark = {"type": "point", "shape": "diamond", "color": ink, "size": 40}
        layers.append({"data": {"name": "dots"}, "mark": mark, "encoding": encoding})
    return Chart(_framed(layers, 46 * len(rows), rows=kept, dots=dots))


def config() -> dict[str, Any]:
    """Give the style that all charts share: quiet axes, the legend below."""
    ink, quiet, grid = (COLOURS[name][0] for name in ("ink", "quiet", "grid"))
    axis = {"gridColor": grid, "domainColor": quiet, "tickColor": quiet, "labelColor": ink}
    return {
        "font": "system-ui, Segoe UI, Roboto, Helvetica Neue, Arial, DejaVu Sans, sans-serif",
        "background": None,
        "view": {"stroke": None},
        "axis": axis
        | {"titleColor": ink, "labelFontSize": 12, "titleFontSize": 12}
        | {"titleFontWeight": "normal", "labelSeparation": 4},
        "axisX": {"grid": False},
        "title": {"anchor": "start", "color": ink, "fontSize": 13},
        "legend": {
            "orient": "bottom",
            "columns": 2,
            "labelLimit": 0,
            "labelColor": ink,
            "labelFontSize": 12,
            "symbolOpacity": 1,
            "symbolSize": 110,
            "symbolStrokeWidth": 2,
        },
    }


def packed(parts: Sequence[Part]) -> dict[str, Any]:
    """Write parts over dates in few characters; ``draw.js`` unpacks them.

    Each part is its days since the first one, or only the first of them where no day is missing,
    and its values.
    """
    rows = [row for *_, each in parts for row in each]
    first = min(row["x"] for row in rows)[:10] if rows else "2000-01-01"
    zero = date.fromisoformat(first).toordinal()
    found = {}
    for name, _, _, each in parts:
        moments = [datetime.fromisoformat(row["x"]) for row in each]
        days: Any = [m.toordinal() - zero + (60 * m.hour + m.minute) / 1440 for m in moments]
        days = [int(day) if day == int(day) else round(day, 5) for day in days]
        if days and days == [days[0] + place for place in range(len(days))]:
            days = days[0]
        columns = [
            [_short(row[key]) for row in each] for key in ("y", "y2") if each and key in each[0]
        ]
        if columns:
            found[name] = [days, *columns]
    return {"from": first, "parts": found}


def _short(value: float) -> float:
    rounded = float(f"{value:.4g}")
    return int(rounded) if rounded == int(rounded) else rounded


# --- In a page: the library, the charts as data, and a policy that allows these scripts alone.


def script() -> str:
    """Give Vega, Vega-Lite and Vega's interpreter, which needs no ``eval``."""
    return (files("unmet") / "vega.min.js").read_text(encoding="utf-8")


def embedded(content: Any, name: str = "") -> str:
    """Write data for the scripts of a page, so that nothing in it can become markup."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    safe = text.replace("<", "\\u003c")
    named = f' id="{name}"' if name else ""
    return f'<script type="application/json"{named}>{safe}</script>'


def policy(*scripts: str) -> str:
    """Make a content security policy: the charts' script, these scripts, and no requests."""
    sums = (b64encode(sha256(each.encode()).digest()).decode() for each in (script(), *scripts))
    allowed = " ".join(f"'sha256-{each}'" for each in sums)
    text = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{text}">'


DRAW = (files("unmet") / "draw.js").read_text(encoding="utf-8")
"""Draws all charts of a page when they are first seen."""
