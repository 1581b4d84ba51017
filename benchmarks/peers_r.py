"""Hand a problem to R's quantreg and take back its coefficients; the clock runs inside R."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from cases import Problem

SCRIPT = Path(__file__).with_name("quantreg.R")


def run(problem: Problem, method: str, budget: float) -> np.ndarray:
    """Return one row of coefficients per level; R reports the times on standard output.

    The arrays of ``problem`` may be dropped by the caller meanwhile: they travel by file.
    """
    with tempfile.TemporaryDirectory(prefix="quantreg-") as name:
        folder = Path(name)
        write(problem, folder)
        environment = dict(os.environ)
        if library := environment.pop("BENCHMARK_R_BLAS", ""):
            environment["LD_PRELOAD"] = library
        command = ["Rscript", str(SCRIPT), str(folder), method, str(budget)]
        done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if line.startswith("Error")]
            raise RuntimeError(" ".join(said) or done.stderr[-200:])
        return np.fromfile(folder / "theta").reshape(len(problem.levels), -1)


def write(problem: Problem, folder: Path) -> None:
    """Write the arrays as R reads them: column by column, or compressed rows counted from one."""
    n, p = problem.X.shape
    entries = problem.X.nnz if problem.sparse else 0
    shape = [n, p, problem.low, problem.high, entries, *problem.levels]
    np.array(shape, dtype=float).tofile(folder / "shape")
    problem.s.tofile(folder / "s")
    if not problem.sparse:
        with (folder / "X").open("wb") as stream:
            for column in range(p):
                np.ascontiguousarray(problem.X[:, column]).tofile(stream)
        return
    problem.X.data.tofile(folder / "X")
    (problem.X.indices + 1).astype(np.int32).tofile(folder / "columns")
    (problem.X.indptr + 1).astype(np.int32).tofile(folder / "rows")
