"""Read any table: files, text formats, the schema, and the panel of series and periods."""
