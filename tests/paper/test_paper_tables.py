"""Tables: numbers from the rows, published values beside them, three kinds of files."""

import csv
import io
import re

import pytest
from hand_made_results import SAVINGS, hand_made, range_of_sales

from paper.claims import all_claims, by_table, claims_table, distances
from paper.favorita import store_tables
from paper.protocol import METHODS
from paper.tables import all_tables
from unmet.evaluation.comparison import wilcoxon_cell
from unmet.simulate.store10 import PUBLISHED_LEVELS

LABELS = [
    "trainingTime",
    "testNVcost",
    "percentage",
    "testRMSEQ",
    "wilcoxon-result-lr",
    "wilcoxon-result-nn",
    "wilcoxon-numbers",
    "serviceLevel",
    "serviceLevelsReached",
    "gapClosed",
    "gap",
    "LRHyperparam",
    "DNNHyperparam",
    "searchingSpace",
    "epsilonSearchResults",
    "epsilonByDataSet",
]


@pytest.fixture(scope="module")
def tables():
    return all_tables(hand_made())


def line(table, *words):
    """Values of the row that begins with these words."""
    (found,) = [row for row in table.rows if row[: len(words)] == words]
    return list(found[len(words) :])


def shown(table, *words):
    (found,) = [row for row in table.shown() if tuple(row[: len(words)]) == words]
    return found[len(words) :]


def test_every_output_of_the_paper_is_there(tables):
    assert list(tables) == LABELS


def test_fitting_times_are_means_with_the_published_ones_and_differences():
    results = hand_made(seconds={("NN-NVC", 0.65, 1): 4.0, ("NN-NVC", 0.65, 2): 5.0})
    table = all_tables(results)["trainingTime"]
    assert line(table, "NN-NVC", "ours")[1] == 4.5
    assert line(table, "NN-NVC", "published") == [12.20, 12.92, 12.70, 12.80, 12.69]
    assert line(table, "NN-NVC", "difference")[1] == pytest.approx(4.5 - 12.92)
    assert shown(table, "NN-NVC", "difference")[1] == "−8.42"
    assert shown(table, "LR-MSE", "published")[1] == "0.0037"
    assert [row[0] for row in table.rows if row[1] == "ours"] == list(METHODS)


def test_savings_stand_beside_what_the_text_quotes(tables):
    table = tables["percentage"]
    linear, neural = "LR-εNVC-R over LR-NVC", "NN-εNVC over NN-NVC"
    assert line(table, linear, "ours") == pytest.approx(list(SAVINGS["LR-εNVC-R"].values()))
    assert line(table, linear, "published") == [None, None, None, 0.144, None]
    assert line(table, neural, "published") == [None, None, None, None, 0.1221]
    assert shown(table, linear, "difference") == ["–", "–", "–", "+0.00%", "–"]
    assert "2.45% to 14.40%" in table.notes[0]
    assert "3.39% to 12.21%" in table.notes[0]


def test_savings_are_means_over_data_sets_of_shares_not_shares_of_means():
    cost = {
        ("LR-NVC", 0.75, 1): 10.0,
        ("LR-NVC", 0.75, 2): 100.0,
        ("LR-εNVC-R", 0.75, 1): 5.0,
        ("LR-εNVC-R", 0.75, 2): 100.0,
    }
    table = all_tables(hand_made(levels=(0.75,), cost=cost))["percentage"]
    assert line(table, "LR-εNVC-R over LR-NVC", "ours") == [pytest.approx(0.25)]


def test_service_levels_are_averaged_before_the_gap_is_taken():
    # gaps of +0.2 and −0.2 cancel: the average hits 0.75, and the improvement is complete
    service = {
        ("LR-εNVC-R", 0.75, 1): 0.95,
        ("LR-εNVC-R", 0.75, 2): 0.55,
        ("LR-NVC", 0.75): 0.55,
    }
    table = all_tables(hand_made(service=service))["serviceLevel"]
    assert line(table, "LR-εNVC-R over LR-NVC (IEO)", "ours")[2] == pytest.approx(1.0)
    assert line(table, "LR-εNVC-R over LR-NVC (IEO)", "ours")[0] == pytest.approx(0.6174)
    assert line(table, "LR-εNVC-R over LR-MSE (EAS)", "published")[2] == 0.6689
    assert line(table, "NN-εNVC over NN-NVC (IEO)", "published")[4] == 0.1146


def test_wilcoxon_cells_are_ours_published_and_the_difference_of_medians():
    results = hand_made(offset={("LR-NVC", 0.85, 2): -31.0, ("LR-εNVC-R", 0.85, 2): 1.0})
    table = all_tables(results)["wilcoxon-result-lr"]
    cell = wilcoxon_cell(
        results.found.decision(1, "LR-εNVC-R", 0.85),
        results.found.decision(1, "LR-NVC", 0.85),
        results.found.optimum(1, 0.85),
    )
    assert line(table, "data set 2", "ours")[3] == str(cell)
    assert cell.median == pytest.approx(30.0)
    assert line(table, "data set 2", "published")[3] == "1.00 (0.82, 31.33)***"
    assert shown(table, "data set 2", "difference")[3] == "+29.00"


def test_share_of_the_gap_closed_is_measured_from_ieo_of_the_same_family():
    cost = {("Boosted NVC", 0.75): 20.0, ("Boosted latent", 0.75): 12.2}
    tables = all_tables(hand_made(datasets=1, cost=cost))
    # optimum 9.5: (20 − 12.2) / (20 − 9.5)
    assert line(tables["gapClosed"], "Boosted latent")[3] == pytest.approx(7.8 / 10.5)
    row = next(r for r in tables["gap"].rows if r[:2] == ("Boosted latent", 0.75))
    assert row[2:] == pytest.approx((12.2, 9.5, 12.2 / 9.5 - 1, 7.8 / 10.5))


def test_searches_stand_beside_the_published_ones(tables):
    bands = tables["epsilonSearchResults"]
    assert line(bands, "LR-εNVC-R", "ε₁", "ours") == [0.199] * 5
    assert line(bands, "LR-εNVC-R", "ε₂", "published")[4] == 0.0083
    assert line(bands, "NN-εNVC", "ε₂", "difference") == pytest.approx([0.001 - 0.0022] * 5)
    spaces = tables["searchingSpace"]
    assert shown(spaces, "LR-NVC, LR-εNVC-R", "eta") == [
        "U(0.005, 0.025)",
        "no",
        "0.0007",
        "0.0071",
        "+0.0011",  # from 0.0060, which the usual reading takes
    ]
    used = {(row[0], row[1]): row[4] for row in tables["LRHyperparam"].rows}
    assert used["LR-NVC, LR-εNVC-R", "eta"] == "0.0060 (searched: 0.0071)"
    assert used["LR-NVC, LR-εNVC-R", "beta"] == "0.0060 (searched: 0.0003)"
    assert used["LR-NVC, LR-εNVC-R", "patience"] == "30"
    used = {(row[0], row[1]): row[4] for row in tables["DNNHyperparam"].rows}
    assert used["NN-MSE", "units2"] == "7 (searched: 3)"


def test_csv_keeps_all_digits_and_plain_signs(tables, tmp_path):
    for table in tables.values():
        text = table.write(tmp_path)[0].read_text(encoding="utf-8")
        rows = list(csv.reader(io.StringIO(text)))
        assert rows[0] == list(table.columns)
        assert len(rows) == len(table.rows) + 1
    rows = list(csv.reader(io.StringIO((tmp_path / "percentage.csv").read_text())))
    assert float(rows[1][2]) == tables["percentage"].rows[0][2]
    assert rows[2][2] == ""
    assert "−" not in (tmp_path / "trainingTime.csv").read_text()


def test_first_quartiles_stand_beside_the_band_that_explains_them(tables):
    table = tables["epsilonByDataSet"]
    row = line(table, "β = .0060", 0.95, 1)
    assert row[0] == 0.0083
    assert row[1] == pytest.approx(0.0083 * range_of_sales())
    assert row[3] == 3.08
    assert row[4] == pytest.approx(3.08 / range_of_sales())
    assert line(table, "ε per data set", 0.85, 2)[0] == 0.002
    assert {row[0] for row in table.rows} == {"β = .0060", "β = .0007", "ε per data set"}
    assert min(row[1] for row in table.rows) == 0.75


@pytest.mark.parametrize("levels", [PUBLISHED_LEVELS, (0.55, 0.75, 0.95), (0.75,)])
def test_latex_is_plain_ascii_with_one_cell_per_column(levels, tmp_path):
    results = hand_made(levels=levels, offset={("NN-εNVC", levels[0]): 30.0})
    claims = all_claims(results)
    tables = [*all_tables(results).values(), claims_table(claims), by_table(results, claims)]
    for table in [*tables, distances(results), *store_tables(None).values()]:
        text = table.write(tmp_path)[2].read_text(encoding="utf-8")
        assert text.isascii(), [sign for sign in text if not sign.isascii()]
        body = text.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
        assert len(body) == len(table.rows)
        for each in body:
            assert each.endswith(r"\\")
            assert len(re.findall(r"(?<!\\)&", each)) == len(table.columns) - 1
        assert rf"\label{{tab:{table.label}}}" in text
