"""What the SQL stores share; each database has its own .sql files with the same statement names."""
