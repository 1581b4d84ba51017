"""What the data cannot tell, and how the report was made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from unmet.bands.picture_text import SURE
from unmet.planning.results import ReportContent
from unmet.report.markup import Html, element, joined
from unmet.report.words import Words

__all__ = ["made", "unknown"]


_MEANS = {
    "yes": "Everything that is not ruled out leads to much the same decisions.",
    "weakly": "The decisions follow the explanation that hides least of all that are possible: if "
    "they err, then to the old side. Look at the range.",
    "no": "The data fit a world in which nothing is hidden as well, so little or nothing was "
    "changed. That is no proof that nothing is hidden.",
}


def unknown(content: ReportContent, words: Words) -> Html:
    """How far the data can be trusted, what was noted, and what would tell more."""
    diagnosis = content.diagnosis
    parts: list[Html] = []
    if diagnosis is None or diagnosis.identified is None:
        parts.append(
            element("p", f"Whether {words.observations} hide {words.truth} was not judged.")
        )
    else:
        sentence = f"Identified: {diagnosis.identified}; {SURE[diagnosis.identified]}"
        parts.append(element("p", element("strong", sentence), " ", _MEANS[diagnosis.identified]))
    if diagnosis is not None and diagnosis.notes:
        parts.append(_listed(diagnosis.notes))
    if diagnosis is None or diagnosis.identified != "yes":
        parts.append(element("h3", "What would help"))
        parts.append(_listed(words.helps))
    return joined(parts)


def made(content: ReportContent) -> Html:
    """Tell what went in, what was done to it, the command, and the versions."""
    inputs = dict(content.inputs)
    if content.level is not None and not any("level" in name.lower() for name in inputs):
        inputs["Level α"] = f"{content.level:.4g}"
    versions = ", ".join(f"{name} {version}" for name, version in content.versions.items())
    command = element("pre", element("code", content.command), tabindex="0")
    parts = [
        ("What went in", inputs and _named(inputs)),
        ("What was done to the table", content.notes and _listed(content.notes)),
        ("To make it again", content.command and command),
        ("Versions", versions and element("p", versions)),
    ]
    shown = [joined([element("h3", heading), Html(body)]) for heading, body in parts if body]
    return joined(shown) if shown else element("p", "Nothing was noted down.")


def _named(values: Mapping[str, str]) -> Html:
    pairs = (
        element("div", element("dt", name), element("dd", value)) for name, value in values.items()
    )
    return element("dl", *pairs, class_="named")


def _listed(sentences: Iterable[str]) -> Html:
    return element("ul", *(element("li", sentence) for sentence in sentences))
