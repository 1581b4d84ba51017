"""The whole page: one file that needs nothing else."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from unmet.errors import MissingPackage
from unmet.planning.results import ReportContent
from unmet.report.charts import Charts
from unmet.report.markup import Html, capital, element
from unmet.report.section_answer import answer
from unmet.report.section_evidence import decisions, hidden, rate
from unmet.report.section_method import made, unknown
from unmet.report.section_money import costs, stake
from unmet.report.words import Words, words_for

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["render"]


def render(content: ReportContent) -> str:
    """Lay out a report as one HTML page.

    Everything is inside: the page opens without a network and asks for nothing, which its own
    content security policy enforces. The same content gives the same text, byte for byte.

    Parameters
    ----------
    content : ReportContent

    Returns
    -------
    str
        About five million characters, nearly all of them plotly's script.

    Examples
    --------
    >>> from unmet.planning.results import ReportContent
    >>> from unmet.report import render
    >>> page = render(ReportContent("Orders of next week", "newsvendor", ("Order 12.",)))
    >>> page.count("<h2"), "<title>Orders of next week</title>" in page
    (7, True)
    """
    words, charts = words_for(content.problem), Charts()
    sections = _sections(content, words, charts)
    scripts = [_plotly(), _asset("report.js")]
    main = element("main", answer(content, words), _contents(sections), _joined(sections))
    without = element(
        "noscript",
        element(
            "p", "The charts need JavaScript; their numbers are in the tables.", class_="basis"
        ),
    )
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(scripts)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", content.title),
        element("style", Html(_asset("report.css"))),
    ]
    data = [_data(name, *figures) for name, figures in charts.drawn.items()]
    run = [element("script", Html(script)) for script in scripts]
    body = element("body", without, main, *data, *run)
    return f"<!DOCTYPE html>\n{element('html', element('head', *head), body, lang='en')}\n"


def _sections(content: ReportContent, words: Words, charts: Charts) -> dict[str, tuple[str, Html]]:
    """Heading and body of each section, in the order in which a planner asks."""
    return {
        "decisions-section": (capital(words.decisions), decisions(content, words, charts)),
        "hidden": ("What is hidden", hidden(content, words, charts)),
        "rate": (f"Sensitivity to the {words.rate}", rate(content, words, charts)),
        "costs": ("Costs against the alternatives", costs(content, words, charts)),
        "stake": ("The money at stake", stake(content, words, charts)),
        "unknown": ("What the data cannot tell", unknown(content, words)),
        "made": ("How this was made", made(content)),
    }


def _contents(sections: dict[str, tuple[str, Html]]) -> Html:
    links = (
        element("li", element("a", heading, href=f"#{name}"))
        for name, (heading, _) in sections.items()
    )
    return element("nav", element("ul", *links), aria_label="Sections")


def _joined(sections: dict[str, tuple[str, Html]]) -> Html:
    made = (
        element(
            "section",
            element("h2", heading, id=f"{name}-heading"),
            body,
            id=name,
            aria_labelledby=f"{name}-heading",
        )
        for name, (heading, body) in sections.items()
    )
    return Html("\n".join(made))


def _data(name: str, light: Figure, dark: Figure) -> Html:
    """Both figures as JSON in which nothing can end the element that holds it."""
    both = f'{{"light":{light.to_json()},"dark":{dark.to_json()}}}'.replace("<", "\\u003c")
    return element("script", Html(both), type="application/json", id=f"chart-{name}-data")


def _policy(scripts: list[str]) -> str:
    """Allow the scripts of this page alone, and no request whatsoever."""
    known = " ".join(
        f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    return (
        f"default-src 'none'; script-src {known}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return (files("unmet.report") / name).read_text(encoding="utf-8")


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise MissingPackage.for_extra("the report", "plotly", "report") from None
    script = str(get_plotlyjs())
    # a browser reads line ends as \n, and so must the checksum
    return script.replace("\r\n", "\n").replace("\r", "\n")
