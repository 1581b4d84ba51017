"""Which lines of unmet the tests reach: ``--lines`` prints coverage.py's report of it.

Before Python 3.12 coverage.py must watch every line of every library, which makes our tests take
half as long again. Here only our own files are changed while they are imported: before each
statement they note its line (a handler of errors counts when it is entered), for a twentieth of the
time. coverage.py still says what a statement is, and reports. Once 3.12 is the oldest Python that
unmet supports, COVERAGE_CORE=sysmon and pytest-cov do the same, and this file can go.
"""

import ast
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path

NOTED: dict[str, dict[int, bool]] = {}
"""For each file the lines that were reached."""


class Finder:
    """Modules of unmet, with notes."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] != "unmet":
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


class Loader(SourceFileLoader):
    def path_stats(self, path):
        raise OSError("no bytecode is read or kept: it would be without notes, or with them")

    def source_to_code(self, data, path, *, _optimize=-1):
        tree = ast.parse(data)
        tree.body = _noting(tree.body)
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)

    def exec_module(self, module):
        module.__noted__ = NOTED.setdefault(self.path, {})
        super().exec_module(module)


def _noting(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements, each behind a note of its lines."""
    found: list[ast.stmt] = []
    late: list[ast.stmt] = []  # nothing may stand before a docstring and ``__future__``
    for place, statement in enumerate(body):
        late += [_note(line, statement) for line in _lines(statement)]
        if not (place == 0 and _is_text(statement)) and not _is_future(statement):
            found += late
            late = []
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, None)
            if inner:
                setattr(statement, name, _noting(inner))
        for part in [*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]:
            first = part.pattern if isinstance(part, ast.match_case) else part
            part.body = [_note(first.lineno, first), *_noting(part.body)]
        found.append(statement)
    return found + late


def _lines(statement: ast.stmt) -> Iterator[int]:
    yield from (each.lineno for each in getattr(statement, "decorator_list", ()))
    yield statement.lineno


def _note(line: int, at: ast.AST) -> ast.stmt:
    """``__noted__[line] = True``, made by hand: to parse it 30,000 times takes seconds."""
    place = {
        "lineno": at.lineno,
        "col_offset": at.col_offset,
        "end_lineno": at.end_lineno,
        "end_col_offset": at.end_col_offset,
    }
    noted = ast.Name("__noted__", ast.Load(), **place)
    entry = ast.Subscript(noted, ast.Constant(line, **place), ast.Store(), **place)
    return ast.Assign([entry], ast.Constant(True, **place), **place)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


# --- Hooks of pytest.


def pytest_configure(config):
    if "unmet" in sys.modules:
        raise RuntimeError("unmet must not be imported before its lines can be noted")
    sys.meta_path.insert(0, Finder)


def pytest_sessionfinish(session):
    """Every process leaves what it noted in a file of its own."""
    from coverage import CoverageData

    data = CoverageData(str(session.config.rootpath / ".coverage"), suffix=True)
    data.add_lines({path: list(lines) for path, lines in NOTED.items()})
    data.write()


def pytest_terminal_summary(terminalreporter, config):
    """Put the files together; the process that prints is the last to come here."""
    if hasattr(config, "workerinput"):
        return
    from coverage import Coverage

    terminalreporter.section("lines that no test reaches")
    house = [str(Path(path).parent) for path in NOTED if path.endswith("unmet/__init__.py")]
    coverage = Coverage(str(config.rootpath / ".coverage"), source=house or None)
    coverage.combine([str(config.rootpath)])
    coverage.report(file=terminalreporter, skip_covered=True, show_missing=True)
