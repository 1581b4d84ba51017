"""Small networks on NumPy: many of them at once, full-batch L-BFGS or Adam, any cost.

The walk: features and observations are scaled; an `Objective` prices decisions; `Networks` run
forward and backward; `lbfgs` and `adam` move the parameters; `train` puts them together.
"""
