"""What needs torch says so, and nothing else imports it."""

import subprocess
import sys

import pytest

from unmet import NeuralDecision, Newsvendor
from unmet.errors import MissingPackage


def test_importing_us_does_not_import_torch():
    code = (
        "import sys, unmet; unmet.NeuralDecision; "
        "import unmet.solvers.neural.torch_training, unmet.solvers.neural.torch_training; "
        "print('torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_missing_torch_is_said_with_the_remedy(rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    sentence = r"^backend='torch' needs torch: install it with pip install 'torch>=2\.2'\.$"
    for module in (None, lambda n_features: None):
        model = NeuralDecision(
            Newsvendor(4, 1), solver="adam", backend="torch", module=module, max_iter=2
        )
        with pytest.raises(MissingPackage, match=sentence):
            model.fit(*rows)
        with pytest.raises(MissingPackage, match=sentence):
            model.partial_fit(*rows)
        assert not hasattr(model, "network_")
