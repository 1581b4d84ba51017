"""The log on the command line: read before a plan learns, written when all else is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from unmet.cli.output import check_output, read_beside
from unmet.errors import InvalidInput

if TYPE_CHECKING:
    import polars

    from unmet.planning import DecisionLog, Schema


@dataclass(frozen=True)
class LogFiles:
    """The log, and a table of what was decided or delivered since it was written.

    Attributes
    ----------
    log, decided : Path or None
    """

    log: Path | None
    decided: Path | None
    _entered: list[Callable[[DecisionLog], DecisionLog]] = field(default_factory=list, init=False)

    def check(self, taken: Sequence[Path | None] = ()) -> None:
        """Complain of a log that cannot be written, or of decisions that none would take."""
        if self.decided is not None and self.log is None:
            raise InvalidInput("--log must be given where --decided is: it keeps what was decided.")
        check_output(self.log, "--log", (".parquet",), [*taken, self.decided])

    def read(
        self,
        schema: Schema,
        rows: polars.DataFrame,
        dates: Sequence[str],
        decimal: str | None,
        encoding: str | None,
    ) -> DecisionLog | None:
        """Read the log, or begin one, and write down what was decided.

        Parameters
        ----------
        schema : Schema
        rows : polars.DataFrame
            The table of sales.
        dates : sequence of str
            What the column of dates may be called in the table of decisions.
        decimal, encoding : str or None
        """
        from unmet.planning import DecisionLog
        from unmet.planning.reading import date_form

        if self.log is None:
            return None
        log = DecisionLog.read(self.log, schema.series)
        if self.decided is None:
            return log
        decided = read_beside(self.decided, rows, decimal, encoding)
        named = [name for name in dates if name in decided.columns]
        date, form = (named or list(dates))[0], date_form(rows, schema.date)
        self._entered.append(lambda found: found.changed(decided, date, form))
        return self._entered[-1](log)

    def write(
        self, log: DecisionLog | None, order_table: polars.DataFrame, date: str
    ) -> list[Path]:
        """Add a table of orders to the log as it is by now: others may have written it."""
        from unmet.planning import DecisionLog

        def enter(found: DecisionLog) -> DecisionLog:
            for each in self._entered:
                found = each(found)
            return found.suggested(order_table, date)

        if log is None or self.log is None:
            return []
        DecisionLog.update(self.log, log.series, enter)
        return [self.log]
