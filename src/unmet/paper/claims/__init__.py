"""Claims of the paper, and ours, each judged by code."""
