"""docs/paper/map.md: every label of the paper is there; functions and tests it names exist."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAP = (ROOT / "docs" / "paper" / "map.md").read_text(encoding="utf-8")

#: Labels of equations, statements, tables and figures of the paper's source, without sections.
LABELS = """
Fig:ErrorQQplot10 Fig:SimpleNN alg:DNNinNVe def:us eq:LR-updateRule eq:LRGenerate eq:LRObjInMae.w
eq:LRObjTrue eq:LRObjinmae.w eq:LReNVCR eq:MSELoss eq:NVLoss eq:ber_sol eq:bertsimas eq:cp eq:erm1
eq:erm2 eq:in-nvc-norm eq:in-nvc eq:le1e2 eq:nvc-censored eq:nvc-uncensor eq:nvcost eq:pr eq:qopt
eq:rmseq eq:ubDNNGB fig:percentage fig:testNVcost fig:testRMSEQ lem:CostBound lem:lipschitz mod:LRLP
mod:LReNVCR prop:DNN-UASBound prop:DNNRule prop:LR-R-stable prop:LR-grad prop:LR-stable
tab:DNNHyperparam tab:EDAofStore10 tab:LRHyperparam tab:LRResults52Stores tab:LRstore10
tab:epsilonSearchResults tab:searchingSpace tab:serviceLevel tab:trainingTime tab:wilcoxon-result-lr
tab:wilcoxon-result-nn theorem:LR-GenBound theorem:LR-R-GenBound theorem:dnnGBound
"""


@pytest.mark.parametrize("label", LABELS.split())
def test_every_label_of_the_paper_is_mapped(label):
    words = [word.rstrip(",") for row in MAP.splitlines() for word in row.split()]
    assert label in words


def test_every_function_exists():
    names = set(re.findall(r"`((?:unmet|paper)\.[\w.]+)`", MAP))
    assert len(names) > 30
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert hasattr(import_module(module), attribute), name


def test_every_test_exists():
    tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", MAP)
    assert len(tests) > 35
    for path, name in tests:
        assert re.search(rf"^ *def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.M), name


def test_every_row_names_a_function_and_a_test():
    rows = re.findall(r"^\| (?!in the paper|-).*", MAP, re.MULTILINE)
    assert len(rows) > 30
    for row in rows:
        assert row.count("`") >= 4 or "not implemented" in row, row
