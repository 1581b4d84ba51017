"""Read any table: files, dialects, columns, and the panel of series and periods."""
