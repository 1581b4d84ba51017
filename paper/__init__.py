"""Reproduction of the paper: its experiments, tables, figures, claims, theorems and stores.

The package imports `unmet`, never the other way. Run it with ``python -m paper``.
"""
