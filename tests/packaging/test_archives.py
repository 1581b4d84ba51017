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
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}"
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
        "LICENSE.vega.txt",
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


def installed(uv, made, folder):
    """Python of a new environment that holds one archive and the dependencies of the core."""
    run(uv, "venv", "--quiet", "--python", sys.executable, folder)
    python = folder / "bin" / "python"
    constraints = ("--constraints", LOCK, "--build-constraints", LOCK)
    run(uv, "pip", "install", "--quiet", "--python", python, *constraints, made)
    listed = run(uv, "pip", "list", "--python", python)
    for extra in ("matplotlib", "pandas", "optuna", "lightgbm"):
        assert extra not in listed
    return python


@pytest.mark.parametrize("ending", [".whl", ".tar.gz"])
def test_the_core_does_the_main_job_where_nothing_else_is(built, uv, tmp_path, ending):
    """Excel in, orders, a report and a model out; only the dependencies of the core."""
    python = installed(uv, archive(built[0], ending), tmp_path / "empty")
    work = tmp_path / "work"
    work.mkdir()
    assert VERSION in run(python, "-m", "unmet", "--version", cwd=work)
    assert VERSION in run(tmp_path / "empty" / "bin" / "unmet", "--version", cwd=work)
    run(python, "-c", SALES, cwd=work)
    words = "plan sales.xlsx --horizon 3 --underage 2 --overage 1 --report report.html"
    run(python, "-m", "unmet", *words.split(), "-o", "orders.xlsx", "--save", "m.unmet", cwd=work)
    assert "bread" in (work / "report.html").read_text(encoding="utf-8")
    check = "import polars as pl; print(pl.read_excel('orders.xlsx').height)"
    # two products, three days; polars may say first that a column is empty
    assert run(python, "-c", check, cwd=work).endswith("6\n")
    load = "import unmet; print(type(unmet.load('m.unmet')).__name__)"
    assert "OrderPlan" in run(python, "-c", load, cwd=work)


HOURS = """
import datetime, random
import polars as pl
random.seed(5)
pl.read_csv("out/sales.csv").filter(pl.col("date") < "2015-07-20").write_csv("early.csv")
with open("hours.csv", "w") as stream:
    stream.write("date,item,hour,sales\\n")
    for day in range(42):
        date = datetime.date(2024, 1, 1) + datetime.timedelta(day)
        for hour in range(8, 20):
            stream.write(f"{date},bread,{hour},{random.randint(1, 9) * (hour < 14 or day % 5)}\\n")
"""
COLUMNS = "--observed sales --features weekday,dish --date date --series dish"
COSTS = "--underage 3 --overage 1"
COMMANDS = {
    "plan": f"early.csv --horizon 7 {COSTS} -o week.csv --save plan.unmet --report r.html",
    "replenish": "out/sales.csv --lead-time 1 --on-hand stock -o stock.csv --report r.html",
    "uncensor": "out/sales.csv -o demand.csv",
    "monitor": "plan.unmet out/sales.csv",
    "hours": "hours.csv -o days.csv",
    "diagnose": f"out/sales.csv {COLUMNS} {COSTS} --report r.html",
    "fit": f"out/sales.csv {COLUMNS} {COSTS} -o model.unmet --explain --report r.html",
    "decide": "model.unmet out/next_quarter.csv -o orders.xlsx --explain --report r.html",
    "evaluate": "model.unmet out/truth.csv --truth demand",
    "compare": f"out/sales.csv {COLUMNS} {COSTS} --folds 2",
}
LACK = {
    "plan": "BoostedDecision needs lightgbm",
    "replenish": "BoostedDecision needs lightgbm",
    "compare": "Not compared: published method, because SearchedBand needs optuna",
}


def test_the_plain_wheel_does_all_that_help_shows_first(built, uv, tmp_path):
    """What needs an extra is left out, and one note says so."""
    python = installed(uv, archive(built[0], ".whl"), tmp_path / "empty")
    work = tmp_path / "work"
    work.mkdir()
    listed = "from unmet.cli.main import app, typer; print(*typer.main.get_command(app).commands)"
    # the page is an extra
    assert set(run(python, "-c", listed).split()) == {*COMMANDS, "demo", "app"}
    demo = run(python, "-m", "unmet", "demo", cwd=work)
    assert "Now open out/report.html" in demo
    run(python, "-c", HOURS, cwd=work)
    for command, words in COMMANDS.items():
        (work / "r.html").unlink(missing_ok=True)
        said = run(python, "-m", "unmet", command, *words.split(), cwd=work)
        assert said.count("pip install") == (command in LACK)
        assert LACK.get(command, "") in said
        assert ("r.html" in words) == (work / "r.html").exists()
        if "r.html" in words:
            assert '"mark"' in (work / "r.html").read_text(encoding="utf-8")
