import subprocess
import sys
from importlib.metadata import version

import pytest

import unmet


def test_names_are_there_and_listed():
    for name in unmet.__all__:
        assert getattr(unmet, name) is not None
        assert name in dir(unmet)
    assert unmet.__version__ == version("unmet")
    with pytest.raises(AttributeError, match="no attribute 'Bond'"):
        unmet.Bond  # noqa: B018


def test_import_is_fast_because_it_imports_nothing():
    code = "import sys, unmet; print(sorted({'numpy', 'scipy', 'sklearn'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_costs_do_not_need_scikit_learn():
    code = "import sys; from unmet import Band, Newsvendor; print('sklearn' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
