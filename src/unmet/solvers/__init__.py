"""Arrays or blocks of rows in, a `Solution` with its certificate out."""
