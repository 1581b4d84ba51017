"""Models in MLflow's format without a pickle: a file of `unmet.save` inside a pyfunc model.

MLflow's own scikit-learn flavor can store our models, too. This adapter needs no trust in the file
and can decide in lots. It needs ``pip install 'unmet[mlflow]'``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from unmet.arrays import Array
from unmet.errors import InvalidInput, MissingPackage, Unsupported
from unmet.persistence import load, save
from unmet.persistence.saving import read_header

_FILE = "model.unmet"
_LOTS = "step", "lower", "upper", "minimum"


def save_model(
    model: Any, path: str | Path, *, trusted: Sequence[str] = (), **options: Any
) -> Path:
    """Write a model to a folder that ``mlflow.pyfunc.load_model`` reads.

    Parameters
    ----------
    model : estimator
        Model that `unmet.save` accepts: a fitted model, or a pipeline that ends in one.
    path : str or Path
        Folder that does not exist yet.
    trusted : sequence of str
        Names of your own types in the model, as in `unmet.save`.
    **options
        Further arguments of ``mlflow.pyfunc.save_model``, such as ``signature`` or
        ``input_example``. ``model_config`` holds arguments of `decide`, such as ``{"step": 6,
        "lower": 0}``.

    Returns
    -------
    Path
        The folder.

    Examples
    --------
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.adapters.mlflow import save_model
    >>> model = LinearDecision(Newsvendor(3, 1)).fit([[1], [2], [3], [4]], [11, 19, 31, 39])
    >>> save_model(model, "orders", model_config={"step": 6})  # doctest: +SKIP
    PosixPath('orders')
    """
    with TemporaryDirectory() as folder:
        _pyfunc().save_model(path=str(path), **_written(model, folder, trusted, options))
    return Path(path)


def log_model(model: Any, name: str, *, trusted: Sequence[str] = (), **options: Any) -> Any:
    """Log a model to the active run of MLflow.

    Parameters
    ----------
    model, trusted
        As in `save_model`.
    name : str
        Name of the model in the run.
    **options
        Further arguments of ``mlflow.pyfunc.log_model``, such as ``registered_model_name``;
        ``model_config`` as in `save_model`.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Description of the logged model.

    Examples
    --------
    >>> import mlflow  # doctest: +SKIP
    >>> from unmet.adapters.mlflow import log_model
    >>> with mlflow.start_run():  # doctest: +SKIP
    ...     info = log_model(model, "orders", model_config={"step": 6})
    """
    with TemporaryDirectory() as folder:
        return _pyfunc().log_model(name=name, **_written(model, folder, trusted, options))


def load_model(model_uri: str | Path, *, trusted: Sequence[str] = ()) -> Any:
    """Load the estimator that `save_model` or `log_model` stored.

    Parameters
    ----------
    model_uri : str or Path
        MLflow's name of the model: ``"models:/orders/3"``, ``"runs:/…/orders"``, or a folder.
    trusted : sequence of str
        Names of your own types in the model, as in `unmet.load`.

    Returns
    -------
    estimator
        The estimator as it was saved, with all its methods and its diagnosis.

    Examples
    --------
    >>> from unmet.adapters.mlflow import load_model
    >>> load_model("models:/orders/3").diagnosis_  # doctest: +SKIP
    """
    artifacts = MissingPackage.or_load("load_model", "mlflow.artifacts", "mlflow")
    folder = Path(artifacts.download_artifacts(artifact_uri=str(model_uri)))
    found = sorted(folder.rglob(_FILE))
    if len(found) != 1:
        raise InvalidInput(
            f"model_uri must be that of a model which unmet.adapters.mlflow wrote, got {model_uri}."
        )
    return load(found[0], trusted=trusted)


class ProblemEstimator:
    """Python model that MLflow calls: it decides for rows, in lots if you ask for them.

    `save_model` and `log_model` store it; ``mlflow.pyfunc.load_model`` wraps it.

    Parameters
    ----------
    model : estimator
        Fitted model.
    lots : mapping
        Arguments of `decide`. An empty mapping leaves decisions as `predict` gives them.

    Examples
    --------
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.adapters.mlflow import ProblemEstimator
    >>> model = LinearDecision(Newsvendor(3, 1)).fit([[1], [2], [3], [4]], [11, 19, 31, 39])
    >>> ProblemEstimator(model, {"step": 6}).predict([[2], [3]])
    array([24., 30.])
    """

    def __init__(self, model: Any, lots: Mapping[str, Any]) -> None:
        self.model = model
        self.lots = dict(lots)
        unknown = sorted(set(self.lots) - set(_LOTS))
        if unknown:
            raise InvalidInput(f"model_config must have {', '.join(_LOTS)}, got {unknown[0]!r}.")
        if self.lots and not hasattr(model, "decide"):
            raise Unsupported(
                f"model_config and a {type(model).__name__} do not fit together, because it "
                "cannot decide in lots: save the model that it ends in."
            )

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> Array:
        """Decide for each row.

        Parameters
        ----------
        model_input : table or array-like of shape (n_rows, n_features)
            Features.
        params : mapping, optional
            Must be empty; MLflow passes parameters that a signature asks for.
        """
        if params:
            raise InvalidInput(f"params must be empty, got {sorted(params)}: use model_config.")
        if not self.lots:
            decided: Array = self.model.predict(model_input)
            return decided
        bare = {"step": None, "lower": None}  # what is not asked for is not done
        lots: Array = self.model.decide(model_input, **{**bare, **self.lots})
        return lots


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> ProblemEstimator:
    """Give MLflow what it calls; it finds this function by its name."""
    config = dict(model_config or {})
    return ProblemEstimator(load(path, trusted=config.pop("trusted", ())), config)


def _pyfunc() -> Any:
    return MissingPackage.or_load("unmet.adapters.mlflow", "mlflow.pyfunc", "mlflow")


def _written(
    model: Any, folder: str, trusted: Sequence[str], options: dict[str, Any]
) -> dict[str, Any]:
    """Write the file, and say what MLflow must know of it."""
    config = dict(options.pop("model_config", None) or {})
    ProblemEstimator(model, config)  # refuses what could not be loaded
    path = save(model, Path(folder) / _FILE, trusted=trusted)
    if trusted:
        config["trusted"] = list(trusted)
    header = read_header(path)
    # said, not found out: MLflow would load the model in another process to see what it imports
    needed = [f"{name}=={number}" for name, number in header["packages"].items()]
    return {
        "loader_module": __name__,
        "data_path": str(path),
        "model_config": config,
        "pip_requirements": [f"unmet=={header['version']}", *needed],
        **options,
    }
