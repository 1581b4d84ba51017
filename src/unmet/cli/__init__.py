"""The command line: parsing and printing; the work is done elsewhere."""
