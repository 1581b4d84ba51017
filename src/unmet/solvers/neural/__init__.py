"""Small networks on NumPy: many of them at once, full-batch L-BFGS or Adam, any cost.

The walk: features and observations are scaled; a `Loss` evaluates decisions
(`unmet.solvers.losses`); `Networks` run forward and backward; `optimisers` move the parameters;
`train` puts them together.
"""
