"""What commands print and write: sentences, tables, JSON, files that are checked beforehand."""

from __future__ import annotations

import inspect
import json
import math
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unmet.errors import InvalidInput

if TYPE_CHECKING:
    import polars

    from unmet.planning.decision_report import Comparison
    from unmet.tables.dialect import Dialect


# --- Before the work.


def check_output(
    path: Path | None,
    option: str,
    suffixes: tuple[str, ...] | None = None,
    taken: Sequence[Path | None] = (),
) -> None:
    """Complain of a file that cannot be written before any work is done.

    `taken` are files of the same command, which must not be written over.
    """
    if path is None:
        return
    from unmet.files import check_ordinary

    if path.is_dir():
        raise InvalidInput(f"{option} must be a file, got the folder {path}.")
    check_ordinary(path, option)
    if not path.parent.is_dir():
        raise InvalidInput(f"{option} must be in a folder that exists, got {path}.")
    if not os.access(path.parent, os.W_OK):
        raise InvalidInput(f"{option} must be in a folder that can be written to, got {path}.")
    if suffixes is not None and path.suffix.lower() not in suffixes:
        raise InvalidInput(f"{option} must end in {' or '.join(suffixes)}, got {path.name}.")
    if any(_same_file(path, other) for other in taken if other is not None):
        raise InvalidInput(f"{option} must not be another file of this command, got {path}.")


def _same_file(one: Path, other: Path) -> bool:
    """Whether two names mean one file, also by links of either kind."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


TABLES = (".csv", ".xlsx", ".parquet", ".pq")
"""Endings of tables that can be written."""


REPORTS = (".html", ".htm")


@contextmanager
def working(doing: str) -> Iterator[None]:
    """Show on a terminal that something is being done."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(doing):
        yield


# --- Afterwards: answers on standard output, remarks on standard error.


def write_table(table: polars.DataFrame, path: Path, dialect: Dialect | None = None) -> Path:
    """Write a table, by the ending of the name; text in a dialect, or as usual.

    Text cells that a spreadsheet would take for a formula get an apostrophe in CSV files.
    """
    from unmet.files import write_content
    from unmet.tables.dialect import Dialect, as_bytes

    suffix, content = path.suffix.lower(), BytesIO()
    # made in memory, since each package that writes files has its own words for a full disk
    if suffix in (".parquet", ".pq"):
        table.write_parquet(content)
    elif suffix == ".xlsx":
        from unmet.tables.reading import write_excel

        write_excel(table, content)
    else:
        content.write(as_bytes(table, dialect or Dialect()))
    return write_content(path, content.getvalue())


def write_report(content: dict[str, Any], path: Path | None) -> list[Path]:
    """Write the report if one was asked for."""
    if path is None:
        return []
    from unmet.report import write_report as write

    return [write(content, path)]


def print_json(content: dict[str, Any], files: Iterable[Path] | None = None) -> None:
    """Print one JSON object; what is not finite is null. Files come last, by their names."""
    if files is not None:
        content = {**content, "files": [str(file) for file in files]}
    typer.echo(json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def remark(lines: Iterable[str]) -> None:
    """Print what a user should know on standard error, a sentence each."""
    for line in lines:
        typer.echo(f"note: {as_options(line)}", err=True)


def show_files(files: Iterable[Path]) -> None:
    """Say what was written."""
    for file in files:
        typer.echo(f"wrote {file}", err=True)


def labels_table(header: Sequence[str], rows: Sequence[tuple[str, ...]]) -> str:
    """Align a table of words to the left."""
    lines = [tuple(header), *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(header))]
    shown = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([shown[0], rule, *shown[1:]])


_HEADS = {
    "newsvendor": ("cost of a row", "saving", "mean order", "rows covered", "demand served"),
    "pricing": ("cost of a row", "saving", "mean price", "rows covered", "worth asked"),
    "replacement": ("cost of time", "saving", "mean age", "rows covered", "life used"),
}
_DETAILS = ("mean cost", "saving", "mean decision", "service level", "fill rate")
_BASES = {
    "truth": "evaluated with the true values",
    "seen": "evaluated with those that did not sell out, which stand for the others",
    "estimate": "evaluated with estimated values, which nobody can check",
    "observation": "evaluated as if nothing were hidden, which makes low decisions look good",
}
_EVALUATED = {
    "truth": "evaluated on the truth",
    "seen": "evaluated on those that show the truth, weighted for those that sold out",
    "estimate": "evaluated on the estimated distribution of the truth",
    "observation": "evaluated on observations, which favours decisions that are too low",
}


def show_comparison(comparison: Comparison, problem: str, *, details: bool = False) -> None:
    """Print one row per method, in the words of a planner or of a statistician."""
    from unmet.evaluation.comparison import number, percent, text_table
    from unmet.planning.backtest import METHODS

    rows = [
        (
            each.label if details or each.method != "plan" else METHODS["plan"],
            number(each.cost),
            percent(each.saving),
            number(each.decision),
            percent(each.service_level),
            percent(each.fill_rate),
        )
        for each in comparison.methods
    ]
    heads = ["method", *(_DETAILS if details else _HEADS[problem])]
    kept = [place for place in range(len(heads)) if {row[place] for row in rows} != {"-"}]
    basis = (_EVALUATED if details else _BASES)[comparison.basis]
    shown = [tuple(row[place] for place in kept) for row in rows]
    typer.echo(text_table([heads[place] for place in kept], shown))
    typer.echo(f"{comparison.n_rows:,} rows, {basis}.")


# --- The library names parameters; here they become the options of the running command.

_options: dict[str, str] = {}
_ALIASES = {"random_state": "seed", "n_splits": "folds", "lot": "step"}
_PARAMETER = re.compile(
    r"columns\['(?P<column>\w+)'\]|\b(?P<given>\w+)=(?P<value>'[^']*'|[\w.]*\w)?"
    r"|\b(?P<name>\w+_\w+)\b|(?:(?<=^)|(?<=\. ))(?P<first>\w+)(?= (?:and \w+ )?(?:must|needs|is) )"
)


def know_options(command: Callable[..., Any]) -> None:
    """Keep the options of the command that runs."""
    _options.clear()
    hints = inspect.signature(command, eval_str=True).parameters.values()
    for each in hints:
        kinds = [kind.__name__ for kind in map(type, getattr(each.annotation, "__metadata__", ()))]
        if "ArgumentInfo" not in kinds:
            _options[each.name] = f"--{each.name.replace('_', '-')}"


def as_options(text: str) -> str:
    """Put the options of the running command in place of the parameters that a text names.

    A parameter is named as ``columns['stock']``, ``gaps='zero'``, ``known_future=``,
    ``sellout_rate``, or as the first word of a sentence on what it must be.
    """

    def option(match: re.Match[str]) -> str:
        column, given, value = match["column"], match["given"], match["value"]
        name = column or given or match["name"] or match["first"]
        name = _ALIASES.get(name, name)
        found = _options.get(f"{name}_column") if column else None
        found = found or _options.get(name)
        if found is None:
            return match[0]
        if given is None or value in (None, "True"):
            return found
        return f"{found} {value.strip(chr(39))}"

    return _PARAMETER.sub(option, text)


# --- The words that started a command, which its report repeats.

_words: list[str] = sys.argv[1:]


def remember(words: list[str]) -> None:
    """Keep the words of this command line for its report."""
    _words[:] = words


def command_line() -> str:
    """Give the words that started this command, to start it again."""
    return shlex.join(["unmet", *_words])
