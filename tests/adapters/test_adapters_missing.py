"""Adapters load nothing before they are used, and say what they need."""

import subprocess
import sys

import pytest

import unmet.adapters
from unmet import LinearDecision, Newsvendor
from unmet.errors import MissingPackage

HEAVY = "onnx", "skpro", "mlflow", "pyspark", "lightgbm", "torch"


def test_nothing_is_loaded_before_it_is_used():
    code = (
        "import sys, unmet.adapters, unmet.adapters.mlflow, unmet.adapters\n"
        "unmet.adapters.to_onnx, unmet.adapters.torch_loss\n"
        f"print([each for each in {HEAVY} if each in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("package", "use", "words"),
    [
        ("skpro", lambda: unmet.adapters.LatentSurvival, r"unmet\.adapters\.skpro needs skpro"),
        (
            "mlflow",
            lambda: unmet.adapters.mlflow.save_model(LinearDecision(), "nowhere"),
            r"unmet\.adapters\.mlflow needs mlflow",
        ),
        ("onnx", lambda: unmet.adapters.to_onnx(LinearDecision()), "to_onnx needs onnx"),
        ("torch", lambda: unmet.adapters.torch_loss(Newsvendor(3, 1)), "torch_loss needs torch"),
    ],
)
def test_missing_packages_are_named(package, use, words, monkeypatch):
    import unmet.adapters.mlflow

    for name in [each for each in sys.modules if each.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "unmet.adapters.skpro", raising=False)
    monkeypatch.delitem(vars(unmet.adapters), "LatentSurvival", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackage, match=rf"^{words}: install it with pip install .*{package}"):
        use()
