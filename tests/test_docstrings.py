"""Every public name says what it does, describes its parameters, and shows an example."""

import importlib
import inspect
import pkgutil
import re
import runpy
from pathlib import Path

import unmet
from unmet.errors import MissingPackage

DOCS = Path(__file__).parents[1] / "docs"
LISTED = re.findall(
    r"^   ~([\w.]+)$", (DOCS / "reference/api.md").read_text(encoding="utf-8"), re.MULTILINE
)
is_documented = runpy.run_path(str(DOCS / "conf.py"))["is_documented"]

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
NO_SUMMARY = re.compile(r"(What|How|Which|Where|When|Why|Who|As|Of|By|In)\b")
NO_VERB = re.compile(
    r"(Whether|The|A|An|Its?|Their|This|These|Each|Every|All|(Mean|Share|Sum|Number) of|Largest)\b"
    r"|\w+ing\b|(Gives|Returns|Makes|Finds|Reads|Writes|Computes|Shows|Takes)\b"
)


def public_objects():
    """Objects that the API reference lists, by their full names."""
    found = {}
    for full_name in LISTED:
        module, _, name = full_name.rpartition(".")
        try:
            found[full_name] = getattr(importlib.import_module(module), name)
        except MissingPackage:  # an adapter, whose package need not be installed
            continue
    return found


def documented(found):
    """Classes, functions and their documented methods, by full name."""
    for full_name, each in found.items():
        if not inspect.isclass(each) and not inspect.isroutine(each):  # a constant
            continue
        yield full_name, each
        if inspect.isclass(each):
            for name in dir(each):
                member = inspect.getattr_static(each, name)
                if is_documented(name, member):
                    yield f"{full_name}.{name}", member


def sections(text):
    """Summary, and the other parts of a docstring by the titles of numpydoc."""
    first, *others = SECTION.split(text)
    titled = dict(zip(others[::2], others[1::2], strict=True))
    return first.partition("\n\n")[0], titled


def described(part):
    """Names that a section describes in at least one word."""
    entries = re.findall(r"^(\S.*)\n((?:(?:    .*)?\n)*)", part.strip() + "\n", re.MULTILINE)
    return {
        name.strip(" *")
        for head, text in entries
        if text.strip()
        for name in head.partition(" : ")[0].split(",")
    }


def parameters(member):
    """Names of the parameters of a class, a function or a method."""
    if isinstance(member, property) or hasattr(member, "func"):
        return []
    if inspect.isclass(member) and (
        issubclass(member, Exception) or "_is_protocol" in vars(member)
    ):
        return []
    if isinstance(member, classmethod | staticmethod):
        member = member.__func__
    names = inspect.signature(member).parameters
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


def missing(full_name, member):
    """What the docstring of one object lacks, as sentences."""
    doc = inspect.getdoc(member)
    if not doc or doc.startswith(f"{full_name.rpartition('.')[2]}("):  # made by a dataclass
        yield "has no docstring"
        return
    summary, parts = sections(doc)
    if NO_SUMMARY.match(summary) or not summary.endswith((".", ":")):
        yield f"summary is no sentence or noun phrase: {summary!r}"
    if inspect.isroutine(member) and NO_VERB.match(summary):
        yield f"summary does not begin with an imperative: {summary!r}"
    known = described(parts.get("Parameters", ""))
    if inspect.isclass(member):
        known |= described(parts.get("Attributes", ""))
    undescribed = [name for name in parameters(member) if name not in known]
    if undescribed:
        yield f"does not describe {', '.join(undescribed)}"
    is_method = full_name not in LISTED
    if not is_method and ">>>" not in parts.get("Examples", ""):
        yield "has no example"


def test_docstrings_are_complete():
    found = [
        f"{full_name} {each}"
        for full_name, member in documented(public_objects())
        for each in missing(full_name, member)
    ]
    assert not found, f"{len(found)} gaps:\n" + "\n".join(found)


def test_the_reference_lists_every_public_name():
    listed = list(public_objects().values())
    for each in pkgutil.walk_packages(unmet.__path__, "unmet."):
        if not each.ispkg:
            continue
        package = importlib.import_module(each.name)
        for name in getattr(package, "__all__", []):
            try:
                there = getattr(package, name)
            except MissingPackage:
                continue
            assert any(there is other for other in listed), f"{each.name}.{name}"
