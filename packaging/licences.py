"""Licences of what unmet[all] installs, and of the data in the package, for LICENCES.md.

Run it where the extras of ``all`` are installed (`make licences`).
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "src" / "unmet" / "data"
PAGE = ROOT / "packaging" / "LICENCES.md"

# Licences whose terms reach changed copies of the package, or programs made with it.
COPYLEFT = re.compile(r"\b([AL]?GPL|MPL|EPL|EUPL|CDDL|CC-BY-SA|Mozilla|GNU)(v?\d|\b)", re.I)
GPL = re.compile(r"GNU\s+(Lesser\s+|Affero\s+)?General\s+Public\s+Licen[cs]e", re.I)
# The first words of licences that packages hand over as a text instead of a name.
OPENINGS = {
    "Permission is hereby granted, free of charge": "MIT",
    "Redistribution and use in source and binary forms": "BSD",
    "Apache License": "Apache-2.0",
    "Mozilla Public License": "MPL-2.0",
    "GNU LESSER GENERAL PUBLIC LICENSE": "LGPL",
    "GNU GENERAL PUBLIC LICENSE": "GPL",
}
VAGUE = {"OSI Approved", "Other/Proprietary License"}
NOT_STATED = "not stated"


def installed(name: str, extra: str = "") -> dict[str, metadata.Distribution]:
    """Everything that ``name[extra]`` requires here, by its canonical name, without itself."""
    found: dict[str, metadata.Distribution] = {}
    seen: set[tuple[str, str]] = set()
    queue = [(canonicalize_name(name), extra)]
    while queue:
        name, extra = queue.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        found[name] = metadata.distribution(name)
        for line in found[name].requires or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                queue += [(canonicalize_name(needed.name), e) for e in ("", *needed.extras)]
    return {key: found[key] for key in sorted(found) if key != "unmet"}


def licence(package: metadata.Distribution) -> str:
    """By its expression, else its short name, else its classifiers, else the text of its file."""
    told = package.metadata
    if expression := told.get("License-Expression"):
        return str(expression)
    name = (told.get("License") or "").strip()
    classifiers = [
        entry.rsplit(" :: ", 1)[-1]
        for entry in told.get_all("Classifier") or ()
        if entry.startswith("License ::")
    ]
    classifiers = [entry for entry in classifiers if entry not in VAGUE]
    if 0 < len(name) <= 40 and "\n" not in name and not (name == "Dual License" and classifiers):
        return name
    if classifiers:
        return " OR ".join(classifiers)
    for text in (name, *texts(package)):
        for opening, short in OPENINGS.items():
            if opening.casefold() in " ".join(text.split()).casefold():
                return f"{short} (from its text)"
    return NOT_STATED


def texts(package: metadata.Distribution) -> list[str]:
    """Read the licence files that came with a package."""
    return [
        file.read_text(encoding="utf-8")
        for file in package.files or ()
        if re.search(r"licen[cs]e|copying", file.name, re.I)
        and file.suffix in ("", ".txt", ".md", ".rst")
    ]


def copyleft(package: metadata.Distribution) -> str:
    """Whether its own terms are copyleft, or those of a library that its files may hold."""
    if COPYLEFT.search(licence(package)):
        return "yes"
    return "named in its file" if any(map(GPL.search, texts(package))) else ""


def bundled() -> dict[str, str]:
    """Find the licence of every data file in the package, as LICENSE.*.txt beside it says."""
    found = {}
    for file in sorted(DATA.glob("LICENSE.*.txt")):
        opening, _, terms = file.read_text(encoding="utf-8").partition(":\n")
        for name in re.findall(r"[\w-]+\.(?:parquet|csv|json|feather|zip|gz)\b", opening):
            found[name] = f"{terms.strip().splitlines()[0]} (`{file.name}`)"
    return found


def without_licence() -> list[str]:
    """Name data files that no LICENSE.*.txt speaks of, and those it speaks of in vain."""
    there = {
        path.name
        for path in DATA.iterdir()
        if path.is_file() and path.suffix != ".py" and not path.name.startswith("LICENSE.")
    }
    return sorted(there ^ set(bundled()))


def page() -> str:
    """Make the tables."""
    core, everything = installed("unmet"), installed("unmet", "all")
    lines = [
        "# Licences",
        "",
        "Made by `make licences` from what the packages say of themselves, as installed on Linux",
        "with the newest versions of the lock. unmet itself: BSD-3-Clause (`LICENSE`).",
        "",
        "Copyleft: *yes* where the licence of a package asks that changed copies of it stay under",
        "that licence; *named in its file* where the package itself has other terms, but its",
        "licence file speaks of the GNU licences, mostly because its wheels carry libraries of a",
        "compiler (libgfortran, libgomp; with the GCC runtime exception), or because it compares",
        "its own terms with them.",
        "",
        "## Data in the package",
        "",
        "| file | licence |",
        "|---|---|",
        *(f"| `{name}` | {terms} |" for name, terms in bundled().items()),
    ]
    parts = {
        "The core": core,
        "Extras of `all`": {k: v for k, v in everything.items() if k not in core},
    }
    for title, packages in parts.items():
        if not packages:
            continue
        lines += ["", f"## {title}", "", "| package | licence | copyleft |", "|---|---|---|"]
        for name, package in packages.items():
            lines.append(f"| {name} | {licence(package)} | {copyleft(package)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page; an error where a licence is missing."""
    text = page()
    PAGE.write_text(text, encoding="utf-8")
    missing = without_licence() + [line for line in text.splitlines() if NOT_STATED in line]
    for entry in missing:
        print(f"No licence: {entry}", file=sys.stderr)
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
