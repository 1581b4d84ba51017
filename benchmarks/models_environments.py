"""An environment for each peer, made by name with venv and pip, so that none disturbs another."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: Without a version pip takes the newest build, which on Linux brings several gigabytes of CUDA
#: that nothing here uses; of this version a build for processors alone is at hand more often.
TORCH = "torch==2.13.0"

REQUIREMENTS = {
    "unmet": (str(ROOT),),  # only to see how much an installation of the core takes
    "keras-jax": ("keras", "jax"),
    "keras-torch": ("keras", TORCH),
    "torch": (TORCH, "numpy"),
}
MADE = "made"  # a file that marks an environment as complete
TOOLS = ("pip", "setuptools", "wheel", "pkg_resources", "_distutils_hack", "__pycache__")


class NotMadeError(Exception):
    """An environment could not be made; says why in one sentence, without folders."""


def python_of(name: str, folder: Path) -> Path:
    """Interpreter of an environment, made first if it is missing or half made."""
    home = folder / name
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not (home / MADE).exists():
        shutil.rmtree(home, ignore_errors=True)
        run([sys.executable, "-m", "venv", str(home)], name)
        run([str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS[name]], name)
        (home / MADE).touch()
    return python


def run(command: list[str], name: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = (said or done.stderr.splitlines() or ["no word"])[-1]
        reason = re.sub(r"\S*/\S*", "…", reason)[:200]
        raise NotMadeError(f"the environment of {name} could not be made: {reason}")


def installed_bytes(name: str, folder: Path) -> int:
    """Size of the packages of an environment, pip and its kin left out."""
    home = folder / name
    places = [path for path in home.rglob("site-packages") if path.is_dir()]
    return sum(
        file.stat().st_size
        for place in places
        for entry in place.iterdir()
        if entry.name.split("-")[0].split(".")[0] not in TOOLS
        for file in ([entry] if entry.is_file() else entry.rglob("*"))
        if file.is_file() and not file.is_symlink()
    )
