"""HTML in which text cannot become markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["Html", "capital", "element", "folded", "joined", "paragraphs", "table"]

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
