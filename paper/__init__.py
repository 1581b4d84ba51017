"""Reproduction of the paper: its experiments, tables, figures, claims, theorems and stores.

Imports `unmet`, never the other way; run it with ``python -m paper``.
"""
