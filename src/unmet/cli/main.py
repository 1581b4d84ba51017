"""The command ``unmet``: one sentence and exit code 2 when something is wrong, no traceback."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer

from unmet.cli.bounds import bounds
from unmet.cli.demo import demo
from unmet.cli.favorita import favorita
from unmet.cli.reproduce import reproduce
from unmet.errors import UnmetError

# The base of all complaints about a command line, wherever the installed typer keeps it.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="unmet",
    help="Learn decisions from data that never shows the whole truth.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(bounds)
app.command()(demo)
app.command()(favorita)
app.command()(reproduce)


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.")
    ] = False,
) -> None:
    if show_version:
        typer.echo(version("unmet"))
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())
    else:
        return
    raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command line and leave with its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``unmet``; by default those of the process.
    """
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Exit code of one command line: 0, 2 after a sentence on standard error, 130 if stopped."""
    try:
        code = app(args=arguments, prog_name="unmet", standalone_mode=False)
    except _UsageError as error:
        return _complain(error.format_message())  # type: ignore[attr-defined]
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("unmet: stopped.", err=True)
        return 130
    except UnmetError as error:
        return _complain(str(error))
    except OSError as error:
        reason = error.strerror or str(error)
        return _complain(f"{error.filename}: {reason}" if error.filename else reason)
    return code if isinstance(code, int) else 0


def _complain(sentence: str) -> int:
    one_line = " ".join(sentence.split()).rstrip(".")
    typer.echo(f"unmet: {one_line}.", err=True)
    return 2
