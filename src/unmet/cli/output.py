"""What commands print and write: sentences, tables, JSON, files that are checked beforehand."""

from __future__ import annotations

import inspect
import json
import math
import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unmet.errors import InvalidInput

if TYPE_CHECKING:
    import polars

    from unmet.planning.decision_report import Comparison
    from unmet.tables.dialect import Dialect
    from unmet.tables.reading import TableFile
    from unmet.validation import ErrorCollector


# --- Before the work.

TABLES = (".csv", ".xlsx", ".parquet", ".pq")
"""Endings of tables that can be written."""
_ENDINGS: dict[str, tuple[str, ...] | None] = {
    "output": TABLES,
    "levels": TABLES,
    "projection": TABLES,
    "report": (".html", ".htm"),
    "save": None,
    "log": (".parquet",),
}


def check_files(
    words: dict[str, Any],
    *read: Path | None,
    output: tuple[str, ...] | None = TABLES,
    wrong: ErrorCollector | None = None,
) -> None:
    """Complain of files that cannot be read or written before any work is done.

    Parameters
    ----------
    words : dict
        Options; those that name files to write are checked.
    *read : Path or None
        Files that the command reads; none of them, and no other file, may be written over.
    output : tuple of str or None
        Endings that ``--output`` may have; None: any.
    wrong : ErrorCollector, optional
        Is given the complaints, where there are others to be told with them.
    """
    from unmet.validation import ErrorCollector

    found = wrong or ErrorCollector()
    found.sentences += [
        f"{file} must be a CSV, Excel or Parquet file that exists, got no such file."
        for file in read
        if file is not None and not file.exists()
    ]
    taken = [file for file in read if file is not None]
    for name, endings in (_ENDINGS | {"output": output}).items():
        path = words.get(name)
        if path is not None:
            found.ask(_check_output, path, f"--{name}", endings, taken)
            taken.append(path)
    if wrong is None:
        found.tell()


def _check_output(
    path: Path, option: str, endings: tuple[str, ...] | None, taken: Sequence[Path]
) -> None:
    from unmet.files import check_ordinary

    check_ordinary(path, option)
    if not path.parent.is_dir():
        raise InvalidInput(
            f"{option} must be in a folder that exists, got {path}: make the folder "
            f"{path.parent} first."
        )
    if not os.access(path.parent, os.W_OK):
        raise InvalidInput(f"{option} must be in a folder that can be written to, got {path}.")
    if endings is not None and path.suffix.lower() not in endings:
        raise InvalidInput(f"{option} must end in {' or '.join(endings)}, got {path.name}.")
    for other in taken:  # by links of either kind as well
        same = path.exists() and other.exists() and path.samefile(other)
        if same or path.resolve() == other.resolve():
            raise InvalidInput(
                f"{option} must not be another file of this command, got {path}: choose another "
                "name."
            )


def read_words(
    path: Path, words: dict[str, Any], text: Collection[str] = (), *, beside: bool = False
) -> TableFile:
    """Read a table as the options say; one beside another table has its own sheet and kind."""
    from unmet.tables.reading import read_file

    how = {name: words[name] for name in ("decimal", "sheet", "encoding")}
    if beside:
        how["sheet"] = None
        if path.suffix.lower() in (".xlsx", ".parquet", ".pq"):
            how["encoding"] = None
    return read_file(path, text=text, **how)


def load_plan(path: Path, kind: type, source: str) -> Any:
    """Load a fitted plan of this kind from a file."""
    from unmet.persistence import load

    plan = load(path)
    if not isinstance(plan, kind):
        raise InvalidInput(f"{path} must be a file that {source}, got a {type(plan).__name__}.")
    return plan


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
    """Write a table, by the ending of the name; text in a dialect, or as usual."""
    from unmet.files import write_content
    from unmet.tables.reading import table_bytes

    # made in memory, since each package that writes files has its own words for a full disk
    return write_content(path, table_bytes(table, path.suffix, dialect))


def write_report(plan: Any, words: dict[str, Any], **more: Any) -> list[Path]:
    """Write the report of a plan if one was asked for."""
    if words["report"] is None:
        return []
    from unmet.report import write_report as write

    more |= {"command": command_line(), "currency": words["currency"]}
    return [write(plan, words["report"], **more)]


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


MAX_NOTES = 3
"""Notes that are printed without ``--details``."""


def show_notes(notes: Iterable[str], details: bool = True) -> None:
    """Print notes on standard error: without `details` only those that matter most.

    First come notes that concern 1% of the money or more, by their `share`; then those that change
    orders by an unknown amount, those on less of the data, and information.
    """

    def rank(note: str) -> tuple[float, int]:
        share = getattr(note, "share", None)
        return -round(share or 0.0, 2), 2 if share is None else int(share > 0)

    ranked = sorted(dict.fromkeys(notes), key=rank)
    shown = ranked if details else ranked[:MAX_NOTES]
    for note in shown:
        typer.echo(f"note: {as_options(note)}", err=True)
    if left := len(ranked) - len(shown):
        more = "1 more note" if left == 1 else f"{left} more notes"
        typer.echo(f"{more}: add --details to read {'it' if left == 1 else 'them'}.", err=True)


def show_files(files: Iterable[Path]) -> None:
    """Say what was written."""
    for file in files:
        typer.echo(f"wrote {file}", err=True)


_BASES = {
    "truth": "evaluated on the true values",
    "seen": "evaluated on the rows that did not sell out, weighted for those that did",
    "estimate": "evaluated on estimated demand: the costs are as good as the estimate",
    "observation": "evaluated on the observations, which favors low decisions",
}


def show_comparison(comparison: Comparison, problem: str) -> None:
    """Print one row per method, without columns that nobody can fill."""
    from unmet.censoring.text import labels_for
    from unmet.evaluation.comparison import text_table
    from unmet.report.page import methods_table

    heads, cells, _ = zip(*methods_table(comparison, labels_for(problem)), strict=True)
    names, *others = cells
    short = [name.partition(":")[0] for name in names]
    typer.echo(text_table(heads, list(zip(short, *others, strict=True))))
    typer.echo(f"{comparison.n_rows:,} rows, {_BASES[comparison.basis]}.")


# --- The library names parameters; here they become the options of the running command.

_options: dict[str, str] = {}
_ALIASES = {"random_state": "seed", "n_splits": "folds", "lot": "step", "time": "date"}
_PARAMETER = re.compile(
    r"columns\['(?P<column>\w+)'\]|\b(?P<given>\w+)=(?P<value>'[^']*'|[\w.]*\w)?"
    r"|(?<!['-])\b(?P<name>\w+_\w+|(?:under|over)age|holding|shortage)\b(?!')"  # quoted: a column
    r"|(?:(?<=^)|(?<=\. ))(?P<first>\w+)(?= (?:and \w+ )?(?:must|needs|is) )"
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

    text = re.sub("^X must", "The table must", re.sub("^y must", "--observed must", text))
    return _PARAMETER.sub(option, text).replace(" or None", "").replace("None, ", "")


# --- The words that started a command, which its report repeats.

_words: list[str] = sys.argv[1:]


def remember(words: list[str]) -> None:
    """Keep the words of this command line for its report."""
    _words[:] = words


def command_line() -> str:
    """Give the words that started this command, to start it again."""
    return shlex.join(["unmet", *_words])
