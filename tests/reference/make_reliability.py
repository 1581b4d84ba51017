"""Write reliability_ages.json: optimal replacement times by the PyPI package reliability.

usage: python make_reliability.py, in an environment with ``pip install reliability==0.9.0``

It is imported late, so that a test run may pass over this file. The package looks for the least
cost per unit of time on a grid of 10,000 ages from 1 to three times the scale ("as good as new",
q=0), so its ages are right to about 3 scale / 10,000.
"""

import json
from importlib.metadata import version
from pathlib import Path

CASES = [
    # planned, failure, scale, shape
    (1, 5, 1000, 2.5),
    (1, 5, 4000, 1.6),
    (2, 7, 500, 3.4),
    (1, 25, 800, 2.0),
    (3, 4, 2500, 6.0),
    (10, 13, 300, 4.5),
]


def main():
    from reliability.Repairable_systems import optimal_replacement_time

    rows = []
    for planned, failure, scale, shape in CASES:
        found = optimal_replacement_time(
            cost_PM=planned,
            cost_CM=failure,
            weibull_alpha=scale,
            weibull_beta=shape,
            show_time_plot=False,
            show_ratio_plot=False,
            print_results=False,
            q=0,
        )
        inputs = {"planned": planned, "failure": failure, "scale": scale, "shape": shape}
        rows.append({**inputs, "age": float(found.ORT), "rate": float(found.min_cost)})
    content = {"reliability": version("reliability"), "cases": rows}
    path = Path(__file__).with_name("reliability_ages.json")
    path.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
