"""Tables with levels across, and published values under ours."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unmet.files import Cell, write_whole

# --- Text for LaTeX: signs that it reads as commands, and those its default fonts lack.

_SIGNS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "ε": r"$\varepsilon$",
    "Φ": r"$\Phi$",
    "σ": r"$\sigma$",
    "ŷ": r"$\hat{y}$",
    "₁": r"$_1$",
    "₂": r"$_2$",
    "²": r"$^2$",
    "−": r"$-$",
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "×": r"$\times$",
    "÷": r"$\div$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "±": r"$\pm$",
    "“": "``",
    "”": "''",
    "’": "'",
    "→": r"$\to$",
    "§": r"\S{}",
    "ó": r"\'o",
}

_STARS = re.compile(r"(?<=\))\*+$")


def escape(text: str) -> str:
    r"""Make text safe for LaTeX; stars of significance go up.

    Examples
    --------
    >>> print(escape("LR-εNVC-R saves 5% of α_1"))
    LR-$\varepsilon$NVC-R saves 5\% of $\alpha$\_1
    >>> print(escape("1.27 (1.03, 1.59)***"))
    1.27 (1.03, 1.59)$^{***}$
    """
    stars = _STARS.search(text)
    body = text[: stars.start()] if stars else text
    raised = rf"$^{{{stars.group()}}}$" if stars else ""
    return "".join(_SIGNS.get(sign, sign) for sign in body) + raised


# --- A table as the paper would print it, and its three files.

_MISSING = "–"


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes
    ----------
    head : str
    form : str
        How numbers are printed, e.g. ".2f", "+.1%"; text is printed as it is.
    """

    head: str
    form: str = ""

    def show(self, cell: Cell) -> str:
        """Print one cell; a dash where there is nothing."""
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return _MISSING
        if isinstance(cell, str):
            return cell
        return f"{cell:{self.form}}".replace("-", "−")  # a hyphen is no minus sign


@dataclass(frozen=True)
class Table:
    """Rows under columns.

    Attributes
    ----------
    label : str
        The paper's, where it has this table or figure; also the name of the files.
    title : str
    columns : tuple of Column
    rows : tuple of tuple of Cell
        Raw values: CSV files keep all digits.
    notes : tuple of str
        One sentence or two each, below the table.
    forms : tuple of str, optional
        How the numbers of each row are printed, in columns that do not say it themselves.
    folded : bool
        Long: the page shows it only to those who ask.
    """

    label: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    folded: bool = False

    @property
    def heads(self) -> list[str]:
        """First line."""
        return [column.head for column in self.columns]

    def shown(self) -> list[list[str]]:
        """Cells as text."""
        forms = self.forms or ("",) * len(self.rows)
        return [
            [
                (column if column.form else Column("", form)).show(cell)
                for column, cell in zip(self.columns, row, strict=True)
            ]
            for row, form in zip(self.rows, forms, strict=True)
        ]

    def numeric(self) -> list[bool]:
        """Whether each column holds numbers, which stand to the right."""
        return [
            all(not isinstance(row[place], str) for row in self.rows)
            for place in range(len(self.columns))
        ]

    def as_csv(self) -> str:
        """Raw values, one line each; nothing where there is nothing."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.heads)
        writer.writerows(self.rows)
        return stream.getvalue()

    def as_markdown(self) -> str:
        """Title, table, notes."""

        def line(cells: list[str]) -> str:
            return "| " + " | ".join(plain(cell) for cell in cells) + " |"

        rule = ["---:" if right else "---" for right in self.numeric()]
        lines = [f"**{plain(self.title)}**", "", line(self.heads), line(rule)]
        lines += [line(row) for row in self.shown()]
        for note in self.notes:
            lines += ["", plain(note)]
        return "\n".join(lines) + "\n"

    def as_latex(self) -> str:
        """Write a table environment for booktabs."""
        sides = "".join("r" if right else "l" for right in self.numeric())
        body = [" & ".join(map(escape, row)) + r" \\" for row in self.shown()]
        notes = [rf"\par\smallskip\footnotesize {escape(note)}" for note in self.notes]
        return "\n".join(
            [
                r"% needs \usepackage{booktabs}",
                r"\begin{table}[!htbp]",
                r"\centering",
                r"\footnotesize",
                rf"\caption{{{escape(self.title)}}}",
                rf"\label{{tab:{self.label}}}",
                rf"\begin{{tabular}}{{@{{}}{sides}@{{}}}}",
                r"\toprule",
                " & ".join(map(escape, self.heads)) + r" \\ \midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                *notes,
                r"\end{table}",
                "",
            ]
        )

    def write(self, folder: Path) -> list[Path]:
        """Write label.csv, label.md and label.tex, each whole or not at all."""
        texts = {"csv": self.as_csv(), "md": self.as_markdown(), "tex": self.as_latex()}
        return [
            write_text(folder / f"{self.label}.{ending}", text) for ending, text in texts.items()
        ]


def write_text(path: Path, text: str) -> Path:
    """Write a text file, whole or not at all, with the same line ends on every platform."""
    return write_whole(path, lambda temporary: _write_bytes(temporary, text.encode()))


def _write_bytes(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def plain(text: str) -> str:
    """Keep Markdown from reading signs of ours as its own."""
    for sign in ("\\", "|", "*", "_", "<", "[", "`"):
        text = text.replace(sign, "\\" + sign)
    return text


# --- Tables with levels across, and published values under ours.

OURS, PUBLISHED, DIFFERENCE = "ours", "published", "difference"


def level_columns(
    first: Sequence[str], levels: Sequence[float], form: str = ""
) -> tuple[Column, ...]:
    """Words first, then a column per α; without a form the rows say how numbers are printed."""
    return (*map(Column, first), *(Column(f"α = {level:g}", form) for level in levels))


@dataclass(frozen=True)
class Lines:
    """Rows of a table with levels across, and how each is printed."""

    rows: tuple[tuple[Cell, ...], ...]
    forms: tuple[str, ...]

    def __add__(self, other: Lines) -> Lines:
        return Lines(self.rows + other.rows, self.forms + other.forms)


NO_LINES = Lines((), ())


def compared(
    words: Sequence[str],
    levels: Sequence[float],
    ours: Mapping[float, float | None],
    published: Mapping[float, float] | None,
    form: str,
) -> Lines:
    """Ours, and where the paper prints it the published value and ours minus theirs.

    Parameters
    ----------
    words : sequence of str
        First cells of each row; the column after them says whose numbers they are.
    levels : sequence of float
    ours : mapping from level to float or None
    published : mapping from level to float, or None
        May lack levels.
    form : str
        Of the numbers; the difference always has its sign.
    """
    lines = Lines(((*words, OURS, *(ours[level] for level in levels)),), (form,))
    if published is None:
        return lines
    theirs = tuple(published.get(level) for level in levels)
    difference = tuple(_minus(ours[level], published.get(level)) for level in levels)
    signed = form if form.startswith("+") else f"+{form}"
    return lines + Lines(
        ((*words, PUBLISHED, *theirs), (*words, DIFFERENCE, *difference)), (form, signed)
    )


def _minus(ours: float | None, theirs: float | None) -> float | None:
    return None if ours is None or theirs is None else ours - theirs
