"""Descent: the mini-batches of the paper, smoothed costs, costs with a jump."""
