"""Whether a cost keeps the contract of `unmet.costs.Cost`, found out by trying it."""
