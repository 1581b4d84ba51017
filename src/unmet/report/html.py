"""HTML in which text cannot become markup: elements, lists, tables, and places for charts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_VOID = {"input", "meta"}
_SHORT = 20  # characters: columns of longer text are broken into lines


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


def several(name: str, texts: Iterable[str], **attributes: str | bool | None) -> Html:
    """Make the same element of each of several texts."""
    return joined(element(name, text, **attributes) for text in texts)


def pairs(kind: str, answers: Iterable[tuple[str, str]]) -> Html:
    """Names and what belongs to them; nothing where there are none."""
    made = [element("div", element("dt", name), element("dd", text)) for name, text in answers]
    return element("dl", *made, class_=kind) if made else Html()


def table(
    caption: str, columns: Sequence[tuple[str, Sequence[str], bool]], *, id_: str | None = None
) -> Html:
    """Make a table that scrolls inside its own box.

    Parameters
    ----------
    caption : str
        Also names the box for those who do not see it.
    columns : sequence of (str, sequence of str, bool)
        Heading, cells, and whether they stand on the right as numbers do. The first cell of a row
        is its heading.
    id_ : str, optional

    Returns
    -------
    Html
    """
    sides = []
    for _, cells, right in columns:
        # dates and names are not broken into lines, sentences are
        short = max(map(len, cells), default=0) <= _SHORT
        sides.append("number" if right else "short" if short else None)
    heads = [
        element("th", heading, scope="col", class_=side)
        for (heading, _, _), side in zip(columns, sides, strict=True)
    ]
    rows = []
    for first, *others in zip(*(cells for _, cells, _ in columns), strict=True):
        row = [element("th", first, scope="row", class_=sides[0])]
        for cell, side in zip(others, sides[1:], strict=True):
            row.append(element("td", cell, class_=side))
        rows.append(element("tr", *row))
    whole = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *heads)),
        element("tbody", Html("\n".join(rows))),
        id=id_,
    )
    # a box that scrolls must be reachable with the keyboard
    return element("div", whole, class_="scroll", role="region", aria_label=caption, tabindex="0")


class Charts:
    """Figures met while the page is written: light and dark by name."""

    def __init__(self) -> None:
        self.drawn: dict[str, tuple[Figure, Figure]] = {}

    def place(
        self,
        name: str,
        draw: Callable[..., Figure],
        finding: str,
        how: str = "",
        numbers: str = "",
    ) -> Html:
        """Draw a figure for both backgrounds, and make the place where it will stand.

        Below it stands what was found and how to read it; those who do not see it are also told
        the numbers.
        """
        self.drawn[name] = draw(dark=False), draw(dark=True)
        height = f"height:{int(self.drawn[name][0].layout.height)}px"
        chart = element("div", id=f"chart-{name}", class_="chart", style=height)
        image = element("div", chart, role="img", aria_label=f"{finding} {numbers}".strip())
        caption = element("figcaption", element("strong", finding), " " if how else "", how)
        return element("figure", image, caption)
