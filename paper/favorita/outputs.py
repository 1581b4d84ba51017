"""What ``python -m paper favorita`` leaves in its folder: tables, a picture, a summary."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import ndtri

from paper.favorita.published import (
    PERISHABLE_FAMILIES,
    PUBLISHED_COEFFICIENTS,
    PUBLISHED_DESCRIPTIVE,
    PUBLISHED_STORE,
    PUBLISHED_STORES,
    PUBLISHED_YEAR,
)
from paper.favorita.sales import FavoritaSales
from paper.favorita.tables import FavoritaTables, StoreRegression
from paper.pictures import BLUE, drawing, print_sentences, terminal_table, write_picture
from unmet.errors import InvalidInput
from unmet.files import Cell, prepare_folder, write_csv, write_text, write_whole

# --- Our numbers beside those that the paper prints, and what there is to say about them.

#: Columns of Table LRResults52Stores that are compared.
TITLES = {
    "rmse": "RMSE",
    "rmse_over_median": "RMSE over median",
    "r2": "R²",
    "adjusted_r2": "Adjusted R²",
    "f": "F",
}
MEASURES = tuple(TITLES)

#: Numbers that differ by no more, as a share of the published one, are the same number: what is
#: left is rounding, and which rows a release of the file has.
SAME = 0.001

Row = dict[str, Cell]


def descriptive_rows(tables: FavoritaTables) -> list[Row]:
    """Rows with ``statistic``, ``ours``, ``published`` and how far apart (Table EDAofStore10).

    Published numbers are there when the tables are those of store 10 in 2016.
    """
    published = asdict(PUBLISHED_DESCRIPTIVE) if is_the_papers(tables) else {}
    return [
        {"statistic": name, **_beside(value, published.get(name))}
        for name, value in asdict(tables.descriptive).items()
    ]


def coefficient_rows(tables: FavoritaTables) -> list[Row]:
    """Rows with ``name``, ``ours``, ``standard_error``, ``published`` and how far apart."""
    published = PUBLISHED_COEFFICIENTS if is_the_papers(tables) else {}
    return [
        {"name": each.name, "ours": None, "standard_error": each.standard_error}
        | _beside(each.value, published.get(each.name))
        for each in tables.coefficients
    ]


def store_rows(tables: FavoritaTables) -> list[Row]:
    """One row per store: position, rows, each measure as ours, published, and how far apart.

    Also the p-value of F, and skewness and excess kurtosis of the residuals, which the paper does
    not print.
    """
    printed = PUBLISHED_STORES if tables.year == PUBLISHED_YEAR else ()
    places = {each.store: (place, each) for place, each in enumerate(printed, start=1)}
    rows = []
    for position, each in enumerate(tables.stores, start=1):
        place, published = places.get(each.store, (None, None))
        row: Row = {
            "position": position,
            "position_published": place,
            "store": each.store,
            "rows": each.n_rows,
        }
        for measure in MEASURES:
            pair = _beside(getattr(each, measure), getattr(published, measure, None))
            row[measure] = pair["ours"]
            row[f"{measure}_published"] = pair["published"]
            row[f"{measure}_difference"] = pair["difference"]
            row[f"{measure}_relative"] = pair["relative"]
        row["p_value"] = each.p_value
        row["skewness"], row["excess_kurtosis"] = each.skewness, each.excess_kurtosis
        row["notes"] = "; ".join(each.notes)
        rows.append(row)
    return rows


def findings(sales: FavoritaSales, tables: FavoritaTables) -> list[str]:
    """Sentences for people: which store and why, how close to the paper, what was left out."""
    return [_choice(tables), *_agreement(tables), *_tests(tables), *_left_out(sales, tables)]


def is_the_papers(tables: FavoritaTables) -> bool:
    """Whether the paper prints tables of this store in this year."""
    return tables.year == PUBLISHED_YEAR and tables.store == PUBLISHED_STORE


def _beside(ours: float | None, published: float | None) -> Row:
    """Both, their difference, and the difference as a share of what is published."""
    if ours is None or published is None:
        return {"ours": ours, "published": published, "difference": None, "relative": None}
    relative = (ours - published) / abs(published) if published else None
    pair: Row = {"ours": ours, "published": published}
    return {**pair, "difference": ours - published, "relative": relative}


def _choice(tables: FavoritaTables) -> str:
    ratio, rmse = tables.smallest_ratio, tables.smallest_rmse
    if ratio == rmse:
        rule = f"Store {ratio} has the smallest RMSE and the smallest RMSE over median"
    else:
        rule = (
            f"The paper's rule does not settle it: store {ratio} has the smallest RMSE over "
            f"median, which decides here, and store {rmse} the smallest RMSE"
        )
    if tables.store != ratio:
        return f"{rule}; store {tables.store} is described because it was asked for."
    return f"{rule}."


def _agreement(tables: FavoritaTables) -> list[str]:
    """How many numbers agree with the paper to the printed digits, and the one that is farthest."""
    if tables.year != PUBLISHED_YEAR:
        return [f"The paper's tables are of {PUBLISHED_YEAR}; there is nothing to compare."]
    sentences = []
    if is_the_papers(tables):
        for what, rows, name in (
            ("Descriptive statistics", descriptive_rows(tables), "statistic"),
            ("Coefficients", coefficient_rows(tables), "name"),
        ):
            pairs = [(str(row[name]), row["difference"], row["relative"]) for row in rows]
            sentences.append(_agreeing(what, pairs, 2))
    rows = store_rows(tables)
    for measure in MEASURES:
        ends = f"{measure}_difference", f"{measure}_relative"
        pairs = [(f"store {row['store']}", row[ends[0]], row[ends[1]]) for row in rows]
        if any(difference is not None for _, difference, _ in pairs):
            sentences.append(_agreeing(f"{TITLES[measure]} of the stores", pairs, 4))
    return sentences


def _agreeing(what: str, pairs: Sequence[tuple[str, Cell, Cell]], decimals: int) -> str:
    """Say how far apart the farthest are, and how many agree to the last printed digit.

    The distance comes first: few may agree to the last of many digits, and all be the same number.
    """
    compared = [
        (name, float(value), float(share))
        for name, value, share in pairs
        if value is not None and share is not None
    ]
    # a little more than half a digit: the printed number was rounded from a binary one
    half_a_digit = 1.001 * 0.5 * 10.0**-decimals
    agree = sum(abs(value) <= half_a_digit for _, value, _ in compared)
    digits = f"{agree} of {len(compared)} agree with the paper to the last printed digit"
    if agree == len(compared):
        return f"{what}: {digits}."
    name, value, share = max(compared, key=lambda pair: abs(pair[2]))
    near = sum(abs(each) <= SAME for _, _, each in compared)
    return (
        f"{what}: {near} of {len(compared)} lie within {SAME:.1%} of the paper's, {digits}; the "
        f"farthest is {name}, {share:+.2%} ({value:+.{decimals}f})."
    )


def _tests(tables: FavoritaTables) -> list[str]:
    """Say how normal the residuals are, and how significant the regressions."""
    store = tables.chosen
    sentences = []
    if store.skewness is not None and store.excess_kurtosis is not None:
        sentences.append(
            f"Residuals of store {store.store}: skewness {show_cell(store.skewness, 2)}, excess "
            f"kurtosis {show_cell(store.excess_kurtosis, 2)}; both are 0 for a normal law."
        )
    tested = [(each.p_value, each.store) for each in tables.stores if each.p_value is not None]
    if tested:
        largest, where = max(tested)
        sentences.append(
            f"F tests: the largest p-value is {show_p(largest)} (store {where}); that of store "
            f"{store.store} is {show_p(store.p_value)}."
        )
    return sentences


def show_p(value: float | None) -> str:
    """Show a p-value; one that is too small for a computer as such."""
    if value is None:
        return "–"
    return f"{value:.1e}" if value > 0 else "below 1e-300"


def _left_out(sales: FavoritaSales, tables: FavoritaTables) -> list[str]:
    sentences = [
        f"Of {sales.rows_read:,} rows of the file, {sales.rows_of_year:,} are of {sales.year} "
        f"({sales.first_date} to {sales.last_date}); groups of date, store and family: "
        f"{sales.table.height:,} with sales, and dropped {sales.dropped_zero:,} without sales and "
        f"{sales.dropped_negative:,} with more returns than sales."
    ]
    sentences += remarks(sales)
    if sales.families != PERISHABLE_FAMILIES:
        sentences.append(
            f"The perishable families are {', '.join(sales.families)}: not the paper's nine."
        )
    if sales.stores_without_sales:
        sentences.append(f"Without sales in {sales.year}: {_stores(sales.stores_without_sales)}.")
    sentences += [f"Left out: {reason}" for reason in tables.left_out.values()]
    noted = [each.store for each in tables.stores if each.notes]
    if noted:
        sentences.append(f"Fitted with fewer dummies (see notes): {_stores(noted)}.")
    if tables.year == PUBLISHED_YEAR:
        ours = {each.store for each in tables.stores}
        printed = {each.store for each in PUBLISHED_STORES}
        if ours - printed:
            sentences.append(f"Not in the paper's table: {_stores(sorted(ours - printed))}.")
        if printed - ours:
            sentences.append(f"In the paper's table only: {_stores(sorted(printed - ours))}.")
    return sentences


def remarks(sales: FavoritaSales) -> list[str]:
    """Sentences on what may be wrong with a file that could be read all the same."""
    sentences = []
    if sales.repeated_rows:
        sentences.append(
            f"{sales.repeated_rows:,} rows of {sales.year} repeat date, store and product of "
            "another row, and their sales were added up: the file may hold the same rows twice."
        )
    first, last = sales.first_date, sales.last_date
    if (first.month, first.day) > (1, 1) or (last.month, last.day) < (12, 31):
        sentences.append(
            f"The file does not cover all of {sales.year}: it goes from {first} to {last}."
        )
    return sentences


def _stores(numbers: Sequence[int]) -> str:
    word = "store" if len(numbers) == 1 else "stores"
    return f"{word} {', '.join(map(str, numbers))}"


# --- What ``python -m paper favorita`` leaves in its folder: tables, a picture, a summary.

_HEAD = """# Favorita, {year}: store {store}

{findings}

## Sales of store {store}

{descriptive}

## Coefficients of store {store}

{coefficients}

## All stores

{stores}
"""
# what readers of the summary look at; everything else is in stores.csv
_OF_STORES = (
    *("position", "store", "rows"),
    *(measure + ending for measure in MEASURES for ending in ("", "_published")),
    *("p_value", "skewness", "excess_kurtosis"),
    "notes",
)


def check_folder(folder: Path) -> None:
    """Say why nothing can be written there, without making anything yet."""
    if folder.exists():
        prepare_folder(folder)
        return
    parent = next(each for each in folder.absolute().parents if each.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InvalidInput(
            f"output must be a folder that can be made, got {folder}: "
            f"nothing can be written to {parent}."
        )


def write(
    sales: FavoritaSales, tables: FavoritaTables, sentences: Sequence[str], folder: Path
) -> list[Path]:
    """Write every file whole; without matplotlib the picture is left out.

    Parameters
    ----------
    sales : FavoritaSales
    tables : FavoritaTables
    sentences : sequence of str
        What the summary says first.
    folder : Path
        Made when missing.

    Returns
    -------
    list of Path
    """
    prepare_folder(folder)
    files = [
        write_whole(folder / "grouped.parquet", sales.table.write_parquet),
        write_whole(folder / "grouped.csv", sales.table.write_csv),
        write_csv(folder / "descriptive.csv", descriptive_rows(tables)),
        write_csv(folder / "coefficients.csv", coefficient_rows(tables)),
        write_csv(folder / "stores.csv", store_rows(tables)),
    ]
    files += write_picture("the QQ plot", folder / "qq", qq_plot, tables.chosen)
    files.append(write_text(folder / "summary.md", summary(tables, sentences)))
    return files


def qq_plot(store: StoreRegression) -> Any:
    """Draw sorted residuals against quantiles of N(0, RMSE²); on the line they would be normal."""
    figure_class, _ = drawing()
    figure = figure_class(figsize=(5.6, 5.2), layout="constrained")
    axes = figure.subplots()
    residuals = np.sort(store.residuals)
    n = len(residuals)
    quantiles = store.rmse * ndtri((np.arange(n) + 0.5) / n)
    ends = [quantiles[0], quantiles[-1]]
    axes.plot(ends, ends, color="black", lw=1, zorder=3, label=f"N(0, {store.rmse:.2f}²)")
    axes.plot(quantiles, residuals, ".", color=BLUE, ms=4, label=f"{n:,} residuals")
    axes.set_xlabel(f"quantiles of N(0, {store.rmse:.2f}²), units sold")
    axes.set_ylabel("residuals of least squares, units sold")
    axes.set_title(
        f"Store {store.store}: residuals against the normal law", fontsize=11, loc="left"
    )
    axes.legend(frameon=False, loc="upper left")
    return figure


def summary(tables: FavoritaTables, sentences: Sequence[str]) -> str:
    """Everything but the grouped data, as Markdown."""
    stores = [{name: row[name] for name in _OF_STORES} for row in store_rows(tables)]
    return _HEAD.format(
        year=tables.year,
        store=tables.store,
        findings="\n".join(f"- {sentence}" for sentence in sentences),
        descriptive=_markdown(descriptive_rows(tables), 2),
        coefficients=_markdown(coefficient_rows(tables), 2),
        stores=_markdown(stores, 4),
    )


def _markdown(rows: Sequence[dict[str, Cell]], decimals: int) -> str:
    names = [name.replace("_", " ") for name in rows[0]]
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for row in rows:
        cells = (show_cell(value, decimals) for value in row.values())
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def show_cell(value: Cell, decimals: int) -> str:
    """Show a number with as many decimals as the paper, a missing one as a dash."""
    if value is None:
        return "–"
    # adding zero turns −0.00 into 0.00
    return (
        f"{round(value, decimals) + 0.0:.{decimals}f}" if isinstance(value, float) else str(value)
    )


# --- The same tables on a terminal: ours, published, difference.

# three tables, because all measures side by side do not fit a terminal of 80 columns
_PARTS = (("rmse", "rmse_over_median"), ("r2", "adjusted_r2"), ("f",))
_NARROW = (0, 1, 0, 0)
_SHORT = {"rmse_over_median": "/median", "adjusted_r2": "adj. R²"}


def show(tables: FavoritaTables, sentences: Sequence[str], files: Sequence[Path]) -> None:
    """Print all tables, what there is to say about them, and where the files are."""
    console = Console(highlight=False)
    store = f"store {tables.store}, {tables.year}"
    console.print(_plain(f"Sales of {store} (Table EDAofStore10)", descriptive_rows(tables)))
    console.print(_plain(f"Coefficients of {store} (Table LRstore10)", coefficient_rows(tables)))
    rows = store_rows(tables)
    for measures in _PARTS:
        console.print(_store_table(rows, measures))
    for row in rows:
        if row["notes"]:
            console.print(f"store {row['store']}: {row['notes']}.", style="dim", markup=False)
    print_sentences(console, sentences, files)


def _plain(title: str, rows: Sequence[Row]) -> Table:
    """Names on the left, numbers with two decimals; no columns without a number."""
    names = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    heads = [name.replace("_", " ") for name in names]
    result = terminal_table(title, heads, padding=_NARROW)
    for row in rows:
        result.add_row(*(show_cell(row[name], 2) for name in names))
    return result


def _store_table(rows: Sequence[Row], measures: Sequence[str]) -> Table:
    """One line per store: each measure, what the paper prints, and the difference."""
    heads = ["no.", "store", "rows"]
    for measure in measures:
        heads += [f"{_SHORT.get(measure, TITLES[measure])}\nours", "\npaper", "\ndiff."]
    title = f"All stores: {', '.join(TITLES[each] for each in measures)} (Table LRResults52Stores)"
    result = terminal_table(title, heads, left=0, padding=_NARROW)
    for column in result.columns:
        column.no_wrap = True
    for row in rows:
        cells = [
            show_cell(row[measure + ending], 4)
            for measure in measures
            for ending in ("", "_published", "_difference")
        ]
        result.add_row(*(str(row[name]) for name in ("position", "store", "rows")), *cells)
    return result


def as_plain(
    sales: FavoritaSales, tables: FavoritaTables, sentences: Sequence[str]
) -> dict[str, Any]:
    """Everything, for JSON."""
    return {
        "year": sales.year,
        "layout": sales.layout,
        "store": tables.store,
        "smallest_rmse": tables.smallest_rmse,
        "smallest_rmse_over_median": tables.smallest_ratio,
        "rows_read": sales.rows_read,
        "rows_of_year": sales.rows_of_year,
        "groups": sales.table.height,
        "dropped_zero": sales.dropped_zero,
        "dropped_negative": sales.dropped_negative,
        "stores_without_sales": list(sales.stores_without_sales),
        "repeated_rows": sales.repeated_rows,
        "left_out": {str(store): reason for store, reason in tables.left_out.items()},
        "descriptive": descriptive_rows(tables),
        "coefficients": coefficient_rows(tables),
        "stores": store_rows(tables),
        "findings": list(sentences),
    }
