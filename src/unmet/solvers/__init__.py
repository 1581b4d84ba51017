"""Solvers: arrays or blocks of rows in, a `Solution` with its certificate out."""
