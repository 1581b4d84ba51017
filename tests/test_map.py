"""ARCHITECTURE.md beside the tree: every file is on the map, and the map names no file in vain."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOUSE = ROOT / "src" / "unmet"
HEADING = re.compile(r"^##+ .*?`((?:unmet/)?[\w/]+/)`")
FILE = re.compile(r"`([\w/]+\.py)`")


def on_the_map():
    """Paths below src/unmet; a name stands below the room of the last heading that names one."""
    found, room = set(), None
    for line in (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = HEADING.match(line)
            ground = line.startswith("## Ground floor")
            if heading:
                room = heading[1].removeprefix("unmet/")
            elif ground or line.startswith("## "):
                room = "" if ground else None  # a heading of other matters ends a room
        elif room is not None:
            found.update(room + name for name in FILE.findall(line))
    return found


def in_the_tree():
    files = (path.relative_to(HOUSE).as_posix() for path in HOUSE.rglob("*.py"))
    return {path for path in files if not path.endswith("__init__.py")}


def test_every_file_is_on_the_map():
    assert sorted(in_the_tree() - on_the_map()) == []


def test_the_map_names_no_file_in_vain():
    assert sorted(on_the_map() - in_the_tree()) == []
