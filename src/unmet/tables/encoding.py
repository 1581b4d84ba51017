"""Features of a table as numbers: categories, missing values and calendars inside the pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import polars as pl
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array, Features
from unmet.errors import InvalidInput, Note
from unmet.tables.dates import PARTS, calendar, date_form, fitting_forms, read_dates
from unmet.tables.reading import as_polars, numbers, require_columns

_MISSING = "(missing)"


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn columns of a table into numbers, the same way at every time.

    Numbers stay as they are. Text and what is called a category become one column of 0 and 1 per
    value seen in training. A missing number is replaced by the median of training, with a further
    column that says so if training had any; a missing category is a category of its own. Values
    never seen in training count as none of the known ones; `remarks` names them.

    Parameters
    ----------
    columns : sequence of str
        Columns to use.
    categories : sequence of str, default=()
        Those of them that are categories although they look like numbers, such as store numbers.
    date : str, default=None
        Column of dates for `calendar`.
    calendar : sequence of str, default=()
        Features to make from the date: "weekday", "weekend", "month", "quarter", "day",
        "season" (two waves a year), "trend" (years since the first day).

    Attributes
    ----------
    categories_ : dict of str to list of str
        Values of each category, in order.
    medians_ : dict of str to float
        What replaces missing numbers.
    feature_names_out_ : list of str
    doubts_ : list of str
        Sentences on columns that may not be what they were taken for.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"day": ["Mon", "Tue", "Mon"], "price": [2.0, None, 3.0]})
    >>> encoder = TableEncoder(["day", "price"]).fit(table)
    >>> encoder.feature_names_out_
    ['day = Mon', 'day = Tue', 'price', 'price is missing']
    >>> encoder.transform(pl.DataFrame({"day": ["Tue", "Sun"], "price": [1.0, None]}))
    array([[0. , 1. , 1. , 0. ],
           [0. , 0. , 2.5, 1. ]])
    >>> encoder.remarks(pl.DataFrame({"day": ["Tue", "Sun"], "price": [1.0, 2.0]}))
    ["Values of 'day' that are not in the training data: 'Sun' (1 row)."]
    """

    def __init__(
        self,
        columns: Sequence[str],
        categories: Sequence[str] = (),
        date: str | None = None,
        calendar: Sequence[str] = (),
    ) -> None:
        self.columns = columns
        self.categories = categories
        self.date = date
        self.calendar = calendar

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn categories and medians.

        Parameters
        ----------
        X : table of pandas, polars or pyarrow
        y : ignored

        Returns
        -------
        TableEncoder
            Itself.
        """
        self._check()
        table = as_polars(X)
        self._require(table)
        dates = None if not self.calendar else read_dates(table, str(self.date))
        self.first_day_ = None if dates is None else str(dates.min())
        self.date_form_ = None if dates is None else date_form(table, str(self.date))
        self.doubts_: list[str] = []
        given = self._given(table)
        self.kinds_ = {
            name: "category" if self._is_category(name, given[name]) else "number"
            for name in given.columns
        }
        self.categories_: dict[str, list[str]] = {}
        self.medians_: dict[str, float] = {}
        self.missing_: list[str] = []
        names: list[str] = []
        for name, kind in self.kinds_.items():
            names += self._learn(given, name) if kind == "number" else self._list(given, name)
        self.feature_names_out_ = names
        return self

    def transform(self, X: Any) -> Features:
        """Numbers of each row.

        Parameters
        ----------
        X : table of pandas, polars or pyarrow

        Returns
        -------
        ndarray or scipy.sparse.csr_array of shape (n_rows, n_features_out)
        """
        check_is_fitted(self, "kinds_")
        table = as_polars(X)
        self._require(table)
        given = self._given(table)
        if len(self.feature_names_out_) > 400:  # below, dense is faster
            return self._sparse(given, table.height)
        out = np.zeros((table.height, len(self.feature_names_out_)))
        place = 0
        for name, kind in self.kinds_.items():
            if kind == "number":
                block = self._filled(given, name)
                out[:, place : place + block.shape[1]] = block
                place += block.shape[1]
            else:
                code = self._codes(given[name], name)
                known = np.flatnonzero(code >= 0)
                out[known, place + code[known]] = 1.0
                place += len(self.categories_[name])
        return out

    def remarks(self, X: Any) -> list[str]:
        """Sentences on values that training never saw, and on missing ones that were filled in."""
        check_is_fitted(self, "kinds_")
        table = as_polars(X)
        self._require(table)
        given = self._given(table)
        said: list[str] = []
        for name, kind in self.kinds_.items():
            if kind == "number":
                absent = int(np.isnan(numbers(given, name, "features")).sum())
                if absent:
                    filled = f"Empty cells of {name!r} were filled with the training median, "
                    filled += f"{self.medians_[name]:g}: {count_rows(absent)}."
                    said.append(Note(filled, absent / given.height))
            else:
                said += self._unseen(given[name], name)
        return said

    def get_feature_names_out(self, input_features: Any = None) -> Any:  # noqa: ARG002
        """Names of the numbers, as scikit-learn asks."""
        check_is_fitted(self, "kinds_")
        return np.array(self.feature_names_out_, dtype=object)

    @property
    def sources(self) -> list[str]:
        """Column that each of the numbers was made from."""
        found: list[str] = []
        for name, kind in self.kinds_.items():
            made = 1 + (name in self.missing_) if kind == "number" else len(self.categories_[name])
            found += [name] * made
        return found

    def _check(self) -> None:
        wrong = [part for part in self.calendar if part not in PARTS]
        if wrong:
            raise InvalidInput(f"calendar must be among {', '.join(PARTS)}, got {wrong[0]!r}.")
        if self.calendar and self.date is None:
            raise InvalidInput("calendar needs a column of dates: name it (date=).")
        strange = [name for name in self.categories if name not in self.columns]
        if strange:
            raise InvalidInput(f"categories must be among the features, got {strange[0]!r}.")
        twins = sorted({name for name in self.columns if list(self.columns).count(name) > 1})
        if twins:
            raise InvalidInput(f"features must have no column twice, got {twins[0]!r} twice.")
        if not len(self.columns) and not len(self.calendar):
            raise InvalidInput(
                "features must have at least one column, got none: name one (features=)."
            )

    def _require(self, table: pl.DataFrame) -> None:
        require_columns(table, self.columns, "features")
        if self.calendar:
            require_columns(table, [self.date], "date")

    def _given(self, table: pl.DataFrame) -> pl.DataFrame:
        """Columns used, calendar features included; a column of the same name keeps its own."""
        given = table.select(self.columns)
        if not self.calendar:
            return given
        import datetime

        dates = read_dates(table, str(self.date), getattr(self, "date_form_", None))
        known = getattr(self, "first_day_", None)
        start = datetime.date.fromisoformat(str(known) if known else str(dates.min()))
        made = pl.concat([calendar(dates, part, start) for part in self.calendar], how="horizontal")
        added = made.select(pl.exclude(given.columns))
        return given.hstack(added) if given.width else added

    def _is_category(self, name: str, column: pl.Series) -> bool:
        if column.dtype.is_temporal():
            raise _dates_in(name)
        if name in self.categories:
            return True
        if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
            return False
        self.doubts_ += _doubts(column.cast(pl.String).drop_nulls().unique().sort(), name)
        return True

    def _learn(self, given: pl.DataFrame, name: str) -> list[str]:
        values = numbers(given, name, "features")
        if np.isinf(values).any():
            raise InvalidInput(f"features must be finite, got inf in column {name!r}.")
        seen = values[~np.isnan(values)]
        if not seen.size:
            raise InvalidInput(
                f"features must have values, got only empty cells in column {name!r}: leave it out."
            )
        self.medians_[name] = float(np.median(seen))
        if seen.size == values.size:
            return [name]
        self.missing_.append(name)
        return [name, f"{name} is missing"]

    def _list(self, given: pl.DataFrame, name: str) -> list[str]:
        if given[name].null_count() == given.height:
            raise InvalidInput(
                f"features must have values, got only empty cells in column {name!r}: leave it out."
            )
        values = as_categories(given[name]).unique().sort().to_list()
        self.categories_[name] = values
        return [f"{name} = {value}" for value in values]

    def _filled(self, given: pl.DataFrame, name: str) -> Array:
        values = numbers(given, name, "features")
        if np.isinf(values).any():
            raise InvalidInput(f"features must be finite, got inf in column {name!r}.")
        absent = np.isnan(values)
        filled = np.where(absent, self.medians_[name], values)
        return np.column_stack([filled, absent] if name in self.missing_ else [filled])

    def _codes(self, column: pl.Series, name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        values = self.categories_[name]
        code = as_categories(column).replace_strict(
            values, list(range(len(values))), default=-1, return_dtype=pl.Int64
        )
        return code.to_numpy()

    def _sparse(self, given: pl.DataFrame, n_rows: int) -> sparse.csr_array:
        blocks = []
        for name, kind in self.kinds_.items():
            if kind == "number":
                blocks.append(sparse.csr_array(self._filled(given, name)))
                continue
            code = self._codes(given[name], name)
            known = np.flatnonzero(code >= 0)
            shape = (n_rows, len(self.categories_[name]))
            blocks.append(
                sparse.csr_array((np.ones(known.size), (known, code[known])), shape=shape)
            )
        return sparse.csr_array(sparse.hstack(blocks, format="csr"))

    def _unseen(self, column: pl.Series, name: str) -> list[str]:
        text = as_categories(column)
        strange = text.filter(~text.is_in(self.categories_[name]))
        if not strange.len():
            return []
        values = strange.unique().sort().to_list()
        shown = ", ".join(repr(value) for value in values[:5])
        more = f" and {len(values) - 5} more" if len(values) > 5 else ""
        said = f"Values of {name!r} that are not in the training data: {shown}{more} "
        return [Note(f"{said}({count_rows(strange.len())}).", strange.len() / text.len())]


def as_categories(column: pl.Series) -> pl.Series:
    """Give values of a column as text; those that are missing are a category of their own."""
    if column.dtype.is_float():  # whole numbers become floats where some are missing: 7.0 is 7
        whole = column.cast(pl.Int64, strict=False)
        same = whole.cast(column.dtype) == column
        column = whole.cast(pl.String).zip_with(same.fill_null(False), column.cast(pl.String))
    return column.cast(pl.String).fill_null(_MISSING)


def _doubts(values: pl.Series, name: str) -> list[str]:
    """Refuse dates, and say so where most values of a category look like numbers."""
    if values.str.contains(r"[-/.]").all() and values.len() and fitting_forms(values):
        raise _dates_in(name)
    plain = values.str.strip_chars().str.replace_all(",", ".", literal=True)
    numeric = plain.cast(pl.Float64, strict=False).is_not_null()
    strange = values.filter(values.cast(pl.Float64, strict=False).is_null())
    if not strange.len() or 2 * numeric.sum() < values.len():
        return []
    return [
        Note(
            f"Column {name!r} was read as {values.len():,} categories, because {strange[0]!r} is "
            "not a number."
        )
    ]


def _dates_in(name: str) -> InvalidInput:
    return InvalidInput(
        f"features must be numbers or text, got dates in column {name!r}: "
        "use calendar features such as weekday and month instead (date=, calendar=)."
    )


def count_rows(count: int) -> str:
    """Say how many rows, such as "1 row"."""
    return "1 row" if count == 1 else f"{count:,} rows"
