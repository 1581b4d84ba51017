"""Headline figures of README and the pages are those of `benchmarks/results`; links lead to files.

A claim is a page, a pattern whose one group is a number of the page, and how that number follows
from the results: from a json file, or from the page of a benchmark that writes no json.
"""

import json
import re
from functools import cache
from pathlib import Path
from statistics import mean

import pytest

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
README = "README.md"
MEASURED = "docs/explanation/measured.md"
REGRET = "docs/explanation/minimax-regret.md"
LADDER = "docs/explanation/what-data-can-tell.md"

PLAN, PAPER = "plan.md", "paper/REPORT.md"  # benchmarks that write no json
BAKERY_B = "bakery, 1.15 × sales"
ALPHAS = (0.55, 0.65, 0.75, 0.85, 0.95)  # of known.json; its means begin at .65


@cache
def page(name):
    """The text of a page; line breaks inside of a sentence do not matter to a pattern."""
    return re.sub(r"\n +|(?<=[^|\n])\n(?=[^|\n])", " ", (ROOT / name).read_text(encoding="utf-8"))


@cache
def results(name):
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def cell(name, start, column):
    """A number in a table of a benchmark that writes no json: of the row that begins so."""
    rows = (RESULTS / name).read_text(encoding="utf-8").splitlines()
    row = next(row for row in rows if row.startswith(f"| {start}"))
    return float(row.strip("|").split("|")[column].strip(" *%"))


def recovered(method, sets=None, least_gap=0.02):
    """Percent of the gap closed: mean over α ≥ .65 with a gap of at least 2%, then over sets."""
    cells, shares = results("known.json")["cells"], []
    for name in sets or results("known.json")["sets"]:
        sales, demand, ours = (
            cells[f"{name}|{each}"]["cost"] for each in ("line on sales", "line on demand", method)
        )
        shares.append(
            mean(
                (high - cost) / (high - low)
                for alpha, high, low, cost in zip(ALPHAS, sales, demand, ours, strict=True)
                if alpha >= 0.65 and high >= (1 + least_gap) * low
            )
        )
    return 100 * mean(shares)


def with_every_level(method, sets=None):
    return recovered(method, sets, least_gap=-1.0)


def after(kind, policy, against="oracle"):
    """Cost after eight weeks of the closed loop, in units of another policy's."""
    costs = results("closed_loop.json")[f"{kind} | level 0.9 | lead 0 | seed 0"]["after"]
    return costs[policy] / costs[against]


def cheaper_tobit(place):
    """By how many percent Tobit is cheaper than `unmet` with its log, where it is, in order."""
    kinds = [name.partition(" |")[0] for name in results("closed_loop.json")]
    saved = [100 * (1 - after(kind, "tobit", "log")) for kind in kinds]
    return sorted(each for each in saved if each > 0)[place]


def verdicts(*wanted, censored=True):
    """Of the cases that hide something, or of those that do not, how many got such a verdict."""
    cells = results("reliability.json")["cells"].values()
    return sum((each["true"] > 0) == censored and each["identified"] in wanted for each in cells)


def verdicts_without(*wanted):
    return verdicts(*wanted, censored=False)


def unidentified(hidden=None, real=None):
    """Levels at which the data said no: what a way loses, and whether it keeps its certificate."""
    return [
        level
        for name, case in results("unidentified.json")["cells"].items()
        if hidden in (None, case["true"] > 0) and real in (None, ", real, " in name)
        for level in case["levels"].values()
        if level["verdict"] == "no" and "least_censoring" in level
    ]


def lost(way, hidden):
    return 100 * mean(each[way]["regret"] / each["best"] for each in unidentified(hidden))


def kept(real):
    """Percent of the simulated or of the real cases in which minimax regret kept its promise."""
    ours = [each["minimax_regret"] for each in unidentified(real=real)]
    return 100 * mean(each["regret"] <= each["certificate"] for each in ours)


def seconds(case, solver="unmet"):
    return min(results("linear.json")["pairs"][f"{case}|{solver}"]["seconds"])


def beyond_memory():
    return results("scale.json")["cases"]["50000000 20 dask2"]["wall"]


def ladder(case, knows):
    """Percent of the gap closed by `LatentBand`, costs summed over levels and seeds."""
    cells = results("alternatives.json")["cells"]
    floor = "true quantile" if case == "store-10" else "trained on demand"
    sums = [
        sum(
            sum(found["cost"])
            for key, found in cells.items()
            if key.startswith(f"{case}|") and key.endswith(f"|{method}")
        )
        for method in ("unmet, no band (IEO)", floor, f"unmet, LatentBand{knows}")
    ]
    return 100 * (sums[0] - sums[2]) / (sums[0] - sums[1])


# page, pattern with one group, how the number is rounded, what it is, and of what
CLAIMS = [
    (README, r"mean of six sets \| \*\*(\d+)%", ".0f", recovered, "unmet, distribution"),
    (README, r"mean of six sets \|.*?Tobit (\d+)%", ".0f", recovered, "Tobit"),
    (README, r"every level α.*?\| \*\*(\d+)%", ".0f", with_every_level, "unmet, distribution"),
    (README, r"every level α.*?\|.*?Tobit (\d+)%", ".0f", with_every_level, "Tobit"),
    (README, r"sell-out rate known.*?\*\*(\d+)%", ".0f", recovered, "unmet, distribution, rate"),
    (README, r"nothing known.*?\| (\d+)%", ".0f", recovered, "unmet, line, nothing"),
    (README, r"Tobit recovers (\d+)% there", ".0f", with_every_level, "Tobit", [BAKERY_B]),
    (
        README,
        r"our distribution (\d+)%",
        ".0f",
        with_every_level,
        "unmet, distribution",
        [BAKERY_B],
    ),
    (README, r"simulated store \| \*\*(\d+)% to", ".0f", cell, PAPER, "LR latent | 0.55", -1),
    (README, r"method.*? to (\d+)%", ".0f", cell, PAPER, "LR-εNVC-R | 0.85", -1),
    (README, r"restaurant: cost.*?\*\*([\d.]+)", ".2f", cell, PLAN, "restaurant | unmet plan", -1),
    (README, r"bakery: cost of.*?\*\*([\d.]+)", ".1f", cell, PLAN, "bakery | unmet plan", -1),
    (README, r"weighted for.*?\*\*([\d.]+)", ".3f", cell, PLAN, "unmet plan", -1),
    (README, r"weighted for.*?LightGBM ([\d.]+)", ".3f", cell, PLAN, "LightGBM", -1),
    (README, r"without stock-out \| \*\*([\d.]+)", ".3f", cell, PLAN, "unmet plan", -2),
    (README, r"without stock-out.*?LightGBM ([\d.]+)", ".3f", cell, PLAN, "LightGBM", -2),
    (README, r"own orders, bakery.*?\*\*([\d.]+)\*\*", ".2f", after, "bakery", "log"),
    (README, r"own orders, bakery.*?demand ([\d.]+)", ".2f", after, "bakery", "sales"),
    (README, r"restaurant; fresh.*?\*\*([\d.]+);", ".2f", after, "restaurant", "log"),
    (README, r"restaurant; fresh.*?; ([\d.]+)\*\*", ".2f", after, "fresh", "log"),
    (README, r"1,000,000 × 50.*?\*\*([\d.]+) s", ".2f", seconds, "dense-1e6"),
    (README, r"1,000,000 × 50.*?`pfn` ([\d.]+) s", ".1f", seconds, "dense-1e6", "R pfn"),
    (README, r"Of (\d+) cases with hidden", "d", verdicts, "yes", "weakly", "no"),
    (README, r'said "yes" in (\d+)', "d", verdicts, "yes"),
    (README, r'cannot tell" in (\d+)', "d", verdicts, "no"),
    (README, r"by up to (\d+)% on three", ".0f", cheaper_tobit, -2),
    (README, r"by (\d+)% on intermittent", ".0f", cheaper_tobit, -1),
    (README, r"loses (\d+)% if demand was hidden", ".0f", lost, "minimax_regret", True),
    (README, r"ignoring it loses (\d+)%", ".0f", lost, "least_censoring", True),
    (README, r"but (\d+)% if nothing was", ".0f", lost, "minimax_regret", False),
    (README, r"ignoring: (\d+)%", ".0f", lost, "least_censoring", False),
    (README, r"certificate held in (\d+)%", ".0f", kept, False),
    (README, r"and (\d+)% of the real cases", ".0f", kept, True),
    (MEASURED, r"\| minimax regret \| (\d+)%", ".0f", lost, "minimax_regret", True),
    (MEASURED, r"\| minimax regret \| \d+% \| (\d+)%", ".0f", lost, "minimax_regret", False),
    (MEASURED, r"expected cost \| (\d+)%", ".0f", lost, "expected_cost", True),
    (MEASURED, r"expected cost \| \d+% \| (\d+)%", ".0f", lost, "expected_cost", False),
    (MEASURED, r"kept in (\d+)% of the simulated", ".0f", kept, False),
    (MEASURED, r'"weakly", "no" \| (\d+), ', "d", verdicts, "yes"),
    (MEASURED, r'"weakly", "no" \| \d+, \d+, (\d+) of', "d", verdicts, "no"),
    (MEASURED, r'nothing hidden: "no" \| (\d+) of', "d", verdicts_without, "no"),
    (
        MEASURED,
        r"with its log\*\* \| \*\*[\d.]+\*\* \| \*\*([\d.]+)",
        ".2f",
        after,
        "bakery",
        "log",
    ),
    (MEASURED, r"by (\d+)% on intermittent", ".0f", cheaper_tobit, -1),
    (MEASURED, r"50,000,000 × 20.*?Dask, (\d+) s", ".0f", beyond_memory),
    (REGRET, r"mean of 192 \| (\d+) ", ".0f", lost, "least_censoring", True),
    (REGRET, r"mean of 192 \| \d+ \| (\d+) ", ".0f", lost, "minimax_regret", True),
    (REGRET, r"mean of 111 \| \d+ \| (\d+) ", ".0f", lost, "minimax_regret", False),
    (REGRET, r"kept in (\d+)% of the simulated", ".0f", kept, False),
    (LADDER, r"sell-out rate \| (\d+)%", ".0f", ladder, "store-10", ", rate"),
    (LADDER, r"sell-out rate \| \d+% \| (\d+)%", ".0f", ladder, "bakery, nine series", ", rate"),
    (LADDER, r"found \| \d+% \| \d+% \| (\d+)%", ".0f", ladder, "restaurant (YAZ)", ", dates"),
    (LADDER, r"\(flags\) \| \d+% \| (\d+)%", ".0f", ladder, "bakery, nine series", ", flags"),
]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{Path(claim[0]).stem}: {claim[1]}")
def test_a_figure_is_that_of_its_results(claim):
    name, pattern, rounding, measured, *arguments = claim
    found = re.findall(pattern, page(name))
    assert len(found) == 1, f"{name} must say this once"
    value = format(measured(*arguments), rounding)
    assert found[0].lstrip("0") == value.lstrip("0"), f"{name} says {found[0]}, not {value}"


PAGES = [
    *ROOT.glob("*.md"),
    *(each for each in (ROOT / "docs").rglob("*.md") if "_build" not in each.parts),
    *(ROOT / "benchmarks").rglob("*.md"),
    ROOT / "examples" / "README.md",
]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files(path):
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    files = [link.partition("#")[0] for link in links if not re.match(r"[a-z]+:|#", link)]
    assert [link for link in files if not (path.parent / link).exists()] == []
