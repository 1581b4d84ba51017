"""The commands for your own features: diagnose, fit, decide, evaluate, compare; demo and page.

Each reads options and files, asks `unmet.planning`, and prints; nothing is computed here.
"""

from __future__ import annotations

import os
import shlex
import socket
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmet.cli import output as out
from unmet.cli.options import (
    FILES,
    HOURS,
    READ,
    Named,
    Options,
    amount,
    file,
    flag,
    lot_size,
    word,
)
from unmet.cli.orders import surest, till_file, till_sales, told
from unmet.errors import InvalidInput, MissingPackage, Note

if TYPE_CHECKING:
    from unmet.planning import DecisionPlan


# Heavy imports stand inside the functions, so that `unmet --help` answers at once.

_Table = Annotated[Path, typer.Argument(help="CSV, Excel or Parquet file.")]
_Model = Annotated[Path, typer.Argument(help="Model file saved by unmet fit.")]
_ROOM: Named = {
    "step": word("Lot size; 'none' keeps fractions. By default 1 for orders, 'none' otherwise."),
    "lower": (float, 0.0, "Smallest decision."),
    "upper": amount("Largest decision."),
    "minimum": amount("Minimum order quantity, if anything is ordered."),
}
DIAGNOSE: Options = {
    "Files": FILES,
    "Hourly sales": HOURS,
    "Exit code": {"fail_if_unidentified": flag("Exit with code 3 if the data cannot tell.")},
}
FIT: Options = {
    "Files": {
        "output": (Path, Path("model.unmet"), "File to save the model to."),
        **FILES,
        "compare": flag("Compare the model with other methods in a backtest."),
        "explain": flag("Save what unmet decide --explain needs; fits two more models."),
    }
}
DECIDE: Options = {
    "Files": {
        "output": file("CSV, Excel or Parquet file to write; by default CSV is printed."),
        "name": (str, "decision", "Name of the new column."),
        "explain": flag(
            "Add the parts of each order: usual sales, hidden demand, cost of running out and "
            "rounding. Needs a model fitted with --explain."
        ),
        **FILES,
    },
    "Limits of orders": _ROOM,
}
_FLAGS: Named = {
    "censored_column": word("Column of stock-out flags; by default that of the model."),
    "stock_column": word("Column of available stock; by default that of the model."),
}
EVALUATE: Options = {
    "Truth": {
        "truth": word(
            "Column of the truth, such as demand; without it, uncensored rows are used, by flags "
            "or stock."
        ),
        **_FLAGS,
    },
    "Limits of orders": _ROOM,
    "Files": READ,
}
COMPARE: Options = {
    "Backtest": {
        "truth": word("Column of the truth to evaluate on, such as demand."),
        "folds": (int, 4, "Number of blocks of rows to hold out."),
        "horizon": (int | None, None, "Days per block; by default all blocks are equally long."),
    },
    "Limits of orders": _ROOM,
    "Files": READ,
}
UNIDENTIFIED = 3
"""Exit code of ``--fail-if-unidentified`` where the data cannot tell."""

EXAMPLES = {
    "app": ("unmet app", "unmet app --port 8600 --no-browser"),
    "demo": ("unmet demo", "unmet demo --output results"),
    "diagnose": (
        "unmet diagnose sales.csv --observed sales --features weekday,month --report report.html",
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
        "unmet decide model.unmet next_week.csv -o orders.csv --explain --report report.html",
        "unmet decide model.unmet next_week.csv -o orders.csv --step 6 --minimum 12 --upper 240",
    ),
    "evaluate": (
        "unmet evaluate model.unmet truth.csv --truth demand",
        "unmet evaluate model.unmet last_month.csv --censored-column out --step 6 --minimum 12",
    ),
    "compare": (
        "unmet compare history.csv --observed sales --features weekday --date date --truth demand "
        "--underage 3 --overage 1 --folds 6 --horizon 7",
    ),
}


def diagnose(
    table: _Table, *, plan: DecisionPlan, words: dict[str, Any], costs_given: bool = True
) -> int:
    """Estimate how much demand the sales hide, and how certain that is.

    Without costs, underage and overage cost 1 each.
    """
    from unmet.censoring.text import statistics, summarise
    from unmet.planning.plan_options import fit_command

    till = till_file(words)
    out.check_files(words, table, till)
    if not hasattr(plan.rule, "fit"):
        raise InvalidInput("--band must be 'latent' for unmet diagnose: leave it out.")
    read = out.read_words(table, words, plan.text_columns)
    by_hours, notes = None, read.notes
    if not costs_given:
        notes = (
            *notes,
            Note("No costs were given, so both costs are 1: set --underage and --overage."),
        )
    if till is not None:
        hours = till_sales(out.read_words(till, words, beside=True), words)
        notes = (*notes, *hours.notes)
        with out.working("reading the hours …"):
            by_hours = told(hours)
    with out.working("fitting the model …"):
        fitted = plan.fit(read.table)
    found = fitted.diagnosis_
    files = out.write_report(fitted, words, notes=notes, title=f"Diagnosis of {table.name}")
    one_age = getattr(fitted.estimator_, "found_", {}).get("text")  # without features
    if words["as_json"]:
        plain = {} if found is None else found.to_dict()
        if one_age:
            plain["text"] = one_age
        if by_hours is not None:
            plain["hours"] = by_hours.describe()
        out.print_json({**plain, "table_notes": (*notes, *fitted.notes_)}, files)
    else:
        how = [(f"--{name}", words[name]) for name in ("decimal", "sheet", "encoding")]
        typed = [word for name, value in how if value for word in (name, value)]
        command = fit_command(plan, str(table), "model.unmet", *typed)
        said = summarise(fitted, command, costs_given=costs_given)
        if said:
            typer.echo(out.as_options(f"{fitted.n_rows_:,} rows of {table.name}\n{said}"))
        if one_age:
            typer.echo(f"\n{one_age}")
        elif words["details"] and found is not None:
            typer.echo("\n".join(["", *statistics(found)]))
        if by_hours is not None:
            typer.echo(f"\n{by_hours.describe()}\n{surest(by_hours)}")
        out.show_notes((*notes, *fitted.notes_), words["details"])
    out.show_files(files)
    unidentified = found is not None and found.identified == "no"
    return UNIDENTIFIED if words["fail_if_unidentified"] and unidentified else 0


def fit(table: _Table, *, plan: DecisionPlan, words: dict[str, Any]) -> None:
    """Fit a decision model to a table and save it."""
    from unmet import planning
    from unmet.persistence import save
    from unmet.progress import report_progress
    from unmet.report.data import decision_inputs
    from unmet.report.sentences import answer

    out.check_files(words, table, output=None)
    read = out.read_words(table, words, plan.text_columns)
    with out.working("fitting the model …"):
        fitted = plan.fit(read.table, explain=words["explain"])
    if words["compare"] and (plan.features or plan.calendar):  # else there is nothing to compare
        with report_progress() as step:
            fitted.comparison_ = planning.compare(plan, read.table, progress=step)
    about = {"command": out.command_line(), "rows": fitted.n_rows_}
    files = [save(fitted, words["output"], about=about)]
    files += out.write_report(fitted, words, notes=read.notes, title=f"Model from {table.name}")
    found, compared, chosen = fitted.diagnosis_, fitted.comparison_, fitted.choice_
    said = answer(fitted, None, compared)
    left_out = () if compared is None else compared.notes
    notes = list(dict.fromkeys((*fitted.notes_, *read.notes, *left_out)))
    if words["as_json"]:
        plain = {
            "inputs": decision_inputs(fitted),
            "answer": said,
            "choice": None if chosen is None else chosen.to_dict(),
            "diagnosis": None if found is None else found.to_dict(),
            "comparison": None if compared is None else compared.to_dict(),
            "notes": notes,
        }
        out.print_json(plain, files)
    else:
        for line in said:
            typer.echo(out.as_options(line))
        if compared is not None:
            out.show_comparison(compared, plan.problem)
        if words["details"] and found is not None:
            typer.echo(f"\n{found}")
        out.show_notes(notes, words["details"])
    out.show_files(files)


def decide(
    model: _Model,
    table: Annotated[Path, typer.Argument(help="CSV, Excel or Parquet file with the features.")],
    *,
    words: dict[str, Any],
) -> None:
    """Add decisions to a table, and a column that flags those outside of the data."""
    import polars as pl

    from unmet.planning import decision_table
    from unmet.report.sentences import answer
    from unmet.tables.dialect import Dialect, as_text

    output, name = words["output"], words["name"]
    plan = _load(model)
    out.check_files(words, table, model)
    read = out.read_words(table, words, plan.text_columns)
    rows = read.table
    if not name or name in (*rows.columns, "outside_data"):
        raise InvalidInput(
            f"--name must be a column that the table does not have, got {name!r}: choose another."
        )
    if "outside_data" in rows.columns:
        raise InvalidInput(
            "The table must not have a column 'outside_data', which unmet decide adds: rename it."
        )
    room = _room(words, plan)
    with out.working("deciding …"):
        found = plan.decide(rows, **room)
        parts = _parts(plan, rows, name, room) if words["explain"] else []
    outside = pl.Series("outside_data", found.outside_data).replace("", None)
    columns = [*parts, _column(name, found.decision), outside]
    decided = rows.with_columns(columns)
    # what was read from text is written as it was, the store 007 and the date 2.5.2024
    written = decided if read.cells is None else read.cells.with_columns(columns)
    shown, notes = decision_table(rows, plan, found), (*read.notes, *found.notes)
    files = []
    if output is not None:
        is_text = output.suffix.lower() == ".csv"
        files = [out.write_table(written if is_text else decided, output, read.dialect)]
    files += out.write_report(plan, words, decisions=shown, notes=notes)
    out.show_notes(notes, words["details"])
    if words["as_json"]:
        finite = decided[name].drop_nulls()
        total = float(finite.sum())
        mean = total / finite.len() if finite.len() else None
        plain: dict[str, Any] = {"rows": decided.height, "total": total, "mean": mean}
        if parts:
            plain["parts"] = {part.name: float(part.sum()) for part in parts}
        out.print_json({**plain, "notes": notes}, files)
    elif output is None:
        # the terminal has line ends and an encoding of its own
        printed = replace(read.dialect or Dialect(), line_end="\n")
        typer.echo(as_text(written, printed), nl=False)
    else:
        for line in answer(plan, shown, None):
            typer.echo(out.as_options(line))
    out.show_files(files)


def evaluate(
    model: _Model,
    table: Annotated[
        Path, typer.Argument(help="CSV, Excel or Parquet file with features and truth.")
    ],
    *,
    words: dict[str, Any],
) -> None:
    """Compare the cost of a model's decisions with a model that ignores censoring.

    Uses the column of the truth, or rows that did not sell out, weighted for those that did.
    """
    from unmet import planning

    plan = _load(model)
    out.check_files(words, table, model)
    room = _room(words, plan)
    read = out.read_words(table, words, plan.text_columns)
    told = {name.removesuffix("_column"): words[name] for name in _FLAGS if words[name]}
    found = planning.evaluate(plan, read.table, words["truth"], columns=told or None, **room)
    _compared(replace(found, notes=(*read.notes, *found.notes)), words, plan.problem)


def compare(table: _Table, *, plan: DecisionPlan, words: dict[str, Any]) -> None:
    """Compare the model with other methods in a backtest.

    With --date, every method learns only from days before those held out.
    """
    from unmet import planning
    from unmet.progress import report_progress
    from unmet.validation import Maybe, WholeNumber

    out.check_files(words, table)
    held_out = {
        "n_splits": WholeNumber(1)("folds", words["folds"]),
        "horizon": Maybe(WholeNumber(1))("horizon", words["horizon"]),
    }
    room = _room(words, plan)
    read = out.read_words(table, words, plan.text_columns)
    with report_progress() as progress:
        found = planning.compare(
            plan, read.table, truth=words["truth"], **held_out, **room, progress=progress
        )
    _compared(replace(found, notes=(*read.notes, *found.notes)), words, plan.problem)


# --- What several of them do.


def _compared(found: Any, words: dict[str, Any], problem: str) -> None:
    """Show what was compared."""
    out.show_notes(found.notes, words["details"])
    if words["as_json"]:
        return out.print_json(found.to_dict())
    return out.show_comparison(found, problem)


def _load(path: Path) -> DecisionPlan:
    from unmet.planning import DecisionPlan

    plan: DecisionPlan = out.load_plan(path, DecisionPlan, "unmet fit has written")
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
                f"--explain adds a column {column!r}, which the table or --name has already: "
                "rename it."
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
        Path, typer.Option(help="Folder for tables, model, orders and report.")
    ] = Path("out"),
) -> None:
    """Run plan, diagnose, fit, decide and evaluate on bundled data."""
    from unmet.cli.main import app
    from unmet.files import prepare_folder
    from unmet.planning import example
    from unmet.planning.example import EXAMPLE

    prepare_folder(output)
    tables = example()
    named = {"sales": tables.sales, "next_quarter": tables.coming, "truth": tables.truth}
    for name, table in named.items():
        out.write_table(table, output / f"{name}.csv")
    typer.echo(
        "A restaurant orders 1.15 times the mean sales of the last four same weekdays and sells "
        "out on four\ndays of ten. Demand is real (YAZ data); only the last step uses it.\n"
    )
    costs = ["--underage", f"{EXAMPLE['underage']:g}", "--overage", f"{EXAMPLE['overage']:g}"]
    columns = [
        *("--observed", EXAMPLE["observed"], "--features", ",".join(EXAMPLE["features"])),
        *("--date", EXAMPLE["date"], "--series", ",".join(EXAMPLE["series"])),
        *costs,
    ]
    names = ("sales.csv", "next_week.csv", "model.unmet", "next_quarter.csv", "orders.csv")
    sales, week, model, coming, orders = (str(output / name) for name in names)
    report, truth = str(output / "report.html"), str(output / "truth.csv")
    steps = {
        "Order for next week": [
            "plan",
            sales,
            "--horizon",
            "7",
            *costs,
            "-o",
            week,
        ],
        "Do sales hide demand?": ["diagnose", sales, *columns],
        "Fit a model and compare it with other methods": [
            "fit",
            sales,
            *columns,
            "--compare",
            "-o",
            model,
        ],
        "Order for the next quarter": ["decide", model, coming, "-o", orders, "--report", report],
        "Evaluate the orders on true demand": ["evaluate", model, truth, "--truth", "demand"],
    }
    for place, (title, words) in enumerate(steps.items(), start=1):
        typer.echo(f"{place}. {title}\n$ {shlex.join(['unmet', *words])}")
        out.remember(words)
        app(args=words, prog_name="unmet", standalone_mode=False)
        typer.echo("")
    typer.echo(f"Now open {report} in a browser.")


# --- The what-if page on this computer.

_ADDRESS = "localhost"


def app(
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 8501,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Open a web page that plans orders from a file and shows how costs change them.

    Only this computer can open the page, and uploaded files stay on it. Ctrl-C stops the page.
    """
    if find_spec("streamlit") is None:
        raise MissingPackage.for_extra("the what-if page", "streamlit", "app")
    used = _free(port)
    address = f"http://{_ADDRESS}:{used}"
    typer.echo(f"The what-if page is at {address} (Ctrl-C stops it).")
    _serve(used, browser)
    raise typer.Abort  # the page ends when somebody stops it, never by itself


def _free(port: int) -> int:
    """Refuse a port that another program listens on; 0 becomes one that is free."""
    from unmet.validation import WholeNumber

    WholeNumber(0, 65535)("port", port)
    with socket.socket() as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind(("127.0.0.1", port))
        except OSError as error:
            raise InvalidInput(
                f"--port must be a free port, got {port} ({error.strerror}): try --port 0."
            ) from None
        return int(attempt.getsockname()[1])


def _options(port: int, browser: bool = False) -> dict[str, str]:
    """Options of streamlit: this computer only, nothing reported to anybody, no tracebacks."""
    from unmet.app.planning import MAX_MEGABYTES

    return {
        "server.address": _ADDRESS,
        "server.port": str(port),
        "server.headless": "false" if browser else "true",
        "server.showEmailPrompt": "false",
        "server.fileWatcherType": "none",
        "server.enableXsrfProtection": "true",
        "server.enableCORS": "true",  # other origins are refused
        "server.maxUploadSize": str(MAX_MEGABYTES),
        "server.disconnectedSessionTTL": "30",  # a page that was closed holds files open until then
        "browser.gatherUsageStats": "false",
        "client.toolbarMode": "minimal",
        "theme.light.primaryColor": "#0072B2",  # of Okabe and Ito, as in the figures
        "theme.dark.primaryColor": "#56B4E9",
        "client.showErrorDetails": "none",
        "logger.hideWelcomeMessage": "true",
    }


def _serve(port: int, browser: bool = False) -> None:
    """Run the page until it is stopped."""
    from streamlit.web import cli

    import unmet.app

    server = Path(str(unmet.app.__file__)).with_name("server.py")
    flags = [f"--{name}={value}" for name, value in _options(port, browser).items()]
    # a page elsewhere whose name comes to mean this computer is not served
    told = os.environ.get("STREAMLIT_SERVER_ALLOWED_HOSTS", "").replace(",", " ").split()
    hosts = ["localhost", "127.0.0.1", "::1", *told]
    flags += [f"--server.allowedHosts={host}" for host in hosts]
    cli.main(["run", str(server), *flags], standalone_mode=False)
