"""What the project promises about its exact solver, checked against a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from peers import FLOOR, US

Best = Callable[[str, str], float | None]  # (case, peer) → seconds, a limit passed counts as it


@dataclass(frozen=True)
class Bar:
    """One line of the table: a ratio and the value it must not exceed (or fall below)."""

    case: str
    words: str
    ratio: float | None  # None: not measured
    bound: float
    at_least: bool = False

    def met(self) -> bool | None:
        if self.ratio is None:
            return None
        return self.ratio >= self.bound if self.at_least else self.ratio <= self.bound


def divide(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def fastest(seconds: Iterable[float | None]) -> float | None:
    return min((value for value in seconds if value is not None), default=None)


def bars(best: Best, memory: Callable[[str, str], float | None], peers: list[str]) -> list[Bar]:
    """Every bar, with what was measured.

    ``best(case, peer)`` gives seconds, ``memory(case, peer)`` the extra memory as a share of X.
    """
    found = []
    for band in ("", "+band"):
        case = "store10" + band
        ours, path = best(case, US), best("store10-path" + band, US)
        highs = fastest(best(case, peer) for peer in peers if peer.startswith("scipy"))
        found += [
            Bar(case, "scipy HiGHS (best form) / unmet", divide(highs, ours), 4, True),
            Bar(case, "R fnb / unmet", divide(best(case, "R fnb"), ours), 1, True),
            Bar("store10-path" + band, "five α / one fit", divide(path, ours), 2.5),
        ]
    for case, plain, banded in (
        ("dense-1e5", 8, 15),
        ("dense-1e6", 3.5, 6),
        ("dense-1e7", 2.5, 4),
    ):
        for name, bound in ((case, plain), (case + "+band", banded)):
            ratio = divide(best(name, US), best(name, FLOOR))
            found.append(Bar(name, "unmet / least squares", ratio, bound))
    for case, bound in (("dense-1e6", 12), ("dense-1e6+band", 40)):
        ours = best(case, US)
        pyfixest = fastest(best(case, f"pyfixest {method}") for method in ("fn", "pfn"))
        found += [
            Bar(case, "R pfn / unmet", divide(best(case, "R pfn"), ours), bound, True),
            Bar(case, "pyfixest (faster of fn, pfn) / unmet", divide(pyfixest, ours), 60, True),
        ]
    for case in ("dense-1e7", "dense-1e7+band"):
        found.append(Bar(case, "extra memory / X", memory(case, US), 0.5))
    for case in ("sparse-1e6", "sparse-1e6+band"):
        others = fastest(best(case, peer) for peer in peers if peer not in (US, FLOOR))
        found.append(Bar(case, "fastest peer / unmet", divide(others, best(case, US)), 1, True))
    return found
