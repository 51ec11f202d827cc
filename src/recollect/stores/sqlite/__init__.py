"""SQLite: one file, many processes; row, terms and vector in the same transaction."""
