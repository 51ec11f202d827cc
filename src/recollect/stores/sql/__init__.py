"""Code shared by the SQL stores; each database has its own .sql files with the same names."""
