"""The command line: one file per command, parsing and printing; the work is done elsewhere."""
