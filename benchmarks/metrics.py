"""What a reader must hold in the head: lines, files, records, constants, names, calls.

    make metrics

Lines are counted without docstrings, comments and blanks. A file is passed through where a function
of it is called; importing it does not count. CPU seconds are of this machine.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "unmet"
IGNORED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


# --- What the source holds.


def code_lines(path: Path) -> int:
    """Lines of a file that hold code."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if ast.get_docstring(node, clean=False) is not None and first is not None:
                docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines: set[int] = set()
    with path.open("rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type not in IGNORED:
                lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def total_lines(folder: str) -> int:
    """Lines of code in a folder of the repository; 0 if there is no such folder."""
    return sum(map(code_lines, (ROOT / folder).rglob("*.py")))


def is_record(node: ast.ClassDef) -> bool:
    """Whether a class is a dataclass or a NamedTuple."""
    names = [ast.unparse(each).split("(")[0] for each in node.decorator_list]
    bases = [ast.unparse(base) for base in node.bases]
    return any(name.endswith("dataclass") for name in names) or "NamedTuple" in bases


def constants(tree: ast.Module) -> list[str]:
    """Names of module-level constants whose value is a number or holds only numbers."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        if node.value is not None and _is_numeric(node.value):
            found += [ast.unparse(target) for target in targets]
    return found


def _is_numeric(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.UnaryOp):
        return _is_numeric(value.operand)
    if isinstance(value, ast.BinOp):
        return _is_numeric(value.left) or _is_numeric(value.right)
    if isinstance(value, ast.Tuple | ast.List):
        return bool(value.elts) and all(map(_is_numeric, value.elts))
    return False


def public_names(tree: ast.Module) -> list[str]:
    """Names in ``__all__``."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and "__all__" in ast.unparse(node.targets[0]):
            if not isinstance(node.value, ast.Call):
                return list(ast.literal_eval(node.value))
            by_module = ast.literal_eval(node.value.args[1])  # of `names_of`
            return [name for names in by_module.values() for name in names.split()]
    return []


def most_parameters(trees: dict[Path, ast.Module]) -> tuple[tuple[int, str], tuple[int, str]]:
    """Most parameters of a public class, and of a public function or method."""
    classes, functions = [(0, "")], [(0, "")]
    for path, tree in trees.items():
        if "cli" in path.parts:  # a command has one parameter for each of its options
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                made = [each for each in node.body if isinstance(each, ast.FunctionDef)]
                classes += [(_count(each), node.name) for each in made if each.name == "__init__"]
            elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                functions.append((_count(node), node.name))
    return max(classes), max(functions)


def _count(node: ast.FunctionDef) -> int:
    named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return sum(each.arg not in {"self", "cls"} for each in named)


def documented() -> int:
    """Names that the reference of the documentation lists."""
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    return len(re.findall(r"^   ~[\w.]+$", page, re.MULTILINE))


# --- What calls pass through, and what they take.


@contextmanager
def passing() -> Iterator[set[tuple[str, str]]]:
    """Collect (file, function) of every call into the package."""
    seen: set[tuple[str, str]] = set()
    root = str(SOURCE) + os.sep

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root) and code.co_name != "<module>":
            seen.add((code.co_filename, code.co_qualname))

    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(None)


def passed(work: Callable[[], object]) -> str:
    """Files and functions that one call passes through."""
    with passing() as seen:
        work()
    return f"{len({file for file, _ in seen})} files, {len(seen)} functions"


def cpu_seconds(code: str) -> float:
    """CPU of a new interpreter that runs `code`, the least of three runs."""
    script = f"import time\n{code}\nprint(time.process_time())"
    runs = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    return min(float(run.stdout) for run in runs)


def of_commands(folder: Path) -> None:
    """What the commands on the example of the demonstration pass through, write and take."""
    from unmet.cli.main import run
    from unmet.planning import example
    from unmet.planning.example import EXAMPLE

    tables = example()
    table, model, coming = folder / "sales.csv", folder / "model.unmet", folder / "coming.csv"
    tables.sales.write_csv(table)
    tables.coming.write_csv(coming)
    words = ["fit", str(table), "--observed", EXAMPLE["observed"], "-o", str(model)]
    words += ["--features", ",".join(EXAMPLE["features"]), "--underage", "3", "--overage", "1"]
    plan = ["plan", str(table), "--horizon", "7", "-o", str(folder / "week.csv")]
    for name, command in (("unmet fit", words), ("unmet plan", plan)):
        with redirect_stdout(StringIO()):
            through = passed(lambda command=command: run(command))
        print(f"{name:<31} {through}", flush=True)
    print(f"model file                      {model.stat().st_size / 1000:>7,.0f} kB")
    decide = ["decide", str(model), str(coming), "-o", str(folder / "orders.csv")]
    for name, more in (
        ("unmet decide", []),
        ("  with --report", ["--report", str(folder / "report.html")]),
    ):
        code = (
            "from contextlib import redirect_stdout\nfrom io import StringIO\n"
            "from unmet.cli.main import run\n"
            f"with redirect_stdout(StringIO()): run({decide + more!r})"
        )
        print(f"{name:<31} {cpu_seconds(code):>7.2f} CPU s", flush=True)


def main() -> None:
    """Print everything."""
    files = sorted(SOURCE.rglob("*.py"))
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    of_class, of_function = most_parameters(trees)
    counts = {
        "code lines in src": sum(map(code_lines, files)),
        "files in src": len(files),
        "records": sum(map(is_record, classes)),
        "module-level numbers": sum(len(constants(tree)) for tree in trees.values()),
        "names in __all__": sum(len(public_names(tree)) for tree in trees.values()),
        "names in the reference": documented(),
        "raise": sum(isinstance(node, ast.Raise) for node in nodes),
        "code lines in paper": total_lines("paper"),
        "code lines in benchmarks": total_lines("benchmarks"),
        "code lines in tests": total_lines("tests"),
    }
    for name, count in counts.items():
        print(f"{name:<31} {count:>7,}")
    print(f"most parameters of a class      {of_class[0]:>7} ({of_class[1]})")
    print(f"most parameters of a function   {of_function[0]:>7} ({of_function[1]})")
    if "--static" in sys.argv:
        return

    from unmet import LatentBand, LinearDecision, Newsvendor
    from unmet.simulate import store10

    train = store10(seed=0).train
    cost = Newsvendor(underage=3, overage=1)
    for name, band in (("LinearDecision.fit", None), ("  with LatentBand()", LatentBand())):
        model = LinearDecision(cost, band=band)
        print(f"{name:<31} {passed(lambda model=model: model.fit(train.features, train.sales))}")
    with tempfile.TemporaryDirectory() as folder:
        of_commands(Path(folder))
    for name in ("from unmet import LinearDecision", "from sklearn.base import BaseEstimator"):
        print(f"{name:<39} {cpu_seconds(name):.2f} CPU s")


if __name__ == "__main__":
    main()
