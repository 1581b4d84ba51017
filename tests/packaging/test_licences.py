"""Every bundled file has a licence beside it, and every package a line on the page of licences."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
DATA = ROOT / "src" / "unmet" / "data"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_bundled_file_has_a_licence():
    """Each LICENSE.*.txt names its files before the first colon at the end of a line."""
    named = set()
    for file in DATA.glob("LICENSE.*.txt"):
        opening, _, terms = file.read_text(encoding="utf-8").partition(":\n")
        assert terms.strip(), file
        named.update(re.findall(r"[\w-]+\.(?:parquet|csv|json|feather|zip|gz)\b", opening))
    there = {path.name for path in DATA.iterdir() if path.is_file() and path.suffix != ".py"}
    assert named == {name for name in there if not name.startswith("LICENSE.")}
    assert named >= {"bakery.parquet", "yaz.parquet", "sae.csv", "tires.csv"}


def test_licence_files_are_shipped():
    shipped = {name for name in PROJECT["license-files"] if "/data/" in name}
    there = {f"src/unmet/data/{p.name}" for p in DATA.glob("LICENSE.*")}
    assert shipped == there


def test_the_page_lists_what_users_install():
    """Run `make licences` where this fails."""
    page = (ROOT / "packaging" / "LICENCES.md").read_text(encoding="utf-8")
    terms = dict(re.findall(r"^\| ([\w.-]+) +\| (.+?) +\|$", page, re.M))
    listed = {canonicalize_name(name): licence for name, licence in terms.items()}
    extras, queue = PROJECT["optional-dependencies"], ["all"]
    requirements = [Requirement(line) for line in PROJECT["dependencies"]]
    while queue:
        for needed in map(Requirement, extras[queue.pop()]):
            queue += needed.extras if needed.name == "unmet" else ()
            requirements += [] if needed.name == "unmet" else [needed]
    wanted = {canonicalize_name(needed.name) for needed in requirements}
    assert len(wanted) > len(PROJECT["dependencies"])
    assert sorted(wanted - set(listed)) == []
    assert {name for name, licence in listed.items() if licence == "UNKNOWN"} <= {"skops"}
