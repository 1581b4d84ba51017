"""How much a reader must hold in the head: lines, files, what one call passes through.

    make house

Lines are counted without docstrings, comments and blanks. A file is passed through where a function
of it is called; importing it does not count. CPU seconds are of this machine.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "unmet"


def code_lines(path: Path) -> int:
    """Lines of a file that hold code."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if ast.get_docstring(node, clean=False) is not None and first is not None:
                docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    nothing = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    }
    lines: set[int] = set()
    with path.open("rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type not in nothing:
                lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


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
    from unmet.planning import EXAMPLE, example

    tables = example()
    table, model, coming = folder / "sales.csv", folder / "model.unmet", folder / "coming.csv"
    tables.sales.write_csv(table)
    tables.coming.write_csv(coming)
    words = ["fit", str(table), "--observed", EXAMPLE["observed"], "-o", str(model)]
    words += ["--features", ",".join(EXAMPLE["features"]), "--underage", "3", "--overage", "1"]
    with redirect_stdout(StringIO()):
        through = passed(lambda: run(words))
    print(f"{'unmet fit':<23} {through}")
    print(f"model file              {model.stat().st_size / 1000:>7,.0f} kB")
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
        print(f"{name:<23} {cpu_seconds(code):>7.2f} CPU s", flush=True)


def main() -> None:
    """Print everything."""
    files = sorted(SOURCE.rglob("*.py"))
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    dataclasses = [each for each in classes if "dataclass" in map(_decorator, each.decorator_list)]
    print(f"code lines in src       {sum(map(code_lines, files)):>7,}")
    print(f"files in src            {len(files):>7,}")
    print(f"dataclasses             {len(dataclasses):>7,}")
    print(f"raise                   {sum(isinstance(n, ast.Raise) for n in nodes):>7,}")
    print(f"names in __all__        {sum(map(_public, trees)):>7,}")

    from unmet import LatentBand, LinearDecision, Newsvendor
    from unmet.simulate import store10

    train = store10(seed=0).train
    cost = Newsvendor(underage=3, overage=1)
    for name, band in (("LinearDecision.fit", None), ("  with LatentBand()", LatentBand())):
        model = LinearDecision(cost, band=band)
        print(f"{name:<23} {passed(lambda model=model: model.fit(train.features, train.sales))}")
    with tempfile.TemporaryDirectory() as folder:
        of_commands(Path(folder))
    for name in ("from unmet import LinearDecision", "from sklearn.base import BaseEstimator"):
        print(f"{name:<39} {cpu_seconds(name):.2f} CPU s")


def _decorator(node: ast.expr) -> str:
    called = node.func if isinstance(node, ast.Call) else node
    return called.id if isinstance(called, ast.Name) else ""


def _public(tree: ast.Module) -> int:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return len(ast.literal_eval(node.value))
    return 0


if __name__ == "__main__":
    main()
