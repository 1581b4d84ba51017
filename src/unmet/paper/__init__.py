"""The protocol of the paper, its published numbers, and ours beside them."""
