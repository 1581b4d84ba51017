"""Tables of the paper, published values beside ours."""
