"""Read access to the results of `models.py`, and the measures taken from them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from models_tasks import ONE

LEAST_GAP = 0.005  # of the floor: where ignoring censoring costs less than that, nothing is closed


class Run:
    """The records of one run: a section, a name, threads, and what else tells them apart."""

    def __init__(self, results: dict) -> None:
        self.setting: dict = results.get("setting", {})
        self.sizes: dict[str, int] = results.get("sizes", {})
        self.records: dict[str, dict] = results["records"]

    def finished(self, section: str, name: str, threads: str = ONE) -> dict[str, dict]:
        """Records with an answer, by the rest of their key."""
        start = f"{section}|{name}|{threads}|"
        return {
            key.removeprefix(start): record
            for key, record in self.records.items()
            if key.startswith(start) and "failed" not in record
        }

    def fits(self, section: str, name: str, threads: str = ONE, case: str = "") -> list[dict]:
        """Every fit of a name, over seeds and levels; of one case, if there are several."""
        return [
            fit
            for told, record in self.finished(section, name, threads).items()
            if not case or told.startswith(f"{case}|")
            for fit in record["fits"]
        ]

    def mean(
        self, field: str, section: str, name: str, threads: str = ONE, case: str = ""
    ) -> float | None:
        fits = self.fits(section, name, threads, case)
        values = [fit[field] for fit in fits if fit.get(field) is not None]
        return float(np.mean(values)) if values else None

    def memory(self, section: str, name: str, threads: str = ONE) -> float | None:
        peaks = [record["memory"] for record in self.finished(section, name, threads).values()]
        return float(max(peaks)) if peaks else None

    def failures(self) -> dict[str, list[str]]:
        """Sentence of an error → where it came up."""
        found: dict[str, list[str]] = {}
        for key, record in self.records.items():
            if "failed" in record:
                found.setdefault(record["failed"], []).append(key.replace("|", ", "))
        return found

    def versions(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for record in self.records.values():
            found.update(record.get("versions", {}))
        return dict(sorted(found.items()))

    # nonlinear censored demand: key "censored|model|threads|trained on|seed"

    def realised(self, model: str, trained: str) -> dict[str, dict[float, float]]:
        """Mean cost of the test rows by seed and level."""
        return self._costs(model, trained, "realised")

    def best(self, model: str, trained: str) -> dict[str, dict[float, float]]:
        """Cost of the true quantile on the same rows."""
        return self._costs(model, trained, "best")

    def _costs(self, model: str, trained: str, field: str) -> dict[str, dict[float, float]]:
        return {
            told.rpartition("|")[2]: {fit["level"]: fit[field] for fit in record["fits"]}
            for told, record in self.finished("censored", model).items()
            if told.startswith(f"{trained}|")
        }


def divide(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def closed(
    ignoring: Iterable[float],
    method: Iterable[float],
    floor: Iterable[float],
    truth: Iterable[float],
) -> float | None:
    """Share of the gap closed; costs of several seeds are added up before they are divided.

    None where even the same model trained on the truth costs hardly less than one that ignores
    censoring: what separates both from the floor is then estimation, not censoring.
    """
    first, middle, last, known = (float(sum(each)) for each in (ignoring, method, floor, truth))
    helps = first - max(last, known) > LEAST_GAP * last
    return (first - middle) / (first - last) if helps else None
