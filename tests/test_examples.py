"""Every script in examples/ runs and prints what its docstring promises."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def printed(capsys):
    def run(name):
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return run


def test_first_orders(printed):
    rows = re.findall(r"^(\w{3}) .* (\d+) +(\d+)$", printed("first_orders.py"), re.M)
    plain = {day: int(order) for day, order, _ in rows}
    informed = {day: int(order) for day, _, order in rows}
    assert list(plain) == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    # made up: mean 75, sd 12, 12 less in rain, 30 more on Saturdays; the .75-quantile is mean + 8
    best = {"Mon": 83, "Tue": 83, "Wed": 71, "Thu": 83, "Fri": 83, "Sat": 113}
    assert all(abs(informed[day] - best[day]) <= 5 for day in best)
    assert all(plain[day] <= informed[day] for day in best)
    assert sum(plain.values()) < sum(informed.values())


def test_table_to_orders(printed):
    text = printed("table_to_orders.py")
    assert "Identified: yes" in text
    rows = re.findall(r"^  2015-08-10  \w+ +(\d+)   \(sales as demand: (\d+)\)$", text, re.M)
    assert len(rows) == 5
    assert all(int(order) % 5 == 0 and int(order) >= int(ignoring) for order, ignoring in rows)
    found = re.findall(r"cost +(\d+\.\d\d), service level (\d+)%", text)
    (ignoring, below), (cost, service) = [(float(each[0]), int(each[1])) for each in found]
    assert cost < 0.95 * ignoring
    assert below < 65  # aimed at 75%
    assert 70 <= service <= 80


def test_value_of_knowing(printed):
    blocks = printed("value_of_knowing.py").split("α = ")[1:]
    assert [block[:4] for block in blocks] == ["0.65", "0.75", "0.95"]
    for block in blocks:
        costs = {
            name: float(re.search(rf"^{name} +([\d.]+)", block, re.M)[1])
            for name in ("sales as demand", "published band", "band from an audit")
        }
        assert costs["band from an audit"] < costs["published band"] < costs["sales as demand"]


def test_hidden_demand(printed):
    text = printed("hidden_demand.py")
    names = ("sales as demand", "nothing known", "sells out", "dates", "flags", "demand itself")
    costs = {name: float(re.search(rf"^{name}.*? (\d+\.\d\d) ", text, re.M)[1]) for name in names}
    ignoring, truth = costs["sales as demand"], costs["demand itself"]
    assert costs["nothing known"] <= 1.02 * ignoring  # cannot tell, so it must do no harm
    assert costs["sells out"] < ignoring - 0.3 * (ignoring - truth)
    assert costs["dates"] < ignoring - 0.7 * (ignoring - truth)
    assert costs["flags"] < ignoring - 0.7 * (ignoring - truth)
    # the rule that main() gave the shop, and no other
    assert "1.15 × mean of the last 4 same weekdays" in " ".join(text.split())
    assert int(re.search(r"sold out, (\d+)% were", text)[1]) >= 95


def test_till_clock(printed):
    text = printed("till_clock.py")
    right, found = re.search(r"of these, (\d+)% were, and (\d+)% of all", text).groups()
    assert int(right) >= 95
    assert int(found) >= 80
    apart = {
        name: abs(float(re.search(rf"^  {name} .*?([+-][\d.]+)%$", text, re.M)[1]))
        for name in ("sold", "clock", "flags of hours")
    }
    assert apart["flags of hours"] < apart["clock"] < 0.5 * apart["sold"]
    names = ("sales as demand", "clock", "flags of hours", "demand itself")
    costs = [float(re.search(rf"^  {name} +(\d+\.\d\d)$", text, re.M)[1]) for name in names]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] - costs[1] > 0.6 * (costs[0] - costs[3])


def test_nonlinear_demand(printed):
    text = printed("nonlinear_demand.py")
    number = r" +(\d+\.\d\d)"
    costs = {
        name: [float(cost) for cost in re.search(rf"^{name}{3 * number}$", text, re.M).groups()]
        for name in ("linear", "neural", "boosted")
    }
    best = float(re.search(rf"^the best{number}$", text, re.M)[1])
    for name in ("neural", "boosted"):
        ignoring, banded, truth = costs[name]
        assert ignoring < 0.85 * costs["linear"][0]  # it bends
        assert truth < 0.75 * costs["linear"][2]
        assert best < banded < ignoring - 0.5 * (ignoring - best)  # and sees what is hidden
    assert costs["linear"][1] <= 1.02 * costs["linear"][0]  # where it cannot tell, it does no harm


def test_custom_pricing(printed):
    text = printed("custom_pricing.py")
    number = r" +(\d+\.\d)"
    found = {
        name: [float(value) for value in re.search(rf"^{name}{3 * number}$", text, re.M).groups()]
        for name in (
            "prices as offered",
            "deals alone",
            "and rejected offers",
            "the best quantile",
            "for revenue, learned",
            "for revenue, the best",
        )
    }
    cost = {name: row[1] for name, row in found.items()}
    earned = {name: row[2] for name, row in found.items()}
    assert cost["deals alone"] > 1.2 * cost["the best quantile"]
    assert cost["and rejected offers"] < 1.03 * cost["the best quantile"]
    assert earned["for revenue, learned"] > 0.97 * earned["for revenue, the best"]
    assert earned["for revenue, learned"] > 1.2 * earned["prices as offered"]
    assert "identified: yes" in text


def test_shared_budget(printed):
    text = printed("shared_budget.py")
    number = r" +(\d+\.\d)"
    rows = {
        name: [float(value) for value in re.search(rf"^{name}{2 * number}$", text, re.M).groups()]
        for name in (
            "sales as demand, cut alike",
            "sales as demand, allocated",
            "LatentBand, cut alike",
            "LatentBand, allocated",
            "demand's distribution known, allocated",
        )
    }
    spent, paid = ({name: row[place] for name, row in rows.items()} for place in (0, 1))
    assert max(spent.values()) <= 2400
    for name in ("sales as demand", "LatentBand"):
        assert paid[f"{name}, allocated"] < 0.97 * paid[f"{name}, cut alike"]
    assert paid["LatentBand, allocated"] < 0.98 * paid["sales as demand, allocated"]
    best = paid["demand's distribution known, allocated"]
    assert paid["LatentBand, allocated"] == pytest.approx(best, rel=0.01)
    assert float(re.search(r"saves (\d\.\d\d) on a day", text)[1]) > 0


def test_own_cost(printed):
    text = printed("own_cost.py")
    exact, highs = (float(value) for value in re.findall(r"mean cost ([\d.]+)", text))
    assert exact == pytest.approx(highs, rel=1e-5)
    assert float(re.search(r"relative difference (\S+)", text)[1]) <= 1e-7


def test_tiered_cost(printed):
    text = printed("tiered_cost.py")
    assert "keeps the contract of a cost." in text
    assert float(re.search(r"difference to HiGHS (\S+)", text)[1]) <= 1e-8
    number = r" +(\d+\.\d\d)"
    costs = {
        name: [float(cost) for cost in re.search(rf"^{name}{2 * number}$", text, re.M).groups()]
        for name in ("newsvendor's orders", "tiers")
    }
    (ignoring, plain), (_, audited) = costs["newsvendor's orders"], costs["tiers"]
    assert audited < 0.95 * min(ignoring, plain)  # the tiers pay once the demand is known of


def test_preventive_replacement(printed):
    text = printed("preventive_replacement.py")
    rows = re.findall(r"^(.+?) +mean age +(\d+), cost rate (\d\.\d\d)$", text, re.M)
    ages = {name: int(age) for name, age, _ in rows}
    rates = {name: float(rate) for name, _, rate in rows}
    best = rates["best under the true distribution"]
    for kind in ("one age", "by features"):
        ignoring, knowing = (f"{kind}, suspensions {known}" for known in ("as failures", "known"))
        assert ages[ignoring] < 0.9 * ages[knowing]  # parts look worse than they are
        assert best < rates[knowing] < rates[ignoring]
    assert rates["by features, suspensions known"] < 1.03 * best


def test_every_example_is_listed_and_tested():
    scripts = sorted(path.name for path in EXAMPLES.glob("*.py"))
    assert scripts == [
        "custom_pricing.py",
        "first_orders.py",
        "hidden_demand.py",
        "nonlinear_demand.py",
        "own_cost.py",
        "own_experiment.py",
        "preventive_replacement.py",
        "shared_budget.py",
        "table_to_orders.py",
        "tiered_cost.py",
        "till_clock.py",
        "value_of_knowing.py",
    ]
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"`{script}`" in text for script in scripts)


def test_own_experiment(printed):
    text = printed("own_experiment.py")
    costs = {
        name: float(cost) for name, cost in re.findall(r"^(\w.*?)  +(\d\.\d\d) \(", text, re.M)
    }
    assert costs["linear, latent band"] < 0.8 * costs["linear, sales as demand"]
    assert "***" in text
    assert r"\begin{tabular}{@{}lr@{}}" in text
