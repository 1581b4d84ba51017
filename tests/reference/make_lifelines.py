"""Real censored times, and reference values of their regression by lifelines.

    python tests/reference/make_lifelines.py
    Rscript tests/reference/make_survreg.R tests/reference/censored_times.json

Needs lifelines (imported late, so that a test run may pass over this file), which the tests do
not: they read the files that this writes beside itself,
``censored_times.json`` (data, with the licence under which lifelines ships them) and
``lifelines_fits.json``. The second command adds ``survreg_fits.json``.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCES = {
    "rossi": "Weeks until arrest of 432 released convicts, one year of follow-up: Rossi, Berk and "
    "Lenihan (1980), Money, Work and Crime.",
    "lung": "Days of survival with advanced lung cancer, rows with an ECOG score: Loprinzi et al. "
    "(1994), Journal of Clinical Oncology 12, 601-607.",
}


def read() -> dict[str, dict[str, Any]]:
    """Give features, times and whether the event was seen, of each data set."""
    from lifelines.datasets import load_lung, load_rossi

    rossi = load_rossi()
    lung = load_lung()[["time", "status", "age", "sex", "ph.ecog"]].dropna()
    lung = lung.rename(columns={"ph.ecog": "ecog"})
    return {
        "rossi": columns(rossi, "week", "arrest"),
        "lung": columns(lung, "time", "status"),
    }


def columns(table: Any, time: str, event: str) -> dict[str, Any]:
    features = [name for name in table.columns if name not in (time, event)]
    return {
        "time": [int(each) for each in table[time]],
        "event": [int(each) for each in table[event]],
        "features": {name: [int(each) for each in table[name]] for name in features},
    }


def fit(fitter: Any, data: dict[str, Any], location: str, scale: str) -> dict[str, Any]:
    """Translate a fit to a linear location of the logarithm, and its scale."""
    import pandas as pd

    table = pd.DataFrame({**data["features"], "time": data["time"], "event": data["event"]})
    fitter.fit(table, duration_col="time", event_col="event", fit_options={"gtol": 1e-7})
    line, spread = fitter.params_[location], fitter.params_[scale]["Intercept"]
    return {
        "intercept": float(line["Intercept"]),
        "coefficients": {name: float(line[name]) for name in data["features"]},
        "log_of_second_parameter": float(spread),
        "log_likelihood": float(fitter.log_likelihood_),
    }


def main() -> None:
    """Write both files."""
    import lifelines
    from lifelines import LogNormalAFTFitter, WeibullAFTFitter

    data = read()
    licence = next(
        file.read_text()
        for file in importlib.metadata.files("lifelines") or []
        if "LICENSE" in file.name
    )
    notice = f"As shipped with lifelines {lifelines.__version__} under this licence:\n{licence}"
    write("censored_times.json", {"sources": SOURCES, "notice": notice, "data": data})
    fits = {
        name: {
            # the Weibull's second parameter is one over the scale, the lognormal's the scale
            "weibull": fit(WeibullAFTFitter(), each, "lambda_", "rho_"),
            "lognormal": fit(LogNormalAFTFitter(), each, "mu_", "sigma_"),
        }
        for name, each in data.items()
    }
    made_by = f"make_lifelines.py, lifelines {lifelines.__version__}, "
    made_by += f"Python {platform.python_version()}"
    write("lifelines_fits.json", {"made_by": made_by, "fits": fits})


def write(name: str, content: dict[str, Any]) -> None:
    """One line per column of data: files that can be looked at."""
    text = json.dumps(content, indent=1)
    (HERE / name).write_text(text.replace(",\n     ", ", ").replace("[\n     ", "[") + "\n")


if __name__ == "__main__":
    main()
