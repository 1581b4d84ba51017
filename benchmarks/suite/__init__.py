"""One benchmark of decisions from censored demand: data, scenarios, methods, runner, page.

``python -m benchmarks.suite --quick`` runs it; `benchmarks/README.md` says how to add to it.
"""
