"""The command ``unmet``: one sentence and exit code 2 when something is wrong, no traceback."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import pairwise
from typing import Annotated, Any

import typer

from unmet.cli import commands, orders
from unmet.cli.options import takes_plan, takes_words
from unmet.cli.output import as_options, know_options, remember, show_notes
from unmet.errors import UnmetError

# The base of all complaints about a command line, wherever the installed typer keeps it.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="unmet",
    help="Learn orders, prices and replacement ages from censored data.",
    pretty_exceptions_enable=False,
)


class _Stopped(Exception):  # noqa: N818
    """Somebody pressed Ctrl-C; typer would end with its code, but without a word."""


def _stoppable(command: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(command)
    def run_command(*arguments: Any, **options: Any) -> Any:
        know_options(command)
        try:
            return command(*arguments, **options)
        except KeyboardInterrupt:
            raise _Stopped from None

    return run_command


def add_command(
    command: Callable[..., Any], examples: Sequence[str], group: typer.Typer = app, **how: Any
) -> None:
    """Add a command to a group, with its examples at the end of its help."""
    group.command(epilog="\n\n".join(["Examples:", *examples]), **how)(_stoppable(command))


_EXAMPLES = {**commands.EXAMPLES, **orders.EXAMPLES}
add_command(commands.demo, _EXAMPLES["demo"], rich_help_panel="Start here")
for command in (
    takes_words(orders.plan, orders.PLAN),
    takes_words(orders.replenish, orders.REPLENISH),
    takes_words(orders.uncensor, orders.UNCENSOR),
    takes_words(orders.monitor, orders.MONITOR),
    takes_words(orders.hours, orders.TILL),
    # a diagnosis needs no costs: without them, too little costs as much as too much
    takes_plan(commands.diagnose, commands.DIAGNOSE, underage=1.0, overage=1.0),
    takes_plan(commands.fit, commands.FIT),
    takes_words(commands.decide, commands.DECIDE),
    takes_words(commands.evaluate, commands.EVALUATE),
    takes_plan(commands.compare, commands.COMPARE),
    commands.app,
):
    add_command(command, _EXAMPLES[command.__name__], rich_help_panel="Your own tables")


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.")
    ] = False,
) -> None:
    if show_version:
        from importlib.metadata import version

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
    """Exit code of one command line of ``unmet``; see `run_app`."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return run_app(app, words)


def run_app(group: typer.Typer, words: list[str]) -> int:
    """Exit code of one command line, after a sentence on standard error where it is not 0.

    Codes: 2 wrong input, 3 not identified (with ``--fail-if-unidentified``), 4 the plan should be
    made again, 130 stopped, 1 a bug.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell: >&-
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), "w+"))
    remember(words)
    called, rest = _alone(group, words)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _remark
            code = called(args=rest, prog_name=called.info.name, standalone_mode=False)
            sys.stdout.flush()  # a full disk behind standard output shows only here
    except _UsageError as error:
        elsewhere = _other_command(words[0], getattr(error, "option_name", None))
        said = elsewhere or error.format_message()  # type: ignore[attr-defined]
        wrong = re.match(r"Invalid value for '(.+?)': Input should be a valid (\w+)", said)
        if wrong:
            kind = {"integer": "whole number"}.get(wrong[2], wrong[2])
            value = dict(pairwise(words)).get(wrong[1], "text")
            said = f"{wrong[1]} must be a {kind}, got {value!r}"
        return _complain(said)
    except (_Stopped, KeyboardInterrupt, typer.Abort):
        typer.echo("unmet: stopped.", err=True)
        return 130
    except UnmetError as error:
        return _complain(str(error))
    except BrokenPipeError:
        _forget_output()  # the reader of the pipe has seen enough
        return 0
    except OSError as error:
        reason = error.strerror or str(error)
        _forget_output()
        return _complain(f"{error.filename}: {reason}" if error.filename else reason)
    except MemoryError:
        return _complain("The table does not fit into memory: split it")
    except Exception as error:
        if os.environ.get("UNMET_TRACEBACK"):
            raise
        _complain(
            f"This is a bug in unmet, please report it: {type(error).__name__}: {error} (set "
            "UNMET_TRACEBACK=1 to see where)"
        )
        return 1
    return code if isinstance(code, int) else 0


def _alone(group: typer.Typer, words: list[str]) -> tuple[typer.Typer, list[str]]:
    """Give the command of the first word, and its words; a group where it names none.

    A group reads all options of all its commands, and loads pydantic to read its own.
    """
    for command in group.registered_commands:
        if words and getattr(command.callback, "__name__", None) == words[0]:
            called = typer.Typer(
                name=f"{group.info.name} {words[0]}",
                add_completion=False,
                pretty_exceptions_enable=False,
            )
            called.registered_commands.append(command)
            return called, words[1:]
    return group, words


def _other_command(command: str, option: str | None) -> str | None:
    """Say where an option belongs that somebody gave to the other command of orders."""
    others = {
        "plan": ("replenish", orders.REPLENISH, "for stock that is kept from day to day"),
        "replenish": ("plan", orders.PLAN, "for orders of single days"),
    }
    if command not in others or option is None:
        return None
    name, options, what = others[command]
    known = {f"--{each.replace('_', '-')}" for panel in options.values() for each in panel}
    said = f"{option} is an option of unmet {name}, {what}: run unmet {name}"
    return said if option in known else None


def _forget_output() -> None:
    """Let nothing more be written to standard output at exit where that fails already."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _remark(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning as a sentence, without the line of code it came from."""
    show_notes([" ".join(str(message).split())])


def _complain(sentence: str) -> int:
    one_line = as_options(" ".join(sentence.split())).rstrip(".")
    typer.echo(f"unmet: {one_line}{'' if one_line.endswith('?') else '.'}", err=True)
    return 2
