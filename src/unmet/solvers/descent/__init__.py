"""Descent: the paper's mini-batches, smoothed costs, and costs with a jump."""
