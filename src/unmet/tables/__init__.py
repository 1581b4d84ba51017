"""Read any table: files, text formats, roles of columns, and the panel of series and periods."""
