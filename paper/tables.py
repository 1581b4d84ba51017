"""The tables: those of the paper with our numbers beside its own, and those it lacks."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from paper import published
from paper.protocol import (
    ESTIMATING,
    IGNORING,
    INSENSITIVE,
    METHODS,
    PAPER_FAMILIES,
    TUNING_LEVEL,
    USUAL,
    Family,
    Results,
    published_hyperparameters,
)
from unmet.evaluation.experiment import latex_table
from unmet.files import Cell, write_text

Row = tuple[Cell, ...]

#: Whose numbers a row has, where ours and the published stand below each other.
OURS, PUBLISHED, DIFFERENCE = "ours", "published", "difference"
NO_SEARCH = "This run took the published values and searched nothing."


def show(cell: Cell, form: str = "") -> str:
    """Print one cell; a dash where there is nothing, a minus sign and no hyphen."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    return cell if isinstance(cell, str) else f"{cell:{form}}".replace("-", "−")


def plain(text: str) -> str:
    """Keep Markdown from reading our signs as its own; code in backticks stays."""
    pieces = text.split("`")
    for place in range(0, len(pieces), 2):
        for sign in ("\\", "|", "*", "_", "<", "["):
            pieces[place] = pieces[place].replace(sign, "\\" + sign)
    return "`".join(pieces)


@cache
def _captions() -> dict[str, list[str]]:
    """Paragraphs of ``captions.md`` by label."""
    text = resources("paper").joinpath("captions.md").read_text(encoding="utf-8")
    parts = (part.strip().split("\n\n") for part in text.split("\n## ")[1:])
    return {label: paragraphs for label, *paragraphs in parts}


def caption(label: str, **words: Any) -> list[str]:
    """Title and notes of a table or figure; a note that a run leaves empty is left out."""
    return list(filter(None, (paragraph.format(**words) for paragraph in _captions()[label])))


@dataclass(frozen=True)
class Table:
    """Rows under columns; title and notes stand in ``captions.md``.

    Attributes
    ----------
    label : str
        The paper's, where it has this table or figure; also the name of the files.
    columns : mapping from head to form
        How numbers are printed, such as ".2f" or "+.1%"; text is printed as it is.
    rows : sequence of tuple of Cell
        Raw values: CSV files keep all digits.
    words : mapping
        What title and notes want to know.
    more : sequence of str
        Further notes.
    forms : sequence of str, optional
        How the numbers of each row are printed, in columns that do not say it themselves.
    folded : bool
        Long: the page opens it on demand.
    """

    label: str
    columns: Mapping[str, str]
    rows: Sequence[Row]
    words: Mapping[str, Any] | None = None
    more: Sequence[str] = ()
    forms: Sequence[str] = ()
    folded: bool = False

    @property
    def title(self) -> str:
        """What it shows."""
        return caption(self.label, **(self.words or {}))[0]

    @property
    def notes(self) -> list[str]:
        """Sentences below it."""
        return [*caption(self.label, **(self.words or {}))[1:], *self.more]

    @property
    def left(self) -> int:
        """How many columns stand left: up to the last that holds words."""
        places = range(len(self.columns))
        with_words = (k for k in places if any(isinstance(row[k], str) for row in self.rows))
        return 1 + max(with_words, default=0)

    def shown(self) -> list[list[str]]:
        """Cells as text."""
        forms = self.forms or ("",) * len(self.rows)
        return [
            [show(cell, own or form) for cell, own in zip(row, self.columns.values(), strict=True)]
            for row, form in zip(self.rows, forms, strict=True)
        ]

    def records(self) -> list[dict[str, Cell]]:
        """Rows by name, for JSON."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def as_markdown(self) -> str:
        """Title, table, notes."""

        def line(cells: Iterable[str]) -> str:
            return f"| {' | '.join(map(plain, cells))} |"

        sides = ("---|" if place < self.left else "---:|" for place in range(len(self.columns)))
        lines = [f"**{plain(self.title)}**", "", line(self.columns), f"|{''.join(sides)}"]
        lines += [line(row) for row in self.shown()]
        for note in self.notes:
            lines += ["", plain(note)]
        return "\n".join(lines) + "\n"

    def write(self, folder: Path) -> list[Path]:
        """Write label.csv, label.md and label.tex, each whole or not at all."""
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows([tuple(self.columns), *self.rows])
        how: dict[str, Any] = {"label": self.label, "notes": self.notes, "left": self.left}
        latex = latex_table(list(self.columns), self.shown(), caption=self.title, **how)
        texts = {"csv": stream.getvalue(), "md": self.as_markdown(), "tex": latex}
        return [
            write_text(folder / f"{self.label}.{ending}", text) for ending, text in texts.items()
        ]


# --- Two shapes of tables with levels across: one row per method, and ours beside the published.

#: Labels of a row, our value at each level, the published ones if there are, how they are printed.
Compared = tuple[tuple[str, ...], Sequence[float | None], Mapping[float, float] | None, str]


def _columns(results: Results, *first: str, form: str = "") -> dict[str, str]:
    return {**dict.fromkeys(first, ""), **{f"α = {a:g}": form for a in results.levels}}


def _by_method(
    results: Results,
    label: str,
    form: str,
    value: Callable[[str, float], float | None],
    *last: Row,
    without: Iterable[str] = (),
) -> Table:
    """Give one row per method, and others below them."""
    rows: list[Row] = [
        (name, meaning, *(value(name, level) for level in results.levels))
        for name, meaning in METHODS.items()
        if name not in without
    ]
    columns = _columns(results, "method", "what it is", form=form)
    return Table(label, columns, [*rows, *last], {"datasets": results.settings.datasets})


def _beside(
    results: Results, label: str, first: tuple[str, ...], lines: Iterable[Compared], **words: str
) -> Table:
    """Ours, and where the paper prints it the published value and ours minus theirs."""
    rows: list[Row] = []
    forms: list[str] = []
    for head, ours, printed, form in lines:
        rows.append((*head, OURS, *ours))
        forms.append(form)
        if printed is None:
            continue
        theirs = [printed.get(level) for level in results.levels]
        apart = [
            None if own is None or other is None else own - other
            for own, other in zip(ours, theirs, strict=True)
        ]
        rows += [(*head, PUBLISHED, *theirs), (*head, DIFFERENCE, *apart)]
        forms += [form, f"+{form}"]
    more = () if results.searches or label != "epsilonSearchResults" else (NO_SEARCH,)
    return Table(label, _columns(results, *first, "whose"), rows, words, more, forms)


# --- §Results.


def _fitting_times(results: Results) -> Table:
    lines: list[Compared] = []
    for name in METHODS:
        ours = results.means(name, "cpu_seconds")
        # milliseconds for what takes milliseconds
        form = ".4f" if max(ours) < 0.1 else ".2f"
        lines.append(((name,), ours, published.FITTING_SECONDS.get(name), form))
    return _beside(results, "trainingTime", ("method",), lines)


def _savings(results: Results) -> Table:
    lines: list[Compared] = []
    for family in PAPER_FAMILIES:
        quoted = published.SAVINGS[family]
        words = f"{INSENSITIVE[family]} over {IGNORING[family]}"
        ours = results.mean_savings(family)
        lines.append(((words,), ours, {quoted.peak: quoted.highest}, ".2%"))
        for reading in results.readings[1:]:
            if INSENSITIVE[family] in reading.methods:
                other = results.read_as(reading).mean_savings(family)
                lines.append(((f"{words}, {reading.name}",), other, None, ".2%"))
        if results.settings.clip:
            kept = results.mean_savings(family, "cost_as_predicted")
            lines.append(((f"{words}, orders below zero kept",), kept, None, ".2%"))
    ranges = "; ".join(
        f"{family} {quoted.lowest:.2%} to {quoted.highest:.2%}, the highest at α = {quoted.peak:g}"
        for family, quoted in published.SAVINGS.items()
    )
    usual = f"{USUAL.name}: {USUAL.meaning}"
    return _beside(results, "percentage", ("saving",), lines, quoted=ranges, usual=usual)


def _service_gaps(results: Results) -> Table:
    lines: list[Compared] = []
    for family in PAPER_FAMILIES:
        for other, baseline in (("EAS", ESTIMATING[family]), ("IEO", IGNORING[family])):
            words = (f"{INSENSITIVE[family]} over {baseline} ({other})",)
            ours = [results.gap_improvement(family, baseline, a) for a in results.levels]
            lines.append((words, ours, published.SERVICE_GAP_IMPROVEMENT[family, other], ".2%"))
    return _beside(results, "serviceLevel", ("improvement",), lines)


def _wilcoxon(results: Results, family: Family) -> Table:
    """Median (first quartile, third quartile) and stars, as the paper prints them."""
    rows: list[Row] = []
    for dataset in results.datasets:
        cells = [results.wilcoxon(family, dataset, level) for level in results.levels]
        words = f"data set {dataset}"
        rows.append((words, OURS, *map(str, cells)))
        if dataset <= published.N_DATASETS:
            theirs = [published.WILCOXON[family][dataset, level] for level in results.levels]
            rows.append((words, PUBLISHED, *map(str, theirs)))
            pairs = zip(cells, theirs, strict=True)
            rows.append((words, DIFFERENCE, *(own.median - other.median for own, other in pairs)))
    columns = _columns(results, "data set", "whose", form="+.2f")  # all others are text
    return Table(f"wilcoxon-result-{family.lower()}", columns, rows)


def _wilcoxon_numbers(results: Results) -> Table:
    """Give the same with p-values, a number per cell, to compute with."""
    rows: list[Row] = []
    for family in PAPER_FAMILIES:
        for dataset in results.datasets:
            for level in results.levels:
                cell = results.wilcoxon(family, dataset, level)
                theirs = published.WILCOXON[family].get((dataset, level))
                known = (theirs.median, theirs.stars) if theirs else (None, None)
                numbers = (cell.median, cell.first_quartile, cell.third_quartile, cell.p_value)
                rows.append((family, dataset, level, *numbers, cell.stars, *known))
    columns = {"family": "", "data set": "", "α": ".2f", "median": ".2f", "first quartile": ".2f"}
    columns |= {"third quartile": ".2f", "p": ".2g", "stars": "", "published median": ".2f"}
    return Table("wilcoxon-numbers", {**columns, "published stars": ""}, rows, folded=True)


def _gaps(results: Results) -> Table:
    """Compare with the true optimum, which the paper does not."""
    rows: list[Row] = []
    for name in METHODS:
        for level in results.levels:
            cost, best = results.mean(name, level), results.optimum_cost(level)
            share = results.share_closed(name, level)
            rows.append((name, level, cost, best, cost / best - 1, share))
    columns = {"method": "", "α": ".2f", "cost": ".2f", "cost of Q*": ".2f", "above Q*": "+.1%"}
    return Table("gap", {**columns, "share of the gap closed": ".1%"}, rows, folded=True)


# --- App. training: hyperparameters and ε.

#: Which methods share the hyperparameters of a searched model.
MODEL_METHODS = {"LR": "LR-NVC, LR-εNVC-R", "NN-MSE": "NN-MSE", "NN": "NN-NVC, NN-εNVC"}


def _band_searches(results: Results) -> Table:
    lines: list[Compared] = []
    for family in PAPER_FAMILIES:
        found = [results.search(2, family, level) for level in results.levels]
        for place, (name, sign) in enumerate((("low", "ε₂"), ("high", "ε₁"))):
            ours = [None if row is None else row.best[name] for row in found]
            printed = {level: published.band(family, level)[place] for level in results.levels}
            lines.append(((INSENSITIVE[family], sign), ours, printed, ".4f"))
    return _beside(results, "epsilonSearchResults", ("method", "ε"), lines)


def _bands_by_data_set(results: Results) -> Table:
    """Put first quartiles beside ε₂ times the range of sales, reading by reading."""
    rows: list[Row] = []
    for reading, level, k, low, quartile in results.first_quartiles():
        span = results.sales_range(k)
        cell = published.WILCOXON["LR"].get((k, level))
        printed = cell.first_quartile if cell and reading is USUAL else None
        implied = None if printed is None else printed / span
        rows.append((reading.name, level, k, low, low * span, quartile, printed, implied))
    columns = {"reading": "", "α": ".2f", "data set": "", "ε₂": ".4f", "ε₂ × range": ".2f"}
    columns |= {"first quartile": ".2f", "printed": ".2f", "ε₂ that it implies": ".4f"}
    return Table("epsilonByDataSet", columns, rows, folded=True)


def _hyperparameter_searches(results: Results) -> Table:
    rows: list[Row] = []
    used = published_hyperparameters()
    for line in published.STEP_1:
        found = results.search(1, line.model, TUNING_LEVEL)
        ours = None if found is None else found.best[line.name]
        apart = None if ours is None else ours - used[line.model][line.name]
        inside = "yes" if line.contains(line.printed) else "no"
        words = (MODEL_METHODS[line.model], line.name, line.space, inside)
        rows.append((*words, line.printed, ours, apart))
    heads = ("methods", "hyperparameter", "search space", "published in its space", "published")
    columns = {**dict.fromkeys((*heads, "ours"), ""), "difference": "+.4g"}
    more = () if results.searches else (NO_SEARCH,)
    forms = [line.form for line in published.STEP_1]
    return Table("searchingSpace", columns, rows, more=more, forms=forms)


def _hyperparameters(results: Results, family: Family) -> Table:
    rows: list[Row] = []
    for model in ("LR",) if family == "LR" else ("NN-MSE", "NN"):
        used = published_hyperparameters()[model]
        found = results.search(1, model, TUNING_LEVEL)
        forms = {line.name: line.form for line in published.STEP_1 if line.model == model}
        for name, meaning, value in published.HYPERPARAMETERS[family]:
            words = "the level α of the fit" if name == "alpha" else value
            if value == "tuned":
                words = f"{used[name]:{forms[name]}}"
                if found is not None:
                    words += f" (searched: {found.best[name]:{forms[name]}})"
            rows.append((MODEL_METHODS[model], name, meaning, value, words))
    heads = ("methods", "hyperparameter", "meaning", "published", "used here")
    label = "LRHyperparam" if family == "LR" else "DNNHyperparam"
    return Table(label, dict.fromkeys(heads, ""), rows)


# --- All tables, in the order of the paper.


def all_tables(results: Results) -> dict[str, Table]:
    """Build every table of the experiments, by label."""

    def mean(measure: str) -> Callable[[str, float], float]:
        return lambda name, level: results.mean(name, level, measure)

    best = map(results.optimum_cost, results.levels)
    optimum: Row = ("Q*", "quantile of the true distribution", *best)
    ignoring = IGNORING.values()
    tables = (
        _fitting_times(results),
        _by_method(results, "testNVcost", ".2f", results.mean, optimum),
        _savings(results),
        _by_method(results, "testRMSEQ", ".2f", mean("rmse_to_optimum")),
        _wilcoxon(results, "LR"),
        _wilcoxon(results, "NN"),
        _wilcoxon_numbers(results),
        _service_gaps(results),
        _by_method(results, "serviceLevelsReached", ".1%", mean("service_level")),
        _by_method(results, "gapClosed", ".0%", results.share_closed, without=ignoring),
        _gaps(results),
        _hyperparameters(results, "LR"),
        _hyperparameters(results, "NN"),
        _hyperparameter_searches(results),
        _band_searches(results),
        _bands_by_data_set(results),
    )
    return {table.label: table for table in tables}
