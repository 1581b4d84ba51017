"""Peers that need an interpreter of their own: ddop, whose requirements are old, and R.

Rows travel by file. Both report the processor seconds of their fits, so that starting them does
not count.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from alternatives_cases import LEVELS
from gap_cases import Block

HERE = Path(__file__).resolve().parent
LIMIT = "ALTERNATIVES_LIMIT"  # seconds that one model may take
DDOP_PYTHON = "ALTERNATIVES_DDOP_PYTHON"


class Elsewhere(list[np.ndarray]):
    """Decisions with the seconds that another process needed for them."""

    seconds = 0.0


def hand_over(block: Block, folder: Path, command: list[str]) -> Elsewhere:
    """Write the rows, start the command, read one row of decisions per level."""
    n, p = block.X.shape
    stock = np.where(np.isnan(block.order), 1e6, block.order)  # more than enough where not known
    np.array([n, p, len(block.X_test), *LEVELS], dtype=float).tofile(folder / "shape")
    np.asfortranarray(block.X).ravel("F").tofile(folder / "X")
    np.asfortranarray(block.X_test).ravel("F").tofile(folder / "X_test")
    block.sales.astype(float).tofile(folder / "sales")
    block.censored.astype(float).tofile(folder / "censored")
    stock.astype(float).tofile(folder / "stock")
    limit = float(os.environ.get(LIMIT, "120"))
    try:
        done = subprocess.run(
            [*command, str(folder)], capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"took more than {limit:.0f} s for one model") from None
    if done.returncode:
        said = done.stderr[max(done.stderr.rfind("Error"), 0) :].split("Calls:")[0]
        raise RuntimeError(" ".join(said.split())[:160])
    decided = np.fromfile(folder / "decisions").reshape(len(LEVELS), -1)  # nan: no answer
    found = Elsewhere(decided)
    found.seconds = float(json.loads((folder / "seconds").read_text()))
    return found


def ddop(name: str) -> Callable[[Block], Elsewhere]:
    """Give an estimator of ddop, in the environment whose interpreter a variable names."""

    def decide(block: Block) -> Elsewhere:
        python = os.environ[DDOP_PYTHON]
        with tempfile.TemporaryDirectory(prefix="ddop-") as folder:
            return hand_over(
                block, Path(folder), [python, str(HERE / "alternatives_ddop.py"), name]
            )

    return decide


def crq(method: str) -> Callable[[Block], Elsewhere]:
    """Censored quantile regression of R's quantreg."""

    def decide(block: Block) -> Elsewhere:
        with tempfile.TemporaryDirectory(prefix="crq-") as folder:
            script = str(HERE / "alternatives_crq.R")
            return hand_over(block, Path(folder), ["Rscript", script, method])

    return decide


@cache
def missing_ddop() -> str:
    python = os.environ.get(DDOP_PYTHON, "")
    if not python or not Path(python).exists():
        return f"{DDOP_PYTHON} names no interpreter with ddop"
    done = subprocess.run(
        [python, str(HERE / "alternatives_ddop.py"), "check"], capture_output=True, text=True
    )
    return "" if done.returncode == 0 else f"ddop: {done.stderr.strip().splitlines()[-1][:120]}"


@cache
def missing_quantreg() -> str:
    if shutil.which("Rscript") is None:
        return "R is not installed"
    check = ["Rscript", "-e", "library(quantreg); library(survival)"]
    done = subprocess.run(check, capture_output=True, text=True)
    return "" if done.returncode == 0 else "R's quantreg or survival is not installed"


ASKED = {"ddop": missing_ddop, "quantreg": missing_quantreg}
