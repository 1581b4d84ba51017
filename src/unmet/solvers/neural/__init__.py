"""Small networks on NumPy: many of them at once, full-batch L-BFGS or Adam, any cost.

Features and observations are scaled first. A `Loss` evaluates decisions (`unmet.solvers.losses`),
`Networks` compute forward and backward passes, `optimisers` change the parameters, and `training`
combines these.
"""
