"""The typed-in numbers: complete, consistent with each other, and with the slips in them."""

import pytest

from paper import published
from paper.protocol import READINGS, published_hyperparameters
from unmet.estimators import NeuralDecision
from unmet.simulate.store10 import PUBLISHED_BANDS, PUBLISHED_LEVELS
from unmet.solvers.descent.minibatch import MiniBatchOptions

SIX = {"LR-MSE", "LR-NVC", "LR-εNVC-R", "NN-MSE", "NN-NVC", "NN-εNVC"}


def test_every_published_method_and_level_has_a_fitting_time():
    assert set(published.FITTING_SECONDS) == SIX
    for by_level in published.FITTING_SECONDS.values():
        assert tuple(by_level) == PUBLISHED_LEVELS
    # column sums of the printed table, added up apart from the code
    sums = {name: round(sum(each.values()), 4) for name, each in published.FITTING_SECONDS.items()}
    assert sums == {
        "LR-MSE": 0.0305,
        "LR-NVC": 46.62,
        "LR-εNVC-R": 40.14,
        "NN-MSE": 60.85,
        "NN-NVC": 63.31,
        "NN-εNVC": 54.65,
    }


def test_savings_are_those_of_abstract_introduction_and_results():
    linear, neural = published.SAVINGS["LR"], published.SAVINGS["NN"]
    assert (linear.lowest, linear.highest, linear.peak) == (0.0245, 0.144, 0.85)
    assert (neural.lowest, neural.highest, neural.peak) == (0.0339, 0.1221, 0.95)


def test_service_gaps_improve_everywhere_and_more_over_eas():
    table = published.SERVICE_GAP_IMPROVEMENT
    for family in ("LR", "NN"):
        for level in PUBLISHED_LEVELS:
            assert table[family, "EAS"][level] > table[family, "IEO"][level] > 0
    means = {key: round(sum(each.values()) / 5, 4) for key, each in table.items()}
    assert means == {
        ("LR", "EAS"): 0.6983,
        ("LR", "IEO"): 0.4691,
        ("NN", "EAS"): 0.5895,
        ("NN", "IEO"): 0.3548,
    }


def test_slip_6_eta_and_beta_lie_outside_their_own_boxes_and_fit_when_exchanged():
    outside = [p.name for p in published.STEP_1 if not p.contains(p.printed)]
    assert outside == ["eta", "beta"]
    eta, beta = published.STEP_1[:2]
    assert eta.contains(beta.printed)
    assert beta.contains(eta.printed)
    usual, exchanged, printed, *_ = READINGS
    assert (exchanged.learning_rate, exchanged.penalty) == (beta.printed, eta.printed)
    assert (printed.learning_rate, printed.penalty) == (eta.printed, beta.printed)
    # what the usual reading takes: beta as printed, eta from its space, all others as printed
    assert usual.penalty == beta.printed
    assert eta.contains(usual.learning_rate)
    used = published_hyperparameters()
    assert all(used[p.model][p.name] == p.printed for p in published.STEP_1 if p is not eta)


def test_used_values_are_those_of_the_models():
    used, options = published_hyperparameters(), MiniBatchOptions()
    assert used["LR"]["eta"] == options.learning_rate
    assert used["LR"]["beta"] == options.penalty
    assert used["LR"]["batch_size"] == options.batch_size
    network = NeuralDecision.published()
    assert (used["NN"]["units1"], used["NN"]["units2"]) == network.hidden_layer_sizes
    assert used["NN"]["batch_size"] == network.batch_size


def test_fixed_hyperparameters_are_those_of_the_models():
    options = MiniBatchOptions()
    printed = {name: value for name, _, value in published.HYPERPARAMETERS["LR"]}
    assert len(printed) == 12
    assert int(printed["epoch"]) == options.epochs
    assert float(printed["val_size"]) == options.validation_size
    assert int(printed["random_state"]) == options.random_state
    assert float(printed["tolerance"]) == options.tolerance
    assert int(printed["patience"]) == options.patience
    assert float(printed["baseline"]) == options.baseline
    network = NeuralDecision.published()
    neural = {name: value for name, _, value in published.HYPERPARAMETERS["NN"]}
    assert int(neural["nb_epochs"]) == network.max_iter
    assert neural["optimizer"] == network.solver
    assert neural["activation"] == network.activation


def test_bands_are_the_shared_ones_and_lie_in_their_box():
    for family, name in (("LR", "linear"), ("NN", "neural")):
        for level in PUBLISHED_LEVELS:
            low, high = published.band(family, level)
            assert (low, high) == PUBLISHED_BANDS[name][level]
            assert published.BAND_BOX["low"][0] <= low <= published.BAND_BOX["low"][1]
            assert published.BAND_BOX["high"][0] <= high <= published.BAND_BOX["high"][1]


@pytest.mark.parametrize("family", ["LR", "NN"])
def test_wilcoxon_tables_are_complete_with_quartiles_in_order(family):
    cells = published.WILCOXON[family]
    assert set(cells) == {(k, a) for k in range(1, 11) for a in PUBLISHED_LEVELS}
    for cell in cells.values():
        assert cell.first_quartile <= cell.median <= cell.third_quartile
        assert cell.stars in ("", "*", "**", "***")


def test_wilcoxon_sums_guard_against_a_slip_of_ours():
    # medians of each column, added up from the printed tables
    linear = {0.55: 11.13, 0.65: 10.25, 0.75: 10.92, 0.85: 13.34, 0.95: 10.31}
    neural = {0.55: 39.12, 0.65: 39.12, 0.75: 41.87, 0.85: 31.60, 0.95: 31.60}
    for family, expected in (("LR", linear), ("NN", neural)):
        for level, total in expected.items():
            medians = [c.median for (_, a), c in published.WILCOXON[family].items() if a == level]
            assert sum(medians) == pytest.approx(total)


def test_stars_are_missing_only_for_linear_models_at_the_lowest_level():
    missing = {
        (family, dataset, level)
        for family, cells in published.WILCOXON.items()
        for (dataset, level), cell in cells.items()
        if cell.stars != "***"
    }
    assert missing == {("LR", dataset, 0.55) for dataset in (3, 4, 5, 7, 8, 10)}


def test_slip_7_two_pairs_of_columns_of_the_network_table_are_identical():
    def column(family, level):
        return [published.WILCOXON[family][dataset, level] for dataset in range(1, 11)]

    assert column("NN", 0.55) == column("NN", 0.65)
    assert column("NN", 0.85) == column("NN", 0.95)
    assert column("NN", 0.65) != column("NN", 0.75) != column("NN", 0.85)
    columns = [tuple(column("LR", level)) for level in PUBLISHED_LEVELS]
    assert len(set(columns)) == 5
