"""ARCHITECTURE.md beside the tree: the list of rooms names every package, and none in vain."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_list_of_rooms_names_every_package_and_none_in_vain():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = text.partition("src/unmet/\n")[2].partition("\ntests/ ")[0]
    listed = {name for line in rooms.splitlines() for name in re.findall(r"(\w+)/(?=  |$)", line)}
    there = {path.parent.name for path in (ROOT / "src" / "unmet").glob("*/__init__.py")}
    assert listed == there
