"""PostgreSQL with pgvector: one database, many machines; row, terms and vector in the same transaction."""
