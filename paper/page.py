"""The story of a reproduction: claims, figures, tables, how and why.

`write_everything` makes all files of a reproduction from its `Results`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from paper.claims import all_claims, by_table, claims_of, claims_table, count
from paper.favorita.evidence import ABSENT, StoreEvidence, store_claims, store_tables
from paper.figures import all_figures
from paper.pictures import PaperFigure
from paper.printing import Column, Page, Table
from paper.protocol import (
    INSENSITIVE,
    METHODS,
    PAPER_FAMILIES,
    PaperSettings,
    Results,
    known,
    variants,
)
from paper.published import N_DATASETS, SAVINGS
from paper.sizes import distances
from paper.tables import all_tables
from paper.verdicts import Claim, span
from unmet.errors import InvalidInput
from unmet.files import Cell, prepare_folder, write_text
from unmet.simulate import PUBLISHED_LEVELS

# --- All files of a reproduction.


def write_everything(
    results: Results,
    folder: str | Path,
    *,
    facts: Mapping[str, str],
    evidence: StoreEvidence | None = None,
) -> list[Path]:
    """Write tables, figures, index.html and REPORT.md; each file is whole or absent.

    The same results and facts give the same CSV, Markdown, LaTeX, SVG and HTML, byte for byte.

    Parameters
    ----------
    results : Results
        Every method of `METHODS` and of each reading, at every level and data set of its settings.
    folder : str or Path
        Made if it is not there.
    facts : mapping from str to str
        How it was computed, as far as the settings do not say it: command, versions, seconds,
        memory.
    evidence : StoreEvidence, optional
        What Favorita's file says, for the tables of App. storeSelect; without it the published
        numbers stand alone.

    Returns
    -------
    list of Path
        The page first.

    Raises
    ------
    InvalidInput
        A fit is missing, or the folder cannot be written to.
    MissingPackage
        Without matplotlib.
    """
    _check_complete(results)
    folder = Path(folder)
    figures = all_figures(results)  # first: without matplotlib nothing is written
    if evidence is not None:
        figures["ErrorQQplot10"] = evidence.figure()
    claims = (*all_claims(results), *store_claims(evidence))
    tables = {**all_tables(results), **store_tables(evidence)}
    for more in (distances(results), by_table(results, claims)):
        tables[more.label] = more
    for part in (folder, folder / "tables", folder / "figures"):
        prepare_folder(part)
    written: list[Path] = []
    for table in (*tables.values(), claims_table(claims)):
        written += table.write(folder / "tables")
    pictures: dict[str, bytes] = {}
    for figure in figures.values():
        for picture in figure.pictures:
            files = picture.write(folder / "figures")
            pictures[picture.slug] = files[0].read_bytes()
            written += files
    page = story(results, claims, tables, figures, facts, pictures)
    report = write_text(folder / "REPORT.md", page.as_markdown())
    return [write_text(folder / "index.html", page.as_html()), report, *written]


def _check_complete(results: Results) -> None:
    """Refuse results with a hole: a table without it would look like one with it."""
    present = {(row.method, row.level, row.dataset) for row in results.fits}
    names = [method.name for method in METHODS]
    names += [each.name for reading in results.readings for each in variants(reading)]
    for name in names:
        for level in results.levels:
            for dataset in results.datasets:
                if (name, level, dataset) not in present:
                    raise InvalidInput(
                        "results must have every method at every level and data set, "
                        f"got none of {name} at {level:g} on data set {dataset}."
                    )


# --- The story: what the paper claims, what came out, every figure and table, how and why.

#: Sections of results in the order of the paper: heading, words, figures and tables by label.
_SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "The network (§CustNN)",
        "",
        ("fig SimpleNN",),
    ),
    ("Fitting times (§Results)", "", ("tab trainingTime",)),
    (
        "Out-of-sample newsvendor costs (§Results)",
        "Each method learns from the censored sales of one year and is priced on the true demand "
        "of the next half-year.",
        ("fig testNVcost", "tab testNVcost", "fig percentage", "tab percentage"),
    ),
    (
        "Order quantities (§Results)",
        "How far the orders lie from the best ones, Q*, on average and row by row.",
        (
            "fig testRMSEQ",
            "tab testRMSEQ",
            "tab wilcoxon-result-lr",
            "tab wilcoxon-result-nn",
            "tab wilcoxon-numbers",
        ),
    ),
    (
        "Service level (§Results)",
        "How often an order covers the demand, compared with the level it aims at.",
        ("tab serviceLevel", "tab serviceLevelsReached"),
    ),
    (
        "The store (App. storeSelect)",
        "Where the coefficients and the σ of the simulation come from.",
        ("tab EDAofStore10", "tab LRstore10", "fig ErrorQQplot10", "tab LRResults52Stores"),
    ),
    (
        "Hyperparameters and ε (App. training)",
        "Step 1 tunes hyperparameters at α = 0.55, Step 2 the two ends of ε at each α, both on the "
        "sales of data set 1.",
        (
            "tab LRHyperparam",
            "tab DNNHyperparam",
            "tab searchingSpace",
            "tab epsilonSearchResults",
            "fig epsilonSearch",
        ),
    ),
    (
        "Against the true optimum: what the paper does not show",
        "A saving over IEO says nothing of what could have been saved. A simulation knows it: the "
        "cost of Q*, the quantile of the true distribution.",
        ("fig gapClosed", "fig gap", "tab gapClosed", "tab gap"),
    ),
)

#: Every table and figure of the paper, in its order, and where the page has it.
PAPER_LABELS: tuple[tuple[str, str], ...] = (
    ("Fig. SimpleNN", "fig-SimpleNN"),
    ("Table trainingTime", "tab-trainingTime"),
    ("Fig. testNVcost", "fig-testNVcost"),
    ("Fig. percentage", "fig-percentage"),
    ("Fig. testRMSEQ", "fig-testRMSEQ"),
    ("Table wilcoxon-result-lr", "tab-wilcoxon-result-lr"),
    ("Table wilcoxon-result-nn", "tab-wilcoxon-result-nn"),
    ("Table serviceLevel", "tab-serviceLevel"),
    ("Table EDAofStore10", "tab-EDAofStore10"),
    ("Table LRstore10", "tab-LRstore10"),
    ("Fig. ErrorQQplot10", "fig-ErrorQQplot10"),
    ("Table LRResults52Stores", "tab-LRResults52Stores"),
    ("Table LRHyperparam", "tab-LRHyperparam"),
    ("Table DNNHyperparam", "tab-DNNHyperparam"),
    ("Table searchingSpace", "tab-searchingSpace"),
    ("Table epsilonSearchResults", "tab-epsilonSearchResults"),
)


def story(
    results: Results,
    claims: Sequence[Claim],
    tables: Mapping[str, Table],
    figures: Mapping[str, PaperFigure],
    facts: Mapping[str, str],
    pictures: Mapping[str, bytes],
) -> Page:
    """Put the page together; `pictures` are the SVG files by slug."""
    page = Page("Orders learned from censored sales: the paper, reproduced", pictures)
    page.add_paragraph(
        "Sales hide lost demand: whoever learns from them orders too little. Chen, Fu, Huang "
        "and Bai (“Learning Decisions Offline from Censored Observations with ε-insensitive "
        "Operational Costs”) train order quantities with a newsvendor cost under which orders "
        "somewhat above the observed sales cost nothing. They claim that this beats "
        "both estimate-as-solution (EAS, squared error) and integrated estimation and "
        "optimization (IEO, newsvendor cost on the sales), and the more so the larger α, the "
        "target service level."
    )
    settings = results.settings
    for notice in _notices(settings):
        page.add_paragraph(notice, notice=True)
    page.add_bullets([*_counts(results, claims), *_headlines(results)])
    page.add_heading("Index by the paper's labels")
    page.add_index(PAPER_LABELS)
    page.add_heading("Claim by claim")
    page.add_paragraph(_RULES)
    page.add_verdicts(claims)
    page.add_heading("Readings: which β the paper used")
    page.add_paragraph(_readings(results, tables["readings"]))
    page.add_table(tables["verdictsByTable"])
    page.add_table(tables["readings"])
    page.add_heading("What we found, and why")
    page.add_reasons(claims)
    for heading, words, labels in _SECTIONS:
        page.add_heading(heading)
        if words:
            page.add_paragraph(words)
        for each in labels:
            kind, label = each.split()
            if kind == "tab":
                page.add_table(tables[label])
            elif label in figures:
                page.add_figure(figures[label])
            else:
                page.add_absent(f"fig-{label}", f"Fig. {label}: {ABSENT}")
    page.add_heading("How it was computed")
    page.add_table(computed(results, facts))
    page.add_heading("What differs from the paper, and why")
    page.add_bullets(differences(settings))
    return page


_RULES = (
    "Each table is judged twice. Direction: does what the text says of it hold here? Reproduced, "
    "if it holds in every case for which the paper says it, averaged over the data sets as it "
    "does; in part, if it holds in more than half of the cases and on average over them. Savings "
    "grow “in general” if the last is above the first and most steps rise; “about the same” time "
    "means within a factor of two. Size: are the numbers the same, as far as chance allows? The "
    "tolerance of a number is what lies between two runs on other seeds: its spread over our data "
    "sets times √(1/n + 1/10) and a quantile of Student's t, so that a table fails by chance one "
    "time in twenty. Results of a single search have no spread and count as near within a tenth "
    "of their box; tables of the store have no seeds and are compared to the printed digits. "
    "Claims 8 and 9 are about slips of the paper, claim 10 is ours: they hold or not."
)


def _readings(results: Results, distance: Table) -> str:
    """Say why there are several readings, and which comes nearest how often."""
    readings = results.readings
    first = next(k for k, head in enumerate(distance.heads) if head == readings[0].name)
    nearest = {each.name: 0 for each in readings}
    for row in distance.rows:
        values = [float(cell or 0.0) for cell in row[first : first + len(readings)]]
        # equal ones, as all of networks but the searched, count for each of them
        for each, value in zip(readings, values, strict=True):
            nearest[each.name] += value <= min(values) + 1e-12
    counts = ", ".join(f"{name} in {number}" for name, number in nearest.items())
    return (
        "Table searchingSpace prints η = 0.0007 and β = 0.0060, each outside the space it was "
        "searched in. Exchanged, both lie in their spaces. What the paper used shows in its "
        f"results: of the {len(distance.rows)} distances below the smallest is that of {counts} "
        f"(ties count for each). Where this page says nothing else, it shows {readings[0].name}: "
        f"{readings[0].meaning}."
    )


def _notices(settings: PaperSettings) -> list[str]:
    """Say what this run is not."""
    notices = []
    if settings.datasets < N_DATASETS or set(settings.levels) != set(PUBLISHED_LEVELS):
        notices.append(
            f"This run is smaller than the paper's: {settings.datasets} of {N_DATASETS} data sets, "
            f"{len(settings.levels)} of {len(PUBLISHED_LEVELS)} levels. It shows that everything "
            "works; verdicts may change with all of them."
        )
    if settings.published_settings:
        notices.append(
            "This run searched nothing: it takes the published ε and hyperparameters, and says "
            "nothing of Steps 1 and 2."
        )
    if not settings.is_papers_store:
        notices.append(
            f"This run simulates {settings.law.name}, not the paper's store: published numbers "
            "stand beside ours for orientation, and sizes are not judged."
        )
    return notices


def _counts(results: Results, claims: Sequence[Claim]) -> list[str]:
    """Count verdicts of the usual reading, and of the others beside it."""
    usual, *others = results.readings
    lines = [
        f"Direction, {usual.name}: {count(claims, 'direction')}.",
        f"Size, {usual.name}: {count(claims, 'size')}.",
    ]
    for reading in others:
        read = claims_of(results, reading, claims)
        lines.append(
            f"Reading {reading.name}: direction, {count(read, 'direction')}; size, "
            f"{count(read, 'size')}."
        )
    return lines


def _headlines(results: Results) -> list[str]:
    words = []
    for family in PAPER_FAMILIES:
        ours = results.mean_savings(family)
        quoted = SAVINGS[family]
        words.append(
            f"{INSENSITIVE[family]} saves {span(ours, '.2%')} of the cost of IEO (published "
            f"{quoted.lowest:.2%} to {quoted.highest:.2%})."
        )
    for family in PAPER_FAMILIES:
        shares = [
            known(results.shares_closed(name)) for name in (INSENSITIVE[family], f"{family} latent")
        ]
        if all(shares):
            words.append(
                f"Of the gap between IEO and the true optimum {INSENSITIVE[family]} closes "
                f"{span(shares[0], '.0%')}, {family} latent {span(shares[1], '.0%')}."
            )
    return words


def computed(results: Results, facts: Mapping[str, str]) -> Table:
    """List settings of the run, and what the caller knows about it."""
    settings = results.settings
    searched = f"{settings.trials} trials × {settings.folds} random 75/25 splits"
    rows: list[tuple[Cell, ...]] = [
        ("store", settings.law.name),
        ("data sets", str(settings.datasets)),
        ("seeds", f"0 to {settings.datasets - 1}"),
        ("levels α", ", ".join(f"{level:g}" for level in settings.levels)),
        ("hyperparameters and ε", f"published; {results.readings[0].meaning}"),
        ("other readings", "; ".join(each.meaning for each in results.readings[1:])),
        ("searches", "none" if settings.published_settings else searched),
        ("demand, store's orders and decisions raised to zero", "yes" if settings.clip else "no"),
        ("fits", str(len(results.fits))),
        *facts.items(),
    ]
    if results.searches:
        seconds = sum(row.seconds for row in results.searches)
        rows.insert(7, ("seconds in searches", f"{seconds:.0f}"))
    columns = (Column("what"), Column("value"))
    return Table("computed", "Settings and circumstances", columns, tuple(rows))


# --- Where we do not do as the paper does, or as it prints, and why.


def differences(settings: PaperSettings) -> tuple[str, ...]:
    """One item each: what, and why; only those that this run has."""
    clipping = (
        "Clipping: nothing is below zero, neither demand, nor the store's orders, nor a decision, "
        "which is raised to zero before it is priced, as `decide` does. The text names no "
        "clipping, but its generator gives a negative mean demand in 6.1% of the rows of 2016, "
        "while the theory assumes demand and orders from zero up. The table of savings also has "
        "those with decisions below zero kept."
        if settings.clip
        else "Clipping: none, as printed. The generator then gives negative demand with "
        "probability 10.4%, which the theory excludes."
    )
    searching = (
        (
            "Published settings: hyperparameters and ε are those that the paper prints; nothing "
            "was searched.",
        )
        if settings.published_settings
        else (
            "Optuna instead of Hyperopt: both use a tree-structured Parzen estimator; Hyperopt is "
            "no longer maintained. The paper does not say how many trials and folds it used.",
            "Searches on data set 1 only: the paper prints one result for all ten data sets and "
            "does not say which of them it searched on.",
        )
    )
    return (
        clipping,
        "Units of ε: shares of the range of the training sales. The boxes U(0, 0.20) and "
        "U(0, 0.15), and the learning rates, make sense only for sales scaled to [0, 1]; the text "
        "does not say so.",
        *searching,
        "eta and beta: each printed result lies outside its own search space. beta is taken as "
        "printed, eta from its space; the other readings stand beside it.",
        "alpha: Table LRHyperparam lists alpha = 0.5; fits use the α of the experiment, as the "
        "text says.",
        "Seeds: the paper does not name its ten seeds; ours are 0, 1, 2 and so on. Single data "
        "sets cannot be compared, averages can.",
        "Rows: 2016 has 3,294 of them (366 days, nine categories); the paper says 3,286, one more "
        "than the 365 dates of Favorita's file give.",
        "EAS once for all levels: squared error does not depend on α, so LR-MSE and NN-MSE have "
        "one fit per data set. Fitting times in Table trainingTime differ by α all the same.",
        "Signs: the update rule and the programs of the paper have slips (underage and overage "
        "exchanged); the correct forms are used.",
        "Networks: trained by NumPy as Keras would, with its initial weights, Adam and epochs, but "
        "not its random numbers.",
        "Wilcoxon tests: one-sided. The paper does not name the alternative; its words "
        "(“significantly smaller”) and its cells without stars speak for this one.",
    )
