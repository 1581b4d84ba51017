"""The commands for your own tables: diagnose, fit, decide, evaluate, compare; and the demo.

Each reads words and files, asks `unmet.planning`, and prints; nothing is computed here.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmet.cli.hours import Closes, HourFiles, Opens, TimeZone, surest
from unmet.cli.options import Decimal, Encoding, Sheet, lot_size
from unmet.cli.output import (
    as_options,
    check_output,
    check_report,
    check_table,
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
_Step = Annotated[
    str | None,
    typer.Option(help="Size of a lot; 'none' keeps fractions. By default 1 for orders, else none."),
]
_Lower = Annotated[float, typer.Option(help="Least decision.")]
_Upper = Annotated[float | None, typer.Option(help="Greatest decision.")]
_Minimum = Annotated[float | None, typer.Option(help="Least order, if anything is ordered at all.")]
_Report = Annotated[Path | None, typer.Option(help="Write an HTML report here.")]
_Currency = Annotated[str, typer.Option(help="What the report counts money in: €, EUR, …")]
_Details = Annotated[
    bool, typer.Option("--details", help="Show the statistics behind the answer, too.")
]
_Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="Add what each order consists of: usual sales, hidden demand, cost of running out "
        "and rounding. Needs a model fitted with --explain.",
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

_EVEN_COSTS = (
    "No costs were given, so a unit too little and a unit too much are taken to cost 1 each "
    "(--underage, --overage)."
)
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
    table: _Table,
    *,
    plan: DecisionPlan,
    decimal: Decimal = None,
    sheet: Sheet = None,
    encoding: Encoding = None,
    report: _Report = None,
    currency: _Currency = "",
    fail_if_unidentified: Annotated[
        bool, typer.Option(help="Leave with exit code 3 if the data cannot tell.")
    ] = False,
    hourly: Annotated[
        Path | None,
        typer.Option(help="Sales by the hour: say which days the silence of the till gives away."),
    ] = None,
    receipts: Annotated[
        Path | None, typer.Option(help="Or receipts: time, item, units; they tell the same.")
    ] = None,
    opens: Opens = None,
    closes: Closes = None,
    time_zone: TimeZone = None,
    details: _Details = False,
    as_json: _Json = False,
    costs_given: bool = True,
) -> int:
    """Say how much the observations hide, and how surely.

    Without costs, a unit too little and a unit too much are taken to cost 1 each.
    """
    from unmet.censoring.hours import detect_stockouts
    from unmet.planning import report_data, summarise
    from unmet.planning.plan_options import fit_command

    check_report(report, [table])
    if not hasattr(plan.rule, "fit"):
        raise InvalidInput(f"diagnose needs band 'latent', got {plan.words.rpartition(', ')[2]!r}.")
    till = HourFiles(hourly, receipts, opens, closes, time_zone)
    till.check()
    read = _read(table, plan, decimal, sheet, encoding)
    by_hours, notes = None, read.notes
    if not costs_given:
        notes = (*notes, _EVEN_COSTS)
    if till.path is not None:
        hours = till.read(decimal=decimal, encoding=encoding)
        notes = (*notes, *hours.notes)
        with working("reading the hours …"):
            by_hours = detect_stockouts(hours)
    with working("learning from the table …"):
        fitted = plan.fit(read.table)
    found = fitted.diagnosis_
    content = report_data(
        fitted,
        notes=notes,
        command=command_line(),
        title=f"Diagnosis of {table.name}",
        currency=currency,
    )
    files = write_report(content, report)
    one_age = getattr(fitted.estimator_, "found_", {}).get("text")  # without features
    if as_json:
        plain = {} if found is None else found.to_dict()
        if one_age:
            plain["text"] = one_age
        if by_hours is not None:
            plain["hours"] = by_hours.describe()
        print_json({**plain, "table_notes": (*notes, *fitted.notes_)}, files)
    else:
        how = {"--decimal": decimal, "--sheet": sheet, "--encoding": encoding}
        typed = [word for name, value in how.items() if value for word in (name, value)]
        command = fit_command(plan, str(table), "model.unmet", *typed)
        said = summarise(fitted, command, costs_given=costs_given)
        if said:
            typer.echo(as_options(f"{fitted.n_rows_:,} rows of {table.name}\n{said}"))
        if one_age:
            typer.echo(f"\n{one_age}")
        elif details or not said:
            typer.echo(f"\n{found}" if said else str(found))
        if by_hours is not None:
            typer.echo(f"\n{by_hours.describe()}\n{surest(by_hours)}")
        remark((*notes, *fitted.notes_))
    show_files(files)
    unidentified = found is not None and found.identified == "no"
    return UNIDENTIFIED if fail_if_unidentified and unidentified else 0


def fit(
    table: _Table,
    *,
    plan: DecisionPlan,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to save the model.")] = Path(
        "model.unmet"
    ),
    comparing: Annotated[
        bool,
        typer.Option(
            "--compare/--no-compare",
            help="Compare with other methods on rows held out, for the reports of this model.",
        ),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Keep what takes orders apart, for unmet decide --explain: at most two more "
            "models at even costs.",
        ),
    ] = False,
    decimal: Decimal = None,
    sheet: Sheet = None,
    encoding: Encoding = None,
    report: _Report = None,
    currency: _Currency = "",
    details: _Details = False,
    as_json: _Json = False,
) -> None:
    """Learn decisions from a table and save the model."""
    from unmet import planning
    from unmet.persistence import save
    from unmet.progress import report_progress

    check_output(output, "--output", taken=[table])
    check_report(report, [table, output])
    read = _read(table, plan, decimal, sheet, encoding)
    with working("learning from the table …"):
        fitted = plan.fit(read.table, explain=explain)
    if comparing and (plan.features or plan.calendar):  # else there is nothing to compare
        with report_progress() as step:
            fitted.comparison_ = planning.compare(plan, read.table, progress=step)
    about = {"command": command_line(), "rows": fitted.n_rows_}
    files = [save(fitted, output, about=about)]
    content = planning.report_data(
        fitted,
        notes=read.notes,
        command=command_line(),
        title=f"FittedModel from {table.name}",
        currency=currency,
    )
    files += write_report(content, report)
    found, compared = fitted.diagnosis_, fitted.comparison_
    if as_json:
        plain = {
            "inputs": dict(content.inputs),
            "answer": content.answer,
            "choice": None if fitted.choice_ is None else fitted.choice_.to_dict(),
            "diagnosis": None if found is None else found.to_dict(),
            "comparison": None if compared is None else compared.to_dict(),
            "notes": content.notes,
        }
        print_json(plain, files)
    else:
        for line in content.answer:
            typer.echo(as_options(line))
        if compared is not None:
            show_comparison(compared, plan.problem, details=details)
            remark(note for note in compared.notes if note.startswith("Left out"))
        if details and found is not None:
            typer.echo(f"\n{found}")
        from unmet.planning.decision_models import plain_why

        chosen = fitted.choice_
        if chosen is not None and not details:
            remark(plain_why(chosen) if note == chosen.why else note for note in content.notes)
        else:
            remark(content.notes)
    show_files(files)


def decide(
    model: _Model,
    table: Annotated[Path, typer.Argument(help="CSV, Excel or Parquet file with the features.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="CSV, Excel or Parquet file to write; by default CSV is printed.",
        ),
    ] = None,
    step: _Step = None,
    lower: _Lower = 0.0,
    upper: _Upper = None,
    minimum: _Minimum = None,
    name: Annotated[str, typer.Option(help="Name of the new column.")] = "decision",
    explain: _Explain = False,
    decimal: Decimal = None,
    sheet: Sheet = None,
    encoding: Encoding = None,
    report: _Report = None,
    currency: _Currency = "",
    as_json: _Json = False,
) -> None:
    """Add a column of decisions to a table."""
    from unmet.planning import decision_table, report_data
    from unmet.planning.decision_report import answer
    from unmet.tables.dialect import Dialect, as_text

    check_table(output, [table, model])
    check_report(report, [table, model, output])
    plan = _load_plan(model)
    read = _read(table, plan, decimal, sheet, encoding)
    rows = read.table
    if name in rows.columns:
        raise InvalidInput(f"--name must be a new column, got {name!r}, which {table} has already.")
    if not name:
        raise InvalidInput("--name must not be empty.")
    lot = _lot(step, plan.problem)
    with working("deciding …"):
        found = plan.decide(rows, lot, lower, upper, minimum)
        parts = _parts(plan, rows, name, lot, lower, upper, minimum) if explain else []
    columns = [*parts, _column(name, found.decision)]
    decided = rows.with_columns(columns)
    # what was read from text is written as it was, the store 007 and the date 2.5.2024
    written = decided if read.cells is None else read.cells.with_columns(columns)
    typed = output is not None and output.suffix.lower() != ".csv"
    shown = decision_table(rows, plan, found)
    notes = (*read.notes, *found.notes)
    content = report_data(
        plan,
        decisions=shown,
        notes=notes,
        command=command_line(),
        currency=currency,
    )
    files = []
    if output is not None:
        files = [write_table(decided if typed else written, output, read.dialect)]
    files += write_report(content, report)
    remark(notes)
    if as_json:
        finite = decided[name].drop_nulls()
        total = float(finite.sum())
        plain: dict[str, Any] = {
            "rows": decided.height,
            "total": total,
            "mean": total / finite.len() if finite.len() else None,
            "notes": notes,
        }
        if explain:
            plain["parts"] = {part.name: float(part.sum()) for part in parts}
        print_json(plain, files)
    elif output is None:
        # the terminal has line ends and an encoding of its own
        printed = replace(read.dialect or Dialect(), line_end="\n")
        typer.echo(as_text(written, printed), nl=False)
    else:
        for line in answer(plan, shown, None):
            typer.echo(as_options(line))
    show_files(files)


def _parts(plan: DecisionPlan, rows: Any, name: str, *room: Any) -> list[Any]:
    """Say what each order consists of, in columns."""
    import polars.selectors as cs

    found = plan.explain(rows, *room).drop("decision").with_columns(cs.float().round(4))
    for column in found.columns:
        if column in rows.columns or column == name:
            raise InvalidInput(
                f"--explain adds a column {column!r}, got a table or a --name that has it already."
            )
    return found.get_columns()


def _read(
    table: Path, plan: DecisionPlan, decimal: str | None, sheet: str | None, encoding: str | None
) -> TableFile:
    """Table of a file, with the columns as text that the plan takes for names."""
    from unmet.tables.reading import read_file

    return read_file(table, text=plan.text_columns, decimal=decimal, sheet=sheet, encoding=encoding)


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


def _lot(text: str | None, problem: str) -> float | None:
    if text is None:
        return 1.0 if problem == "newsvendor" else None
    return lot_size(text)


def _column(name: str, decision: Any) -> Any:
    """Decisions as a column; whole numbers without a point, and nothing where no plan pays."""
    import numpy as np
    import polars as pl

    column = pl.Series(name, np.where(np.isfinite(decision), decision, np.nan)).fill_nan(None)
    known = decision[np.isfinite(decision)]
    if known.size and (known == np.round(known)).all() and np.abs(known).max() < 2**53:
        return column.cast(pl.Int64)
    return column


def evaluate(
    model: _Model,
    table: Annotated[
        Path, typer.Argument(help="CSV, Excel or Parquet file with features and truth.")
    ],
    truth: Annotated[
        str | None,
        typer.Option(
            help="Column of the truth, such as demand. Without it, orders are evaluated on rows "
            "that flags or stock say were seen whole."
        ),
    ] = None,
    censored_column: Annotated[
        str | None, typer.Option(help="Flags to evaluate by; by default those of the model.")
    ] = None,
    stock_column: Annotated[
        str | None, typer.Option(help="Stock to evaluate by; by default that of the model.")
    ] = None,
    step: _Step = None,
    lower: _Lower = 0.0,
    upper: _Upper = None,
    minimum: _Minimum = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    encoding: Encoding = None,
    details: _Details = False,
    as_json: _Json = False,
) -> None:
    """Evaluate a model's decisions beside those of one that ignores censoring.

    On the truth, or without it on rows that were seen whole, weighted for those that sold out.
    """
    from unmet import planning

    plan = _load_plan(model)
    lot = _lot(step, plan.problem)
    read = _read(table, plan, decimal, sheet, encoding)
    told = {"censored": censored_column, "stock": stock_column}
    found = planning.evaluate(
        plan,
        read.table,
        truth,
        columns={name: each for name, each in told.items() if each} or None,
        step=lot,
        lower=lower,
        upper=upper,
        minimum=minimum,
    )
    found = replace(found, notes=(*read.notes, *found.notes))
    remark(found.notes)
    if as_json:
        print_json(found.to_dict())
    else:
        show_comparison(found, plan.problem, details=details)


def compare(
    table: _Table,
    *,
    plan: DecisionPlan,
    truth: Annotated[
        str | None, typer.Option(help="Column of the truth, if there is one, to evaluate on.")
    ] = None,
    folds: Annotated[int, typer.Option(help="Blocks of rows held out.")] = 4,
    horizon: Annotated[
        int | None, typer.Option(help="Days in each block; by default shared out evenly.")
    ] = None,
    step: _Step = None,
    lower: _Lower = 0.0,
    upper: _Upper = None,
    minimum: _Minimum = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    encoding: Encoding = None,
    report: _Report = None,
    currency: _Currency = "",
    details: _Details = False,
    as_json: _Json = False,
) -> None:
    """Compare with other methods on rows that none of them has learned from.

    With a date every method learns only from the days before those that are held out.
    """
    from unmet import planning
    from unmet.progress import report_progress
    from unmet.validation import Maybe, WholeNumber

    check_report(report, [table])
    WholeNumber(1)("--folds", folds)
    Maybe(WholeNumber(1))("--horizon", horizon)
    lot = _lot(step, plan.problem)
    read = _read(table, plan, decimal, sheet, encoding)
    with report_progress() as progress:
        found = planning.compare(
            plan,
            read.table,
            truth=truth,
            n_splits=folds,
            horizon=horizon,
            step=lot,
            lower=lower,
            upper=upper,
            minimum=minimum,
            progress=progress,
        )
    found = replace(found, notes=(*read.notes, *found.notes))
    files = []
    if report is not None:
        content = planning.report_data(
            plan.fit(read.table),
            comparison=found,
            command=command_line(),
            title=f"Comparison on {table.name}",
            currency=currency,
        )
        files = write_report(content, report)
    if as_json:
        print_json(found.to_dict(), files)
    else:
        show_comparison(found, plan.problem, details=details)
    remark(found.notes)
    show_files(files)


# --- The demo: the main job on bundled data, by the commands that users run themselves.


def demo(
    output: Annotated[
        Path, typer.Option(help="Folder for tables, model, orders and report; made when missing.")
    ] = Path("out"),
    as_json: _Json = False,
) -> None:
    """From sales to orders on bundled data: plan, diagnose, fit, decide, evaluate, report."""
    from unmet.files import prepare_folder
    from unmet.planning import example

    prepare_folder(output)
    tables = example()
    files = [
        write_table(tables.sales, output / "sales.csv"),
        write_table(tables.coming, output / "next_quarter.csv"),
        write_table(tables.truth, output / "truth.csv"),
    ]
    steps = _steps(output)
    if as_json:
        _run_for_json(steps, files, output)
        return
    typer.echo(
        "A restaurant orders 1.15 times the mean sales of the last four same weekdays, and sells "
        "out on four\ndays of ten. Demand is real (YAZ data), and only the last step looks at it.\n"
    )
    for title, words in steps:
        typer.echo(f"{title}\n$ {shlex.join(['unmet', *words])}")
        _run(words)
        typer.echo("")
    typer.echo(f"Now open {output / 'report.html'} in a browser.")


def _steps(folder: Path) -> list[tuple[str, list[str]]]:
    """Title and words of each command."""
    from unmet.planning.example import EXAMPLE

    columns = [
        *("--observed", EXAMPLE["observed"]),
        *("--features", ",".join(EXAMPLE["features"])),
        *("--date", EXAMPLE["date"], "--series", ",".join(EXAMPLE["series"])),
        *("--underage", f"{EXAMPLE['underage']:g}", "--overage", f"{EXAMPLE['overage']:g}"),
    ]
    sales, model = str(folder / "sales.csv"), str(folder / "model.unmet")
    orders, report = str(folder / "orders.csv"), str(folder / "report.html")
    coming, truth = str(folder / "next_quarter.csv"), str(folder / "truth.csv")
    costs, week = columns[-4:], str(folder / "next_week.csv")
    return [
        (
            "1. Next week's orders, from the table alone",
            ["plan", sales, "--horizon", "7", *costs, "-o", week],
        ),
        ("2. Do sales hide demand?", ["diagnose", sales, *columns]),
        (
            "3. Learn, and compare with other methods on days held out",
            ["fit", sales, *columns, "--compare", "-o", model],
        ),
        (
            "4. Order for the next quarter",
            ["decide", model, coming, "-o", orders, "--report", report],
        ),
        ("5. What would it have cost?", ["evaluate", model, truth, "--truth", "demand"]),
    ]


def _run(words: list[str]) -> Any:
    """Run one command as if it had been typed."""
    from unmet.cli.main import app

    remember(words)
    return app(args=words, prog_name="unmet", standalone_mode=False)


def _run_for_json(steps: list[tuple[str, list[str]]], files: list[Path], folder: Path) -> None:
    """Run all commands and print one object with what each of them printed."""
    import json
    from contextlib import redirect_stdout
    from io import StringIO

    found: dict[str, Any] = {"commands": [shlex.join(["unmet", *words]) for _, words in steps]}
    for _, words in steps:
        with redirect_stdout(StringIO()) as printed:
            _run([*words, "--json"])
        found[words[0]] = json.loads(printed.getvalue())
    made = [folder / name for name in ("model.unmet", "orders.csv", "report.html")]
    print_json(found, [*files, *made])
