"""Figures of the paper, drawn from results, and those it lacks."""
