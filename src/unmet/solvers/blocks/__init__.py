"""The exact solver on rows that come in blocks; an array in memory is one block."""
