"""What each figure shows, in words: for those who do not see it, and as a caption."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from unmet.bands import Diagnosis
from unmet.bands.diagnosis import QuantilePicture, Sensitivity
from unmet.bands.pictures import hides
from unmet.bands.text import interval, number, percent
from unmet.planning.telling import Comparison, MethodCost
from unmet.report.figures import by_time, saving_words
from unmet.report.words import Words

if TYPE_CHECKING:
    from plotly.graph_objects import Figure
    from polars import DataFrame


# --- HTML in which text cannot become markup.

_VOID = {"input", "meta"}
_SHORT = 20


class Html(str):
    """Text that is markup already; any other text is escaped."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | bool | None) -> Html:
    """Make an element; children that are no `Html` are escaped, and so are all attributes.

    Parameters
    ----------
    name : str
    *children : str
    **attributes : str, bool or None
        ``class_`` is ``class``, other underscores are hyphens. False and None are left out, True
        stands without a value.

    Returns
    -------
    Html

    Examples
    --------
    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    written = ""
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        written += " " + key.rstrip("_").replace("_", "-")
        if value is not True:
            written += f'="{escape(value, quote=True)}"'
    start = f"<{name}{written}>"
    return Html(start if name in _VOID else f"{start}{joined(children)}</{name}>")


def joined(parts: Iterable[str]) -> Html:
    """Put parts one after the other, escaped unless they are markup."""
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def paragraphs(sentences: Iterable[str], **attributes: str | bool | None) -> Html:
    """One paragraph a sentence."""
    return joined(element("p", sentence, **attributes) for sentence in sentences)


def table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numeric: Sequence[bool],
    id_: str | None = None,
) -> Html:
    """Make a table that scrolls inside its own box.

    Parameters
    ----------
    caption : str
        Also names the box for those who do not see it.
    header : sequence of str
    rows : iterable of sequence of str
        The first cell of a row is its heading.
    numeric : sequence of bool
        Columns whose cells stand on the right.
    id_ : str, optional

    Returns
    -------
    Html
    """
    cells = [list(row) for row in rows]
    side = [
        "number" if right else _short([row[at] for row in cells])
        for at, right in enumerate(numeric)
    ]
    heads = [
        element("th", name, scope="col", class_=where)
        for name, where in zip(header, side, strict=True)
    ]
    body = [
        element(
            "tr",
            element("th", row[0], scope="row", class_=side[0]),
            *(
                element("td", cell, class_=where)
                for cell, where in zip(row[1:], side[1:], strict=True)
            ),
        )
        for row in cells
    ]
    whole = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *heads)),
        element("tbody", Html("\n".join(body))),
        id=id_,
    )
    # a box that scrolls must be reachable with the keyboard
    return element("div", whole, class_="scroll", role="region", aria_label=caption, tabindex="0")


def _short(cells: Sequence[str]) -> str | None:
    """Class of a column of words: dates and names are not broken into lines, sentences are."""
    return "short" if max(map(len, cells), default=0) <= _SHORT else None


def capital(text: str) -> str:
    """Begin a sentence."""
    return text[:1].upper() + text[1:]


def folded(summary: str, *body: Html) -> Html:
    """Keep numbers at hand that few will look at."""
    return element("details", element("summary", summary), *body)


# --- What each figure shows, in words: for those who do not see it, and as a caption.


def quantiles_finding(picture: QuantilePicture, words: Words) -> str:
    """Whether observations bend away from the truth, and how far at the end."""
    if not hides(picture):
        return (
            f"{capital(words.observations)} follow the straight line of {words.truth}: nothing "
            "bends away, so nothing is hidden in the chosen explanation."
        )
    level, truth, seen = picture.levels[-1], picture.latent[-1], picture.modelled[-1]
    return (
        f"{capital(words.observations)} bend away below the straight line of {words.truth}. In a "
        f"typical row {percent(level)} of {words.observations} lie below {number(seen)}, but "
        f"{words.truth} would reach {number(truth)}; the shaded part between is what nobody saw."
    )


def sensitivity_finding(diagnosis: Diagnosis, curve: Sensitivity, words: Words) -> str:
    """How far the decision moves with the rate, and which rates fit."""
    first, last = curve.decision[0], curve.decision[-1]
    moves = "rises" if last > first else "moves"
    start = (
        f"The mean {words.decision} {moves} from {number(first, 4)} to {number(last, 4)} as the "
        f"assumed {words.rate} goes from {percent(curve.rate[0])} to {percent(curve.rate[-1])}."
    )
    share, ends = diagnosis.share_censored, diagnosis.interval
    if share is None:
        return start
    if diagnosis.share_is_seen:
        return f"{start} A rate of {percent(share)} was counted in the data."
    if ends is None:
        return f"{start} The chosen explanation has {percent(share)}."
    within = "" if diagnosis.chosen is None else f" within the {diagnosis.chosen.truth} family"
    return f"{start} Rates of {interval(ends)} fit the data{within} (95% interval)."


def cost_finding(curve: Sensitivity, words: Words) -> str:
    """Say what assuming nothing, and the most, costs more than the best rate."""
    best = min(curve.cost)
    at = curve.rate[curve.cost.index(best)]
    low, high = (percent(max(end / best - 1, 0.0)) for end in (curve.cost[0], curve.cost[-1]))
    return (
        f"If the chosen explanation is true, {words.decisions} cost least, {number(best)} per row, "
        f"at an assumed {words.rate} of {percent(at)}. Assuming {percent(curve.rate[0])} would "
        f"cost {low} more, assuming {percent(curve.rate[-1])} {high} more."
    )


def comparison_finding(comparison: Comparison, words: Words) -> str:
    """Who is cheapest, and by how much."""
    cheapest = min(comparison.methods, key=lambda each: each.cost)
    on = {
        "truth": f"on {words.truth} itself",
        "estimate": f"on {words.truth} as estimated",
        "observation": f"on {words.observations} only",
    }[comparison.basis]
    if all(number(each.cost) == number(cheapest.cost) for each in comparison.methods):
        return f"Priced {on}, {_all(len(comparison.methods))} {number(cheapest.cost)} per row."
    saves = saving_words(cheapest)
    more = f", {saves} than the one that ignores what is hidden" if saves.endswith("less") else ""
    return f"Priced {on}, “{cheapest.label}” costs least{more}."


def comparison_numbers(comparison: Comparison) -> str:
    """Name the cost of every method."""
    costs = "; ".join(_cost(each) for each in comparison.methods)
    return f"Mean cost per row: {costs}."


def decisions_finding(decisions: DataFrame, words: Words) -> str:
    """Say what is drawn, and how much the band adds."""
    times = by_time(decisions, words)
    if times is None:
        start = f"How many rows have which {words.decision}."
    else:
        how = "added up" if words.added_up else "averaged"
        mean = f", mean of each {times.period}" if times.period else ""
        start = f"{capital(words.decisions)} {how} by {times.column}{mean}."
    middle = float(decisions["decision"].mean() or 0.0)  # type: ignore[arg-type]
    start += f" The mean of a row is {number(middle, 4)}"
    if "ignoring" not in decisions.columns:
        return f"{start}."
    other = float(decisions["ignoring"].mean() or 0.0)  # type: ignore[arg-type]
    return f"{start}; {words.ignoring} it would be {number(other, 4)}."


def _all(count: int) -> str:
    return "the method costs" if count == 1 else f"all {count} methods cost the same,"


def _cost(method: MethodCost) -> str:
    words = saving_words(method)
    return f"{method.label} {number(method.cost)}" + (f" ({words})" if words else "")


# --- Places for charts, and what is drawn there.


@dataclass
class Charts:
    """Figures met while the page is written: light and dark by name."""

    drawn: dict[str, tuple[Figure, Figure]] = field(default_factory=dict)

    def place(
        self, name: str, draw: Callable[..., Figure], finding: str, how: str = "", numbers: str = ""
    ) -> Html:
        """Draw a figure, light and dark, and make the place where it will stand.

        Below it stands what was found and how to read it; those who do not see it are also told
        the numbers.
        """
        light, dark = draw(dark=False), draw(dark=True)
        self.drawn[name] = (light, dark)
        height = f"height:{int(light.layout.height)}px"
        chart = element("div", id=f"chart-{name}", class_="chart", style=height)
        image = element("div", chart, role="img", aria_label=f"{finding} {numbers}".strip())
        caption = element("figcaption", element("strong", finding), " " if how else "", how)
        return element("figure", image, caption)
