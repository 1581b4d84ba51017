"""From records to a page: the bars, then the tables of each section."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from models_bars import bars
from models_results import Run, divide
from models_tables import (
    boosted_table,
    censored_table,
    closed_table,
    level_table,
    many_table,
    network_table,
    seconds_table,
    wide_table,
)
from models_tasks import BOOSTED_CASES, BOOSTED_PEER, KERAS_LOOP, KERAS_TUNED, SECTIONS, US_BEST
from report import head, ratio, row
from rich.console import Console
from rich.table import Table


def show(results: dict, console: Console) -> None:
    """Print the bars with what was measured."""
    table = Table("where", "what", "bar", "measured", "")
    for bar in bars(Run(results)):
        word = {True: "met", False: "missed", None: ""}[bar.met()]
        table.add_row(bar.where, bar.words, *bar.texts(), word)
    console.print(table)


def bar_table(run: Run) -> list[str]:
    lines = [head(["where", "what", "bar", "measured", "met"])]
    for bar in bars(run):
        mark = {True: "✓", False: "✗", None: ""}[bar.met()]
        lines.append(row([bar.where, bar.words, *bar.texts(), mark]))
    return lines


def network_words(run: Run) -> list[str]:
    """What the bar leaves open: compilation, and a loop that Keras does not offer."""
    words = [
        "Two hidden layers of sigmoids, published ε, sales scaled to [0, 1]; peers train 500",
        "epochs of Adam in batches of 79 with Keras's defaults. CPU seconds of a fit, without",
        "imports and loading, with compilation. Training cost: mean insensitive cost of the final",
        "weights in scaled units; realised cost: per test row, in units. Means over fits",
        "(seeds × levels).",
    ]
    ours = run.mean("cpu", "network", US_BEST)
    tuned, compiling = (run.mean(field, "network", KERAS_TUNED) for field in ("cpu", "compile"))
    loop = divide(run.mean("cpu", "network", KERAS_LOOP), ours)
    if ours and tuned and compiling is not None and loop:
        words += [
            "",
            "Tuned Keras without its compilation takes "
            f"{ratio((tuned - compiling) / ours)} × the time of L-BFGS;",
            "a loop around Keras's stateless functions, compiled as a whole, takes "
            f"{ratio(loop)} ×.",
        ]
    return words


def sections(run: Run) -> Iterator[tuple[str, list[str]]]:
    """Section → what stands under its title."""
    yield "network", [*network_words(run), "", *network_table(run), "", *by_level(run)]
    yield (
        "many",
        [
            "Levels × folds × starts on store-10 data, as a search needs them; one thread.",
            "",
            *many_table(run),
        ],
    )
    yield (
        "wide",
        [
            "Twenty features, α = .75, rectified linear units, Adam in batches of 512, 5 epochs,",
            "constant rate. Training cost in scaled units.",
            "",
            *wide_table(run),
        ],
    )
    yield "boosted", boosted_words(run)
    yield (
        "censored",
        [
            "`unmet.simulate.nonlinear_demand`, orders piled up on the mean of demand, nothing",
            "known; five seeds of 3,000 training and 4,000 test rows. Mean realised cost in units.",
            "",
            *censored_table(run),
            "",
            "Share of the gap closed by the latent band: (cost of IEO − its cost) ÷ (cost of IEO −",
            "floor), costs summed over seeds; – where even the same model trained on the truth is",
            "less than 0.5 % cheaper than IEO. The bars take the true quantile, which no model",
            "trained on 3,000 rows reaches.",
            "",
            *closed_table(run),
            "",
            "CPU seconds of one fit; with a latent band, of the fit that learns it:",
            "",
            *seconds_table(run),
        ],
    )


def by_level(run: Run) -> list[str]:
    return ["Training cost by level, 10⁻⁴:", "", *level_table(run)]


def boosted_words(run: Run) -> list[str]:
    lines = [
        "Never-censored demand, so that the cost is the pinball loss; 100 trees of 31 leaves, rate",
        "0.1, at least 20 rows in a leaf, one thread. Loss of test rows relative to LightGBM's.",
    ]
    for case in BOOSTED_CASES:
        if run.fits("boosted", BOOSTED_PEER, case=case):
            lines += ["", f"### {case}", "", *boosted_table(run, case)]
    return lines


def page(run: Run) -> str:
    """Return the whole page in Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in run.versions().items())
    lines = [
        "# Neural and boosted decisions and their peers",
        "",
        "Made by `benchmarks/models.py`; how to read it: `benchmarks/README.md`.",
        f"{run.setting['cpu']}, {run.setting['cores']} cores, Python {run.setting['python']}; "
        f"{versions}.",
        "",
        "![Cost of decisions on nonlinear censored demand, and time of a fit](models.svg)",
        "",
        "## What is promised",
        "",
        *bar_table(run),
    ]
    measured = {key.partition("|")[0] for key, each in run.records.items() if "failed" not in each}
    for section, content in sections(run):
        if section in measured:
            title = SECTIONS[section]
            lines += ["", f"## {title[0].upper()}{title[1:]}", "", *content]
    if failures := run.failures():
        lines += ["", "## What did not finish", ""]
        lines += [
            f"- {len(where)} × {words} First: {where[0]}" for words, where in failures.items()
        ]
    return "\n".join(lines) + "\n"


def write(results: dict, folder: Path) -> None:
    """Write models.md, and models.svg where matplotlib is present; whole or not at all."""
    run = Run(results)
    fresh = folder / "models.md.new"
    fresh.write_text(page(run))
    fresh.replace(folder / "models.md")
    try:
        from models_figure import draw
    except ImportError:
        return
    draw(run, folder)
