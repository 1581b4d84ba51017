"""Make sae.csv and tires.csv of `unmet.data` from the PyPI package surpyval 0.25 (MIT).

usage: python benchmarks/data/bundle_surpyval.py --wheel surpyval-0.25-py3-none-any.whl

``pip download --no-deps surpyval==0.25`` fetches the wheel. Numbers are taken over as they are;
columns get names of our own, and the flag of censoring becomes true or false. The lifetimes of
``load_sae`` stand in the source code of surpyval, so they are read from there without running it.
"""

from __future__ import annotations

import argparse
import ast
import csv
import io
import zipfile
from pathlib import Path

VERSION = "0.25"
FOLDER = Path(__file__).resolve().parents[2] / "src" / "unmet" / "data"
NAMES = {
    "Tire age": "tire_age",
    "Wedge gauge": "wedge_gauge",
    "Interbelt gauge": "interbelt_gauge",
    "EB2B": "eb2b",
    "Peel force": "peel_force",
    "Carbon black (%)": "carbon_black",
    "Wedge gauge×peel force": "wedge_gauge_peel_force",
    "Survival": "time",
    "Censoring": "suspended",
}
NOTICE = f"""\
sae.csv and tires.csv in this folder were made from the Python package surpyval, version {VERSION}
(https://pypi.org/project/surpyval/), by benchmarks/data/bundle_surpyval.py, which says what was
changed. They are distributed under the licence of that package:

MIT License

"""


def sae(source: str) -> list[list[object]]:
    """Give failures f and suspensions s, as they stand in the function ``load_sae``."""
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    body = next(each for each in functions if each.name == "load_sae").body
    lists = {
        statement.targets[0].id: ast.literal_eval(statement.value)
        for statement in body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.List)
    }
    rows = [[time, "false"] for time in lists["f"]] + [[time, "true"] for time in lists["s"]]
    return [["time", "suspended"], *rows]


def tires(text: str) -> list[list[object]]:
    header, *rows = csv.reader(io.StringIO(text))
    flags = {"0": "false", "1": "true"}
    return [[NAMES[name] for name in header], *([*row[:-1], flags[row[-1]]] for row in rows)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, required=True)
    with zipfile.ZipFile(parser.parse_args().wheel) as wheel:
        source = wheel.read("surpyval/datasets/__init__.py").decode()
        table = wheel.read("surpyval/datasets/tires.csv").decode("utf-8-sig")
        licence = wheel.read(f"surpyval-{VERSION}.dist-info/licenses/LICENSE").decode()
    for name, rows in (("sae", sae(source)), ("tires", tires(table))):
        with (FOLDER / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
    (FOLDER / "LICENSE.surpyval.txt").write_text(NOTICE + licence.strip() + "\n")


if __name__ == "__main__":
    main()
