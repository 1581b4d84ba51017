"""HTML in which text cannot become markup: elements, lists, tables that can be searched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

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


def key_figure(name: str, value: str, *more: str, kind: str | None = None) -> Html:
    """Make a card with a number that matters; for an element ``dl`` of the class ``cards``."""
    below = several("dd", filter(None, more), class_="quiet")
    shown = element("dd", value, class_="value")
    return element("div", element("dt", name), shown, below, class_=kind)


def page_head(title: str, answer: Iterable[str], cards: Sequence[Html]) -> Html:
    """Make the head of a page: what it is, the answer, and numbers that matter."""
    return element(
        "header",
        element("h1", title),
        several("p", answer, class_="answer"),
        element("dl", *cards, class_="cards") if cards else "",
    )


def table(
    caption: str,
    columns: Sequence[tuple[str, Sequence[str], bool]],
    *,
    id_: str | None = None,
    foot: Sequence[str] = (),
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
        Scripts let a table with a name be sorted, and searched where it has several rows.
    foot : sequence of str
        Last row, which stays where it is; empty where there is none.

    Returns
    -------
    Html
    """
    sides = []
    for _, cells, right in columns:
        # dates and names are not broken into lines, sentences are
        short = (
            max((len(cell) for cell in cells if not isinstance(cell, Html)), default=0) <= _SHORT
        )
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
        _foot(foot, sides) if foot else "",
        id=id_,
    )
    # a box that scrolls must be reachable with the keyboard
    box = element("div", whole, class_="scroll", role="region", aria_label=caption, tabindex="0")
    return joined([_search(id_), box]) if id_ is not None and len(rows) > 1 else box


def _foot(cells: Sequence[str], sides: Sequence[str | None]) -> Html:
    first = element("th", cells[0], scope="row", class_=sides[0])
    others = [
        element("td", cell, class_=side) for cell, side in zip(cells[1:], sides[1:], strict=True)
    ]
    return element("tfoot", element("tr", first, *others))


def _search(name: str) -> Html:
    """Make a field that searches a table; scripts show it, for without them it does nothing."""
    box = element("input", type="search", id=f"search-{name}", autocomplete="off")
    found = element("span", role="status", id=f"found-{name}")
    return element("p", element("label", "Search ", box), " ", found, class_="search", hidden=True)


def folded(summary: str, *body: Html, open_: bool = False, **attributes: str | bool | None) -> Html:
    """Keep at hand what few will look at, one click away."""
    return element("details", element("summary", summary), *body, open=open_, **attributes)
