"""A table of sales in; a saved model, orders and a report out: the command line, in Python.

A restaurant orders on past sales and sells out on more than a third of the days. The plan names the
columns and the costs. It is saved, loaded as next month's script would, decides in lots of five,
and is evaluated on the demand that nobody knew.
"""

import tempfile
from pathlib import Path

import polars as pl

import unmet
from unmet.planning import DecisionPlan, decision_table, evaluate, example
from unmet.report import write_report


def learn(sales: pl.DataFrame, path: Path) -> Path:
    """Fit a plan and save it."""
    # A missing portion costs 3, one left over costs 1; dates let an order rule be found.
    plan = DecisionPlan(
        observed="sales",
        features=["weekday", "month", "dish", "is_holiday", "temperature"],
        cost=unmet.Newsvendor(underage=3, overage=1),
        columns={"date": "date", "series": "dish"},
    )
    plan.fit(sales)
    found = plan.diagnosis_
    print(f"Hidden: {found.share_censored:.0%} of the rows. Identified: {found.identified}.")
    return unmet.save(plan, path)


def decide(path: Path, coming: pl.DataFrame, report: Path) -> pl.DataFrame:
    """Load the plan, decide in lots of five, and write a report."""
    plan = unmet.load(path)
    found = plan.decide(coming, step=5)
    table = decision_table(coming, plan, found)
    write_report(plan, report, decisions=table, notes=found.notes)
    return table


def main() -> None:
    tables = example()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = learn(tables.sales, folder / "model.unmet")
        orders = decide(model, tables.coming, folder / "report.html")
        size = (folder / "report.html").stat().st_size / 1e6
        evaluated = evaluate(unmet.load(model), tables.truth, "demand")

    print(f"Report: {size:.1f} MB. First orders:")
    for row in orders.head(5).iter_rows(named=True):
        print(f"  {row['date']}  {row['dish']:<8} {row['decision']:>3.0f}", end="")
        print(f"   (sales as demand: {row['ignoring']:.0f})")
    print("Evaluated on the demand:")
    for each in evaluated.methods:
        print(f"  {each.label:<37} cost {each.cost:6.2f}, service level {each.service_level:.0%}")


if __name__ == "__main__":
    main()
