"""Wheel and sdist: the same bytes every time, nothing in them that was made here, and they work."""

import hashlib
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "packaging" / "ci-requirements.txt"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

pytestmark = pytest.mark.slow  # builds, downloads and installs; CI does so for every change


def run(*words, cwd=None, **environment):
    """What a command printed; its own words where it fails."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        list(map(str, words)),
        cwd=cwd,
        env=kept | {"UV_SYSTEM_CERTS": "1"} | environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def uv():
    beside = Path(sys.executable).with_name("uv")
    if not beside.exists():
        pytest.skip("uv is not installed beside this Python; `make` puts it there")
    return beside


@pytest.fixture(scope="module")
def built(uv, tmp_path_factory):
    """Archives built twice, from two copies of what git holds, made at different times."""
    outputs = []
    for number in (1, 2):
        copy = tmp_path_factory.mktemp(f"copy{number}") / "tree"
        names = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT)
        for name in filter(lambda name: (ROOT / name).is_file(), names.splitlines()):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
            os.utime(copy / name, (number * 1e8, number * 1e8))
        (copy / ".gitignore").write_bytes((ROOT / ".gitignore").read_bytes())
        for folder in ("out", ".venv", ".venv-min"):  # what was made there must stay there
            (copy / folder).mkdir()
            (copy / folder / "orders.csv").write_text("secret")
        out = tmp_path_factory.mktemp(f"dist{number}")
        constraints = ("--build-constraints", LOCK, "--require-hashes")
        words = (uv, "build", "--quiet", "--python", sys.executable, *constraints)
        run(*words, "--out-dir", out, copy, SOURCE_DATE_EPOCH="1700000000")
        outputs.append(out)
    return outputs


def archive(folder, ending):
    (found,) = folder.glob(f"*{ending}")
    return found


@pytest.mark.parametrize("ending", [".whl", ".tar.gz"])
def test_twice_the_same_bytes(built, ending):
    first, second = (archive(folder, ending) for folder in built)
    assert first.name == second.name
    assert VERSION in first.name
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (first, second)]
    assert digests[0] == digests[1]


def test_the_wheel_holds_the_package_and_its_licences(built):
    with zipfile.ZipFile(archive(built[0], ".whl")) as wheel:
        held = set(wheel.namelist())
    tree = ROOT / "src"
    package = {
        path.relative_to(tree).as_posix()
        for path in (tree / "unmet").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in held if ".dist-info/" not in name} == package
    licences = {name for name in held if ".dist-info/licenses/" in name}
    assert sorted(Path(name).name for name in licences) == [
        "LICENSE",
        "LICENSE.ddop.txt",
        "LICENSE.surpyval.txt",
    ]


def test_the_sdist_holds_what_git_holds(built):
    with tarfile.open(archive(built[0], ".tar.gz")) as sdist:
        held = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "src/unmet/__init__.py"} <= held
    known = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    assert sorted(held - set(known.splitlines()) - {"PKG-INFO"}) == []


SALES = """
import datetime, random
import xlsxwriter
random.seed(5)
book = xlsxwriter.Workbook("sales.xlsx")
sheet = book.add_worksheet()
sheet.write_row(0, 0, ["date", "product", "sales", "price"])
dated = book.add_format({"num_format": "yyyy-mm-dd"})
row = 0
for day in range(90):
    for product in ("bread", "rolls"):
        row += 1
        sheet.write_datetime(row, 0, datetime.datetime(2024, 1, 1) + datetime.timedelta(day), dated)
        sheet.write(row, 1, product)
        sheet.write(row, 2, random.randint(20, 40) + 10 * (day % 7 == 5))
        sheet.write(row, 3, random.choice([2.5, 3.0]))
book.close()
"""


@pytest.mark.parametrize("ending", [".whl", ".tar.gz"])
def test_the_core_does_the_main_job_where_nothing_else_is(built, uv, tmp_path, ending):
    """Excel in, orders, a report and a model out; only the dependencies of the core."""
    run(uv, "venv", "--quiet", "--python", sys.executable, tmp_path / "empty")
    python = tmp_path / "empty" / "bin" / "python"
    constraints = ("--constraints", LOCK, "--build-constraints", LOCK)
    made = archive(built[0], ending)
    run(uv, "pip", "install", "--quiet", "--python", python, *constraints, made)
    installed = run(uv, "pip", "list", "--python", python)
    assert "matplotlib" not in installed
    assert "pandas" not in installed
    work = tmp_path / "work"
    work.mkdir()
    assert VERSION in run(python, "-m", "unmet", "--version", cwd=work)
    assert VERSION in run(tmp_path / "empty" / "bin" / "unmet", "--version", cwd=work)
    run(python, "-c", SALES, cwd=work)
    words = "plan sales.xlsx --horizon 3 --underage 2 --overage 1 --report report.html"
    run(python, "-m", "unmet", *words.split(), "-o", "orders.xlsx", "--save", "m.unmet", cwd=work)
    assert "bread" in (work / "report.html").read_text(encoding="utf-8")
    check = "import polars as pl; print(pl.read_excel('orders.xlsx').height)"
    assert run(python, "-c", check, cwd=work) == "6\n"  # two products, three days
    load = "import unmet; print(type(unmet.load('m.unmet')).__name__)"
    assert "Plan" in run(python, "-c", load, cwd=work)
