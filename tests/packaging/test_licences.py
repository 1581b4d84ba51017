"""Every bundled file and every package has a licence on the page, and copyleft is marked."""

import importlib.util
import re
import tomllib
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture
def licences():
    spec = importlib.util.spec_from_file_location("licences", ROOT / "packaging" / "licences.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def package(tmp_path):
    """An installed package that says this of itself."""

    def make(metadata, text=""):
        folder = tmp_path / "made-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: made\n{metadata}\n")
        (folder / "LICENSE").write_text(text)
        (folder / "RECORD").write_text("made-1.dist-info/METADATA,,\nmade-1.dist-info/LICENSE,,\n")
        return PathDistribution(folder)

    return make


def test_every_bundled_file_has_a_licence(licences):
    assert licences.without_licence() == []
    assert set(licences.bundled()) >= {"bakery.parquet", "yaz.parquet", "sae.csv", "tires.csv"}


def test_a_file_without_a_licence_is_found(licences, tmp_path, monkeypatch):
    (tmp_path / "LICENSE.x.txt").write_text("a.csv and gone.csv in this folder are free:\n\nMIT\n")
    for name in ("a.csv", "b.parquet", "code.py"):
        (tmp_path / name).touch()
    monkeypatch.setattr(licences, "DATA", tmp_path)
    assert licences.without_licence() == ["b.parquet", "gone.csv"]


def test_licence_files_are_shipped():
    shipped = {name for name in PROJECT["license-files"] if "/data/" in name}
    there = {f"src/unmet/data/{p.name}" for p in (ROOT / "src/unmet/data").glob("LICENSE.*")}
    assert shipped == there


@pytest.mark.parametrize(
    ("metadata", "text", "licence", "copyleft"),
    [
        ("License-Expression: MIT\nLicense: something else", "", "MIT", ""),
        ("License: LGPL-2.1", "", "LGPL-2.1", "yes"),
        ("License: LGPL", "", "LGPL", "yes"),
        ("License: GPLv3", "", "GPLv3", "yes"),
        ("License-Expression: MPL-2.0 AND MIT", "", "MPL-2.0 AND MIT", "yes"),
        (
            "Classifier: License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)",
            "",
            "Mozilla Public License 2.0 (MPL 2.0)",
            "yes",
        ),
        (
            "Classifier: License :: OSI Approved",
            "Permission is hereby granted,\n free of charge, to any",
            "MIT (from its text)",
            "",
        ),
        ("License: BSD", "libgfortran: GNU General\nPublic License", "BSD", "named in its file"),
        ("", "", "not stated", ""),
    ],
)
def test_what_a_package_says_of_itself(licences, package, metadata, text, licence, copyleft):
    made = package(metadata, text)
    assert licences.licence(made) == licence
    assert licences.copyleft(made) == copyleft


def test_the_page_lists_what_users_install():
    """Run `make licences` where this fails."""
    page = (ROOT / "packaging" / "LICENCES.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| ([a-z0-9-]+) \|", page, re.M))
    extras, wanted, queue = PROJECT["optional-dependencies"], set(), ["all"]
    requirements = [Requirement(line) for line in PROJECT["dependencies"]]
    while queue:
        for needed in map(Requirement, extras[queue.pop()]):
            queue += needed.extras if needed.name == "unmet" else ()
            requirements += [] if needed.name == "unmet" else [needed]
    wanted = {canonicalize_name(needed.name) for needed in requirements}
    assert len(wanted) > len(PROJECT["dependencies"])
    assert sorted(wanted - listed) == []
    assert "not stated" not in page
