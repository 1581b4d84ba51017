"""What stands in the files of the project: extras that exist, and no path of a machine."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

MACHINE = re.compile(
    rb"(?<![\w.~-])/(?:home|root|Users|work|mnt|private)/[\w.-]+|\b[A-Za-z]:[\\/]+Users[\\/]+\w+"
)
EXTRAS = re.compile(r"(?:\bunmet|['\" ]\.)\[([a-z, ]+)\]")
GONE = {"CHANGELOG.md": {"io", "excel"}}  # which tells of extras that are gone


@pytest.fixture(scope="module")
def tracked():
    """Files that git holds and that are here."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout of git")
    words = ["git", "-C", str(ROOT), "ls-files", "-z"]
    names = subprocess.run(words, capture_output=True, check=True).stdout.decode().split("\0")
    found = [ROOT / name for name in names if name and (ROOT / name).is_file()]
    assert len(found) > 500
    return found


def test_no_file_holds_a_path_of_a_machine(tracked):
    found = {
        path.relative_to(ROOT).as_posix(): sorted(set(MACHINE.findall(path.read_bytes())))
        for path in tracked
        if path != Path(__file__)
    }
    assert {name: paths for name, paths in found.items() if paths} == {}


def test_every_extra_that_is_named_exists(tracked):
    wrong, seen = [], set()
    for path in tracked:
        if path.suffix not in (".md", ".py", ".toml", ".yml", ".yaml", "") or path.is_symlink():
            continue
        name = path.relative_to(ROOT).as_posix()
        for found in EXTRAS.findall(path.read_text(encoding="utf-8")):
            extras = set(found.replace(" ", "").split(",")) - GONE.get(name, set())
            seen |= extras
            wrong += [(name, each) for each in extras - set(PROJECT["optional-dependencies"])]
    assert wrong == []
    assert {"boost", "tune", "app", "dev", "bench"} <= seen
    for message in ROOT.glob("src/**/*.py"):  # for_extra(user, package, extra) and or_load
        text = message.read_text(encoding="utf-8")
        for extra in re.findall(r'(?:for_extra|or_load)\([^()]*, "(\w+)"\)', text):
            assert extra in PROJECT["optional-dependencies"], (message, extra)
