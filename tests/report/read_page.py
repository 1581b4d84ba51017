"""A page read back: its elements with attributes and text, as a browser would see them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

VOID = {"meta", "input"}


@dataclass
class Element:
    name: str
    attributes: dict[str, str | None]
    children: list[Element] = field(default_factory=list)
    own: list[str] = field(default_factory=list)

    def all(self, name: str | None = None):
        for child in self.children:
            if name in (None, child.name):
                yield child
            yield from child.all(name)

    def one(self, name: str, **attributes):
        found = [
            each
            for each in self.all(name)
            if all(each.attributes.get(key) == value for key, value in attributes.items())
        ]
        assert len(found) == 1, (name, attributes, len(found))
        return found[0]

    @property
    def text(self) -> str:
        return "".join(each if isinstance(each, str) else each.text for each in self.own)


class Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = Element("document", {})
        self.open = [self.root]

    def handle_starttag(self, name, attributes):
        made = Element(name, dict(attributes))
        self.open[-1].children.append(made)
        self.open[-1].own.append(made)
        if name not in VOID:
            self.open.append(made)

    def handle_startendtag(self, name, attributes):
        raise AssertionError(f"{name} closes itself")

    def handle_endtag(self, name):
        assert self.open[-1].name == name, f"{name} closes {self.open[-1].name}"
        self.open.pop()

    def handle_data(self, data):
        if self.open[-1].name != "script" or "type" not in self.open[-1].attributes:
            self.open[-1].own.append(data)
        else:  # no text for readers
            self.open[-1].attributes["json"] = data


def read(page: str) -> Element:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert len(reader.open) == 1
    return reader.root


def drawn(figure: Element) -> list[dict]:
    """What the charts of a figure show: specifications, or the packed data of an item."""
    return [
        json.loads(each.attributes["json"])
        for each in figure.all("script")
        if "json" in each.attributes
    ]


def check_form(page, sections):
    """Sections in order, ids once, links that lead somewhere, rows of the same width."""
    assert [each.attributes["id"] for each in page.all("section")] == sections
    ids = [each.attributes["id"] for each in page.all() if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    assert {link.attributes["href"][1:] for link in page.all("a")} <= set(ids)
    for table in page.all("table"):
        wide = {len(list(row.all("th"))) + len(list(row.all("td"))) for row in table.all("tr")}
        assert len(wide) == 1
    levels = [int(each.name[1]) for each in page.all() if each.name in ("h1", "h2", "h3")]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def cards(page):
    """Key figures by name: value and what it means."""
    found = page.one("dl", **{"class": "cards"}).children
    return {card.one("dt").text: [line.text for line in card.all("dd")] for card in found}


def section(page, name):
    return page.one("section", id=name)
