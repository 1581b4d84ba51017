"""The lock covers what CI installs, each file by its hash, and says of no index where it stands."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKS = ["ci-requirements.txt", "uv-requirements.txt"]


def read(name):
    return (ROOT / "packaging" / name).read_text(encoding="utf-8")


def entries(name):
    """Requirement and hashes, one by one."""
    text = re.sub(r"^\s*#.*$", "", read(name), flags=re.M).replace("\\\n", " ")
    for line in filter(None, map(str.strip, text.splitlines())):
        pinned, *hashes = line.split(" --hash=sha256:")
        yield Requirement(pinned), [each.strip() for each in hashes]


def required(*extras):
    """What the project names itself, for these extras."""
    found, queue = [Requirement(line) for line in PROJECT["dependencies"]], list(extras)
    while queue:
        for needed in map(Requirement, PROJECT["optional-dependencies"][queue.pop()]):
            if needed.name == "unmet":
                queue += needed.extras
            else:
                found.append(needed)
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_every_entry_is_one_version_with_hashes(name):
    found = list(entries(name))
    assert found
    for pinned, hashes in found:
        assert re.fullmatch(r"==[^,*]+", str(pinned.specifier)), pinned
        assert hashes
        assert all(re.fullmatch(r"[0-9a-f]{64}", each) for each in hashes), pinned


@pytest.mark.parametrize("name", LOCKS)
def test_no_address_stands_in_it(name):
    assert "//" not in read(name)
    assert not re.search(
        r"^\s*(-i|-f|--index-url|--extra-index-url|--find-links)", read(name), re.M
    )


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_it_has_what_is_required_in_the_range_that_is_allowed(python, platform):
    """Run `make lock` where this fails."""
    here = {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": platform,
    }
    pinned = {}
    for entry, _ in entries("ci-requirements.txt"):
        if entry.marker is None or entry.marker.evaluate(here):
            name = canonicalize_name(entry.name)
            assert name not in pinned
            pinned[name] = next(iter(entry.specifier)).version
    for needed in required("all", "dev", "docs"):
        name = canonicalize_name(needed.name)
        assert name in pinned, f"{name} is not in the lock"
        assert needed.specifier.contains(pinned[name], prereleases=True), needed


def test_torch_stays_out():
    """It would bring gigabytes for GPUs along."""
    names = {canonicalize_name(entry.name) for entry, _ in entries("ci-requirements.txt")}
    assert not {name for name in names if name == "torch" or name.startswith("nvidia-")}
    assert {"hatchling", "editables"} <= names


def test_the_recipe_of_conda_asks_for_the_same():
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.partition("\n  run:\n")[2].partition("\ntests:")[0]
    asked = [line.strip(" -").replace(" ", "") for line in run.splitlines()]
    assert asked == [f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]]
    assert f'version: "{PROJECT["version"]}"' in recipe


def test_the_versions_of_python_are_the_same_everywhere():
    promised = re.findall(r":: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.M)
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    assert re.search(r"python: \[(.*)\]", workflow)[1] == ", ".join(
        f'"{each}"' for each in promised
    )
    assert PROJECT["requires-python"] == f">={promised[0]}"
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert f"Python {promised[0]} to {promised[-1]}" in contributing


def test_actions_are_named_by_hash():
    uses = [
        line
        for path in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    ]
    assert uses
    assert [
        line for line in uses if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", line)
    ] == []
