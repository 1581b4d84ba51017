"""The figures: those of the paper, and what it lacks; images need vl-convert (``unmet[paper]``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.console import Console

from paper.protocol import (
    ESTIMATING,
    IGNORING,
    INSENSITIVE,
    PAPER_FAMILIES,
    USUAL,
    Family,
    Results,
    published_hyperparameters,
)
from paper.published import BAND_BOX, SAVINGS, band
from paper.tables import caption, show
from unmet.charts import (
    Chart,
    Part,
    at,
    axis,
    between,
    curve,
    label,
    lines,
    panels,
    side_by_side,
)
from unmet.errors import MissingPackage, wanted

LEVEL_AXIS = "α = underage / (underage + overage)"

#: Colour, dashes and marker of each kind of method; they differ also without colour.
ROLES: dict[str, Any] = {
    "EAS": ("grey", (2, 2), "square"),
    "IEO": ("vermilion", (1, 0), "circle"),
    "ε": ("blue", (6, 3), "triangle-up"),
    "exact": ("sky", (6, 2, 2, 2), "triangle-down"),
    "latent": ("purple", (1, 0), "cross"),
    "flags": ("orange", (8, 3, 2, 3), "diamond"),
    "truth": ("green", (10, 2), "triangle-right"),
    "Q*": ("ink", (4, 4), "stroke"),
}


@dataclass(frozen=True)
class PaperFigure:
    """What the paper calls a figure.

    Attributes
    ----------
    label : str
        The paper's, where it has this figure; also the name of the files. Title and notes stand in
        ``captions.md``.
    alt : str
        What it shows, in words and numbers.
    draw : callable
        Returns a `Chart`.
    words : mapping
        What title and notes want to know.
    """

    label: str
    alt: str
    draw: Callable[[], Any]
    words: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What it shows."""
        return caption(f"fig-{self.label}", **self.words)[0]

    @property
    def notes(self) -> list[str]:
        """Sentences below it."""
        return caption(f"fig-{self.label}", **self.words)[1:]

    def write(self, folder: Path) -> list[Path]:
        """Write label.svg and label.png, each whole or not at all."""
        return write_plot(folder / self.label, self.draw)


def write_plot(stem: Path, draw: Callable[..., Chart], *content: Any) -> list[Path]:
    """Draw and write stem.svg and stem.png, or say that they are left out without vl-convert."""
    try:
        import vl_convert  # noqa: F401
    except ModuleNotFoundError as error:
        Console(stderr=True, soft_wrap=True).print(
            f"unmet: the figure was left out, because {error.name} is not installed; "
            f"pip install {wanted('vl-convert-python', 'images')} adds it.",
            markup=False,
            highlight=False,
        )
        return []
    drawn = draw(*content)
    return [drawn.save(stem.with_name(f"{stem.name}{suffix}")) for suffix in (".svg", ".png")]


# --- Lines over α, one panel per family of models, on the same scale.

#: Name, role, values at each level, and their ranges over the data sets (empty: no shade).
Line = tuple[str, str, Sequence[float | None], Sequence[tuple[float, float]]]
_NAMES: dict[Family, str] = {
    "LR": "Linear models (LR)",
    "NN": "Networks (NN)",
    "Boosted": "Boosted trees",
}

_EPSILONS = (("x", "ε₁"), ("y", "ε₂"))

#: The figure of shares goes down to here at most; the table has what is worse.
_LOWEST_SHARE = -0.5


def line_parts(levels: Sequence[float], line: Line) -> list[Part]:
    """Give one line with its name, and its range over the data sets."""
    name, role, values, ranges = line
    parts = [curve(name, ROLES[role], levels, values)]
    if ranges and len(levels) > 1:
        parts.insert(0, between(name, ROLES[role], levels, *zip(*ranges, strict=True)))
    return parts


def _by_family(
    results: Results,
    label: str,
    lines: Mapping[Family, Sequence[Line]],
    ylabel: str,
    *,
    shares: bool = False,
) -> PaperFigure:
    """Draw costs or distances from zero up, or shares of the gap between IEO and Q*."""

    def draw() -> Chart:
        levels = results.levels
        parts = {
            _NAMES[family]: [part for line in each for part in line_parts(levels, line)]
            for family, each in lines.items()
        }
        upward = axis(ylabel, zero=True)
        if shares:
            for each in parts.values():
                each += [at("", ROLES["IEO"], y=0.0), at("", ROLES["Q*"], y=1.0)]
            values = [v for each in lines.values() for line in each for v in line[2]]
            found = [value for value in values if value is not None]
            lowest = max(min([0.0, *found]), _LOWEST_SHARE) - 0.03
            ends = (lowest, max([1.0, *found]) + 0.03)
            upward = axis(ylabel, form=".0%", domain=ends)
        across = axis(LEVEL_AXIS, ticks={level: f"{level:.2f}" for level in levels})
        return panels(parts, x=across, y=upward, height=280)

    form = ".0%" if shares else ".2f"
    words = " ".join(f"{_NAMES[f]}: {_ends(results, each, form)}" for f, each in lines.items())
    return PaperFigure(label, f"By α. {words}", draw)


def _ends(results: Results, lines: Sequence[Line], form: str) -> str:
    """Say in words where each line begins and ends."""
    parts = []
    for name, _, values, _ in lines:
        pairs = zip(results.levels, values, strict=True)
        shown = [f"{show(v, form)} at {a:g}" for a, v in pairs if v is not None]
        if shown:
            parts.append(f"{name} {' to '.join(dict.fromkeys((shown[0], shown[-1])))}")
    return "; ".join(parts) + "."


def _line(results: Results, name: str, role: str, measure: str = "cost") -> Line:
    each = [results.values(name, level, measure) for level in results.levels]
    ranges = [(min(values), max(values)) for values in each]
    return name, role, results.means(name, measure), ranges


def _three(results: Results, family: Family, measure: str) -> list[Line]:
    """EAS, IEO and the ε-insensitive method, with their range over the data sets."""
    roles = {"EAS": ESTIMATING, "IEO": IGNORING, "ε": INSENSITIVE}
    return [_line(results, of[family], role, measure) for role, of in roles.items()]


def _told(family: Family) -> dict[str, str]:
    """Names and roles of the family's methods that are told something or estimate it."""
    chosen = {INSENSITIVE[family]: "ε"} if family in INSENSITIVE else {}
    if family == "LR":
        chosen["LR-εNVC exact"] = "exact"
    return chosen | {f"{family} {role}": role for role in ("latent", "flags", "truth")}


def _savings(results: Results) -> PaperFigure:
    """Draw savings over IEO, with what the text quotes of the published figure."""
    lines_: list[Line] = []
    roles: dict[Family, str] = {"LR": "ε", "NN": "IEO"}
    for family, role in roles.items():
        pair = INSENSITIVE[family], IGNORING[family]
        each = [results.savings(*pair, level) for level in results.levels]
        name = f"LR, ours, {USUAL.name}" if family == "LR" else f"{family}, ours"
        ranges = [(min(values), max(values)) for values in each]
        lines_.append((name, role, results.mean_savings(family), ranges))
    other = next(each for each in results.readings if each.key == "exchanged")
    lines_.append(
        (f"LR, ours, {other.name}", "exact", results.read_as(other).mean_savings("LR"), ())
    )

    def draw() -> Chart:
        parts = [part for line in lines_ for part in line_parts(results.levels, line)]
        for family, role in roles.items():
            quoted, colour = SAVINGS[family], ROLES[role][0]
            words = f"{family}, paper, lowest {quoted.lowest:.2%}"
            parts.append(at(words, (colour, (2, 2), "stroke"), y=quoted.lowest))
            words = f"{family}, paper, highest {quoted.highest:.2%}"
            parts.append(curve(words, (colour, None, "diamond"), [quoted.peak], [quoted.highest]))
        return lines(parts, x=LEVEL_AXIS, y=axis("saving", form=".0%"), height=320)

    printed = "; ".join(
        f"{family} {each.lowest:.2%} to {each.highest:.2%}, highest at {each.peak:g}"
        for family, each in SAVINGS.items()
    )
    alt = f"Savings by α: {_ends(results, lines_, '.1%')} Published: {printed}."
    return PaperFigure("percentage", alt, draw)


# --- Where the search for ε ends, and the network that is trained.


def _search_ends(results: Results) -> PaperFigure:
    """Draw the whole box, and its corner."""
    marks: list[Part] = []
    for family, role in (("LR", "ε"), ("NN", "IEO")):
        colour, _, shape = ROLES[role]
        printed = [band(family, level)[::-1] for level in results.levels]
        rows = [row for row in results.searches if (row.step, row.model) == (2, family)]
        found = [(row.best["high"], row.best["low"]) for row in rows]
        # published ones are diamonds: those of this run can be seen inside them
        for who, pairs, kind in (("published", printed, "diamond"), ("ours", found, shape)):
            if pairs:
                name = f"{family} {who} ({len(pairs)})"
                marks.append(curve(name, (colour, None, kind), *zip(*pairs, strict=True)))
    highs, lows = zip(*((row["x"], row["y"]) for *_, rows in marks for row in rows), strict=True)
    high, low = BAND_BOX["high"][1], BAND_BOX["low"][1]

    def draw() -> Chart:
        grey: Any = ("grey", (1, 0), "stroke")
        box = [
            at("", grey, high),
            at("", grey, y=low),
            between("ε₂ > ε₁: no band", ("grey", None, "square"), [0, low], [0, low], [low, low]),
        ]
        one, two = "ε₁, share of the range of sales", "ε₂, share of the range of sales"
        right = (min(0.9 * high, min(highs) - 0.004), 1.005 * high)
        bottom = (-0.0005, max(0.1 * low, max(lows) + 0.003))
        near: dict[str, Any] = {"x": axis(one, domain=right), "y": axis(two, domain=bottom)}
        return side_by_side(
            lines([*box, *marks], title="the whole box", x=one, y=axis(two, zero=True)),
            lines([*box, *marks], title="the corner, enlarged", **near),
        )

    alt = (
        f"The search box, ε₁ from 0 to {high:g} and ε₂ from 0 to {low:g}, and its corner enlarged; "
        f"results: ε₁ from {min(highs):.4f} to {max(highs):.4f}, ε₂ from {min(lows):.4f} to "
        f"{max(lows):.4f}."
    )
    return PaperFigure("epsilonSearch", alt, draw)


def _network(results: Results) -> PaperFigure:
    """Draw the network of §CustNN with the widths of Table searchingSpace."""
    used = published_hyperparameters()["NN"]
    n_features = len(results.settings.distribution.feature_names)
    widths = [n_features, int(used["units1"]), int(used["units2"]), 1]
    heads = ("features x", f"{widths[1]} sigmoids", f"{widths[2]} sigmoids", "order ŷ, linear")

    def draw() -> Chart:
        layers = []
        for x, width in enumerate(widths):
            # the first three nodes, the last, and the bias
            nodes = [str(k) for k in range(1, width + 1)] if width > 1 else ["ŷ"]
            nodes = [*nodes[:3], "⋮", nodes[-1]] if width > 5 else nodes
            nodes += ["+1"] if width > 1 else []
            layers.append([(x, 1 - (k + 0.5) / len(nodes), word) for k, word in enumerate(nodes)])
        parts = [label(x, 1.05, head) for x, head in enumerate(heads)]
        thin: Any = ("grey", (1, 0), "stroke")
        for one, other in pairwise(layers):
            for x, y, word in one:
                for to_x, to_y, aim in other:
                    if word != "⋮" and aim not in ("⋮", "+1"):
                        parts.append(curve("", thin, [x, to_x], [y, to_y]))
        parts += [label(x, y, word) for layer in layers for x, y, word in layer]
        across, upward = axis(domain=(-0.5, 3.5), hidden=True), axis(domain=(0, 1.1), hidden=True)
        return lines(parts, x=across, y=upward, height=320)

    alt = (
        f"A network with {widths[0]} features, hidden layers of {widths[1]} and {widths[2]} "
        "sigmoid units with a bias each, and one linear output, the order."
    )
    return PaperFigure("SimpleNN", alt, draw)


# --- All figures, in the order of the paper.


def all_figures(results: Results) -> dict[str, PaperFigure]:
    """Describe every figure, by label; each is drawn when it is written."""
    # without vl-convert one sentence, before anything is written
    MissingPackage.or_load("python -m paper reproduce", "vl_convert", "paper")
    best: Line = ("Q*", "Q*", [results.optimum_cost(a) for a in results.levels], ())
    gaps: dict[Family, list[Line]] = {}
    shares: dict[Family, list[Line]] = {}
    for family in _NAMES:
        told = {IGNORING[family]: "IEO", **_told(family)}
        gaps[family] = [(n, role, results.means(n), ()) for n, role in told.items()] + [best]
        shares[family] = [
            (n, role, results.shares_closed(n), ()) for n, role in _told(family).items()
        ]
    costs = {f: [*_three(results, f, "cost"), best] for f in PAPER_FAMILIES}
    away = {f: _three(results, f, "rmse_to_optimum") for f in PAPER_FAMILIES}
    figures = (
        _network(results),
        _by_family(results, "testNVcost", costs, "mean cost per product and day"),
        _savings(results),
        _by_family(results, "testRMSEQ", away, "RMSE to Q* (units)"),
        _by_family(results, "gap", gaps, "mean cost per product and day"),
        _by_family(results, "gapClosed", shares, "share closed", shares=True),
        _search_ends(results),
    )
    return {figure.label: figure for figure in figures}
