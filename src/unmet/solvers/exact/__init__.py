"""Exact minimisers of sums of hinges, with a certificate; HiGHS as the reference."""
