"""The commands for your own features: diagnose, fit, decide, evaluate, compare; and the demo.

Each reads options and files, asks `unmet.planning`, and prints; nothing is computed here.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmet.cli.hours import HourFiles, surest
from unmet.cli.options import FILES, HOURS, READ, Named, Options, lot_size
from unmet.cli.output import (
    REPORTS,
    TABLES,
    as_options,
    check_output,
    command_line,
    print_json,
    remark,
    remember,
    show_comparison,
    show_files,
    working,
    write_report,
    write_table,
)
from unmet.errors import InvalidInput

if TYPE_CHECKING:
    from unmet.planning import DecisionPlan
    from unmet.tables.reading import TableFile


# Heavy imports stand inside the functions, so that `unmet --help` answers at once.

_Table = Annotated[Path, typer.Argument(help="CSV, Excel or Parquet file.")]
_Model = Annotated[Path, typer.Argument(help="Model that unmet fit has saved.")]
_DETAILS: Named = {
    "details": (bool, False, "Show the statistics behind the answer, too."),
}
_ROOM: Named = {
    "step": (str | None, None, "Size of a lot; 'none' keeps fractions; 1 for orders, else none."),
    "lower": (float, 0.0, "Least decision."),
    "upper": (float | None, None, "Greatest decision."),
    "minimum": (float | None, None, "Least order, if anything is ordered at all."),
}
DIAGNOSE: Options = {
    "Files": {**FILES, **_DETAILS},
    "Hours of the till": HOURS,
    "Exit code": {
        "fail_if_unidentified": (bool, False, "Leave with exit code 3 if the data cannot tell.")
    },
}
FIT: Options = {
    "Files": {
        "output": (Path, Path("model.unmet"), "Where to save the model."),
        **FILES,
        **_DETAILS,
        "compare": (bool, False, "Compare with other methods on rows held out, for the reports."),
        "explain": (bool, False, "Keep what takes orders apart: two more models, at even costs."),
    }
}
DECIDE: Options = {
    "Files": {
        "output": (Path | None, None, "CSV, Excel or Parquet file; by default CSV is printed."),
        "name": (str, "decision", "Name of the new column."),
        "explain": (
            bool,
            False,
            "Add what each order consists of: usual sales, hidden demand, cost of running out and "
            "rounding. Needs a model fitted with --explain.",
        ),
        **FILES,
    },
    "What can be carried out": _ROOM,
}
_FLAGS: Named = {
    "censored_column": (str | None, None, "Flags to evaluate by; by default those of the model."),
    "stock_column": (str | None, None, "Stock to evaluate by; by default that of the model."),
}
EVALUATE: Options = {
    "What is known": {
        "truth": (
            str | None,
            None,
            "Column of the truth, such as demand. Without it, orders are evaluated on rows that "
            "flags or stock say were seen whole.",
        ),
        **_FLAGS,
    },
    "What can be carried out": _ROOM,
    "Files": {**READ, **_DETAILS},
}
COMPARE: Options = {
    "Rows held out": {
        "truth": (str | None, None, "Column of the truth, if there is one, to evaluate on."),
        "folds": (int, 4, "Blocks of rows held out."),
        "horizon": (int | None, None, "Days in each block; by default shared out evenly."),
    },
    "What can be carried out": _ROOM,
    "Files": {**FILES, **_DETAILS},
}
UNIDENTIFIED = 3
"""Exit code of ``--fail-if-unidentified`` where the data cannot tell."""

EXAMPLES = {
    "demo": ("unmet demo", "unmet demo --output results --json"),
    "diagnose": (
        "unmet diagnose sales.csv --observed sales --features weekday,month,category",
        "unmet diagnose sales.csv --observed sales --features weekday --sellout-rate .4 --report "
        "report.html",
    ),
    "fit": (
        "unmet fit sales.csv --observed sales --features weekday,month,category --underage 3 "
        "--overage 1 -o model.unmet",
        "unmet fit sales.csv --observed sales --features price --date day --calendar "
        "weekday,month --underage-column margin --overage 1 --sellout-rate .3,.5",
        "unmet fit offers.csv --problem pricing --observed price --accepted-column accepted "
        "--features segment,quantity --goal revenue --unit-cost 20",
        "unmet fit parts.csv --problem replacement --observed hours --failed-column failed "
        "--features load --planned 1 --failure 8",
    ),
    "decide": (
        "unmet decide model.unmet next_week.csv -o orders.csv",
        "unmet decide model.unmet next_week.csv -o orders.csv --step 6 --minimum 12 --upper 240 "
        "--report report.html",
        "unmet decide model.unmet next_week.csv -o orders.csv --explain",
    ),
    "evaluate": (
        "unmet evaluate model.unmet truth.csv --truth demand",
        "unmet evaluate model.unmet last_month.csv --censored-column out --step 6 --minimum 12",
    ),
    "compare": (
        "unmet compare sales.csv --observed sales --features weekday,month,category --date date "
        "--underage 3 --overage 1",
        "unmet compare history.csv --observed sales --features weekday --date date --truth demand "
        "--underage 3 --overage 1 --folds 6 --horizon 7",
    ),
}


def diagnose(
    table: _Table, *, plan: DecisionPlan, words: dict[str, Any], costs_given: bool = True
) -> int:
    """Say how much the observations hide, and how surely.

    Without costs, a unit too little and a unit too much are taken to cost 1 each.
    """
    from unmet.censoring.hours import detect_stockouts
    from unmet.censoring.text import summarise
    from unmet.planning.plan_options import fit_command
    from unmet.report import report_data

    check_output(words["report"], "--report", REPORTS, [table])
    if not hasattr(plan.rule, "fit"):
        raise InvalidInput(f"diagnose needs band 'latent', got {plan.words.rpartition(', ')[2]!r}.")
    till = HourFiles(*(words.pop(name) for name in HOURS))
    till.check()
    read = _read(table, plan, words)
    by_hours, notes = None, read.notes
    if not costs_given:
        notes = (
            *notes,
            "No costs were given, so a unit too little and a unit too much are taken to cost 1 "
            "each (--underage, --overage).",
        )
    if till.path is not None:
        hours = till.read(decimal=words["decimal"], encoding=words["encoding"])
        notes = (*notes, *hours.notes)
        with working("reading the hours …"):
            by_hours = detect_stockouts(hours)
    with working("learning from the table …"):
        fitted = plan.fit(read.table)
    found = fitted.diagnosis_
    files = []
    if words["report"] is not None:
        title = f"Diagnosis of {table.name}"
        content = report_data(fitted, notes=notes, title=title, **_about(words))
        files = write_report(content, words["report"])
    one_age = getattr(fitted.estimator_, "found_", {}).get("text")  # without features
    if words["as_json"]:
        plain = {} if found is None else found.to_dict()
        if one_age:
            plain["text"] = one_age
        if by_hours is not None:
            plain["hours"] = by_hours.describe()
        print_json({**plain, "table_notes": (*notes, *fitted.notes_)}, files)
    else:
        how = [(f"--{name}", words[name]) for name in ("decimal", "sheet", "encoding")]
        typed = [word for name, value in how if value for word in (name, value)]
        command = fit_command(plan, str(table), "model.unmet", *typed)
        said = summarise(fitted, command, costs_given=costs_given)
        if said:
            typer.echo(as_options(f"{fitted.n_rows_:,} rows of {table.name}\n{said}"))
        if one_age:
            typer.echo(f"\n{one_age}")
        elif words["details"] or not said:
            typer.echo(f"\n{found}" if said else str(found))
        if by_hours is not None:
            typer.echo(f"\n{by_hours.describe()}\n{surest(by_hours)}")
        remark((*notes, *fitted.notes_))
    show_files(files)
    unidentified = found is not None and found.identified == "no"
    return UNIDENTIFIED if words["fail_if_unidentified"] and unidentified else 0


def fit(table: _Table, *, plan: DecisionPlan, words: dict[str, Any]) -> None:
    """Learn decisions from a table and save the model."""
    from unmet import planning
    from unmet.persistence import save
    from unmet.planning.decision_models import plain_why
    from unmet.progress import report_progress
    from unmet.report import report_data

    output = words["output"]
    check_output(output, "--output", taken=[table])
    check_output(words["report"], "--report", REPORTS, [table, output])
    read = _read(table, plan, words)
    with working("learning from the table …"):
        fitted = plan.fit(read.table, explain=words["explain"])
    if words["compare"] and (plan.features or plan.calendar):  # else there is nothing to compare
        with report_progress() as step:
            fitted.comparison_ = planning.compare(plan, read.table, progress=step)
    files = [save(fitted, output, about={"command": command_line(), "rows": fitted.n_rows_})]
    title = f"Model from {table.name}"
    content = report_data(fitted, notes=read.notes, title=title, **_about(words))
    files += write_report(content, words["report"])
    found, compared, chosen = fitted.diagnosis_, fitted.comparison_, fitted.choice_
    if words["as_json"]:
        plain = {
            "inputs": content["inputs"],
            "answer": content["answer"],
            "choice": None if chosen is None else chosen.to_dict(),
            "diagnosis": None if found is None else found.to_dict(),
            "comparison": None if compared is None else compared.to_dict(),
            "notes": content["notes"],
        }
        print_json(plain, files)
    else:
        for line in content["answer"]:
            typer.echo(as_options(line))
        if compared is not None:
            show_comparison(compared, plan.problem, details=words["details"])
            remark(note for note in compared.notes if note.startswith("Left out"))
        if words["details"] and found is not None:
            typer.echo(f"\n{found}")
        if chosen is not None and not words["details"]:
            remark(plain_why(chosen) if note == chosen.why else note for note in content["notes"])
        else:
            remark(content["notes"])
    show_files(files)


def decide(
    model: _Model,
    table: Annotated[Path, typer.Argument(help="CSV, Excel or Parquet file with the features.")],
    *,
    words: dict[str, Any],
) -> None:
    """Add a column of decisions to a table."""
    from unmet.planning import decision_table
    from unmet.report import report_data
    from unmet.report.sentences import answer
    from unmet.tables.dialect import Dialect, as_text

    output, name = words["output"], words["name"]
    check_output(output, "--output", TABLES, [table, model])
    check_output(words["report"], "--report", REPORTS, [table, model, output])
    plan = _load_plan(model)
    read = _read(table, plan, words)
    rows = read.table
    if not name or name in rows.columns:
        raise InvalidInput(f"--name must be a new column, got {name!r}.")
    room = _room(words, plan)
    with working("deciding …"):
        found = plan.decide(rows, **room)
        parts = _parts(plan, rows, name, room) if words["explain"] else []
    columns = [*parts, _column(name, found.decision)]
    decided = rows.with_columns(columns)
    # what was read from text is written as it was, the store 007 and the date 2.5.2024
    written = decided if read.cells is None else read.cells.with_columns(columns)
    shown, notes = decision_table(rows, plan, found), (*read.notes, *found.notes)
    files = []
    if output is not None:
        is_text = output.suffix.lower() == ".csv"
        files = [write_table(written if is_text else decided, output, read.dialect)]
    if words["report"] is not None:
        content = report_data(plan, decisions=shown, notes=notes, **_about(words))
        files += write_report(content, words["report"])
    remark(notes)
    if words["as_json"]:
        finite = decided[name].drop_nulls()
        total = float(finite.sum())
        mean = total / finite.len() if finite.len() else None
        plain: dict[str, Any] = {"rows": decided.height, "total": total, "mean": mean}
        if parts:
            plain["parts"] = {part.name: float(part.sum()) for part in parts}
        print_json({**plain, "notes": notes}, files)
    elif output is None:
        # the terminal has line ends and an encoding of its own
        printed = replace(read.dialect or Dialect(), line_end="\n")
        typer.echo(as_text(written, printed), nl=False)
    else:
        for line in answer(plan, shown, None):
            typer.echo(as_options(line))
    show_files(files)


def evaluate(
    model: _Model,
    table: Annotated[
        Path, typer.Argument(help="CSV, Excel or Parquet file with features and truth.")
    ],
    *,
    words: dict[str, Any],
) -> None:
    """Evaluate a model's decisions beside those of one that ignores censoring.

    On the truth, or without it on rows that were seen whole, weighted for those that sold out.
    """
    from unmet import planning

    plan = _load_plan(model)
    room = _room(words, plan)
    read = _read(table, plan, words)
    told = {name.removesuffix("_column"): words[name] for name in _FLAGS if words[name]}
    found = planning.evaluate(plan, read.table, words["truth"], columns=told or None, **room)
    found = replace(found, notes=(*read.notes, *found.notes))
    remark(found.notes)
    if words["as_json"]:
        print_json(found.to_dict())
    else:
        show_comparison(found, plan.problem, details=words["details"])


def compare(table: _Table, *, plan: DecisionPlan, words: dict[str, Any]) -> None:
    """Compare with other methods on rows that none of them has learned from.

    With a date every method learns only from the days before those that are held out.
    """
    from unmet import planning
    from unmet.progress import report_progress
    from unmet.report import report_data
    from unmet.validation import Maybe, WholeNumber

    check_output(words["report"], "--report", REPORTS, [table])
    held_out = {
        "n_splits": WholeNumber(1)("folds", words["folds"]),
        "horizon": Maybe(WholeNumber(1))("horizon", words["horizon"]),
    }
    room = _room(words, plan)
    read = _read(table, plan, words)
    with report_progress() as progress:
        found = planning.compare(
            plan, read.table, truth=words["truth"], **held_out, **room, progress=progress
        )
    found = replace(found, notes=(*read.notes, *found.notes))
    files = []
    if words["report"] is not None:
        title, fitted = f"Comparison on {table.name}", plan.fit(read.table)
        content = report_data(fitted, comparison=found, title=title, **_about(words))
        files = write_report(content, words["report"])
    if words["as_json"]:
        print_json(found.to_dict(), files)
    else:
        show_comparison(found, plan.problem, details=words["details"])
    remark(found.notes)
    show_files(files)


# --- What several of them do.


def _about(words: dict[str, Any]) -> dict[str, Any]:
    return {"command": command_line(), "currency": words["currency"]}


def _read(table: Path, plan: DecisionPlan, words: dict[str, Any]) -> TableFile:
    """Table of a file, with the columns as text that the plan takes for names."""
    from unmet.tables.reading import read_file

    how = {name: words[name] for name in ("decimal", "sheet", "encoding")}
    return read_file(table, text=plan.text_columns, **how)


def _load_plan(path: Path) -> DecisionPlan:
    """Fitted plan from a file that `unmet fit` wrote."""
    from unmet.persistence import load
    from unmet.planning import DecisionPlan

    plan = load(path)
    if not isinstance(plan, DecisionPlan):
        raise InvalidInput(
            f"{path} must be a plan that unmet fit has written, got a {type(plan).__name__}."
        )
    return plan


def _room(words: dict[str, Any], plan: DecisionPlan) -> dict[str, Any]:
    """Read what can be carried out, as `DecisionPlan.decide` takes it."""
    usual = 1.0 if plan.problem == "newsvendor" else None
    step = usual if words["step"] is None else lot_size(words["step"])
    return {"step": step, **{name: words[name] for name in ("lower", "upper", "minimum")}}


def _parts(plan: DecisionPlan, rows: Any, name: str, room: dict[str, Any]) -> list[Any]:
    """Say what each order consists of, in columns."""
    import polars.selectors as cs

    found = plan.explain(rows, **room).drop("decision").with_columns(cs.float().round(4))
    for column in found.columns:
        if column in rows.columns or column == name:
            raise InvalidInput(
                f"--explain adds a column {column!r}, got a table or a --name that has it already."
            )
    return found.get_columns()


def _column(name: str, decision: Any) -> Any:
    """Decisions as a column; whole numbers without a point, and nothing where no plan pays."""
    import numpy as np
    import polars as pl

    column = pl.Series(name, np.where(np.isfinite(decision), decision, np.nan)).fill_nan(None)
    known = decision[np.isfinite(decision)]
    if known.size and (known == np.round(known)).all():
        return column.cast(pl.Int64)
    return column


# --- The demo: the main job on bundled data, by the commands that users run themselves.


def demo(
    output: Annotated[
        Path, typer.Option(help="Folder for tables, model, orders and report; made when missing.")
    ] = Path("out"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """From sales to orders on bundled data: plan, diagnose, fit, decide, evaluate, report."""
    import json
    from contextlib import redirect_stdout
    from io import StringIO

    from unmet.cli.main import app
    from unmet.files import prepare_folder
    from unmet.planning import example

    prepare_folder(output)
    tables = example()
    named = {"sales": tables.sales, "next_quarter": tables.coming, "truth": tables.truth}
    files = [write_table(table, output / f"{name}.csv") for name, table in named.items()]
    steps = _steps(output)

    def run(words: list[str]) -> None:
        remember(words)
        app(args=words, prog_name="unmet", standalone_mode=False)

    if as_json:
        commands = [shlex.join(["unmet", *words]) for _, words in steps]
        found: dict[str, Any] = {"commands": commands}
        for _, words in steps:
            with redirect_stdout(StringIO()) as printed:
                run([*words, "--json"])
            found[words[0]] = json.loads(printed.getvalue())
        made = [output / name for name in ("model.unmet", "orders.csv", "report.html")]
        print_json(found, [*files, *made])
        return
    typer.echo(
        "A restaurant orders 1.15 times the mean sales of the last four same weekdays, and sells "
        "out on four\ndays of ten. Demand is real (YAZ data), and only the last step looks at it.\n"
    )
    for title, words in steps:
        typer.echo(f"{title}\n$ {shlex.join(['unmet', *words])}")
        run(words)
        typer.echo("")
    typer.echo(f"Now open {output / 'report.html'} in a browser.")


def _steps(folder: Path) -> list[tuple[str, list[str]]]:
    """Title and words of each command."""
    from unmet.planning.example import EXAMPLE

    costs = ["--underage", f"{EXAMPLE['underage']:g}", "--overage", f"{EXAMPLE['overage']:g}"]
    columns = [
        *("--observed", EXAMPLE["observed"], "--features", ",".join(EXAMPLE["features"])),
        *("--date", EXAMPLE["date"], "--series", ",".join(EXAMPLE["series"])),
        *costs,
    ]
    names = ("sales.csv", "next_week.csv", "model.unmet", "next_quarter.csv", "orders.csv")
    sales, week, model, coming, orders = (str(folder / name) for name in names)
    report, truth = str(folder / "report.html"), str(folder / "truth.csv")
    plan = ["plan", sales, "--horizon", "7", *costs, "-o", week]
    learn = ["fit", sales, *columns, "--compare", "-o", model]
    decide = ["decide", model, coming, "-o", orders, "--report", report]
    return [
        ("1. Next week's orders, from the table alone", plan),
        ("2. Do sales hide demand?", ["diagnose", sales, *columns]),
        ("3. Learn, and compare with other methods on days held out", learn),
        ("4. Order for the next quarter", decide),
        ("5. What would it have cost?", ["evaluate", model, truth, "--truth", "demand"]),
    ]
