"""One model for each of many groups."""
