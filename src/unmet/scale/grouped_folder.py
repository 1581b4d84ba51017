"""The folder of a grouped run: finished parts, so that a run that was killed can go on.

::

    run.json             what the run is about: fingerprints of data and parameters, and a seed
    pooled.unmet         the pooled model, fitted
    weighing-0003.npz    decisions held out, for the choice of the shrinkage
    groups-0003.npz      the models of some groups: coefficients, and why fits failed
    groups-0003.unmet    the same for models that are not linear

Every file is whole or absent, and none is ever changed. Parts do not depend on the number of
processes, so a run may go on with another one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from unmet.band import Array
from unmet.errors import InvalidInput
from unmet.files import prepare_folder, write_whole
from unmet.models.base import DecisionModel
from unmet.scale.grouped_fitting import Fitted

_RUN = "run.json"


class RunFolder:
    """Parts of one run in a folder.

    Attributes
    ----------
    seed : int
        Of the run that began here.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self.seed = seed

    def pooled(self) -> DecisionModel | None:
        """Pooled model, if it is there."""
        from unmet.persistence import load

        path = self._folder / "pooled.unmet"
        return load(path) if path.exists() else None

    def keep_pooled(self, model: DecisionModel) -> None:
        """Write the pooled model."""
        from unmet.persistence import save

        save(model, self._folder / "pooled.unmet")

    def held_out(self, number: int) -> Array | None:
        """Decisions held out of one part, if they are there."""
        path = self._folder / f"weighing-{number:05d}.npz"
        return _read(path)["decision"] if path.exists() else None

    def keep_held_out(self, number: int, decision: Array) -> None:
        """Write decisions held out."""
        _write(self._folder / f"weighing-{number:05d}.npz", {"decision": decision})

    def part(self, number: int) -> Fitted | None:
        """Models of one part, if they are there."""
        path = self._folder / f"groups-{number:05d}.npz"
        if not path.exists():
            return None
        arrays = _read(path)
        models = self._models(number) if "coef" not in arrays else []
        return Fitted(
            arrays["sentence"], arrays.get("coef"), arrays["intercept"], arrays["objective"], models
        )

    def keep_part(self, number: int, part: Fitted) -> None:
        """Write models of one part; the small file last, since it says that all is there."""
        if part.coef is None:
            from unmet.persistence import save

            save(part.models, self._folder / f"groups-{number:05d}.unmet")
        names = ("sentence", "coef", "intercept", "objective")
        arrays = {name: getattr(part, name) for name in names}
        _write(
            self._folder / f"groups-{number:05d}.npz",
            {name: array for name, array in arrays.items() if array is not None},
        )

    def _models(self, number: int) -> list[DecisionModel | None]:
        from unmet.persistence import load

        models: list[DecisionModel | None] = load(self._folder / f"groups-{number:05d}.unmet")
        return models


@contextmanager
def open_folder(folder: Any, about: Mapping[str, Any], seed: int) -> Iterator[RunFolder | None]:
    """Begin in an empty folder, or go on in that of the same run.

    Parameters
    ----------
    folder : path or None
        None keeps nothing.
    about : mapping of str to anything
        What makes two runs the same, by name; only hashes are kept.
    seed : int
        Of a run that begins; one that goes on has its own.
    """
    if folder is None:
        yield None
        return
    place = Path(folder)
    prepare_folder(place)
    mine = {"unmet": version("unmet"), **{name: joblib.hash(each) for name, each in about.items()}}
    path = place / _RUN
    if not path.exists():
        if any(entry.name != ".lock" for entry in place.iterdir()):
            raise InvalidInput(
                f"folder must be empty or that of the same run, got {place}, which holds other "
                "files."
            )
        text = json.dumps({**mine, "seed": seed}, indent=2)
        write_whole(path, lambda temporary: _write_text(temporary, text))
    yield RunFolder(place, _compare(path, mine))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _compare(path: Path, mine: Mapping[str, str]) -> int:
    """Seed of the run that began there; refuse another run."""
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
        seed = int(there.pop("seed"))
        names = [name for name in {**mine, **there} if there.get(name) != mine.get(name)]
    except (ValueError, TypeError, AttributeError, KeyError):
        raise InvalidInput(f"{path} must be that of a grouped run, got other text.") from None
    if names:
        listed = " and ".join([", ".join(names[:-1])] * bool(names[1:]) + names[-1:])
        raise InvalidInput(
            f"folder holds a run with another {listed}, got {path.parent}: use another folder."
        )
    return seed


def _write(path: Path, arrays: Mapping[str, Any]) -> None:
    def write(temporary: Path) -> None:
        with temporary.open("wb") as stream:
            np.savez(stream, **arrays)

    write_whole(path, write)


def _read(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, ValueError, EOFError):
        raise InvalidInput(
            f"{path} must hold a finished part of a run, but cannot be read: remove it."
        ) from None
