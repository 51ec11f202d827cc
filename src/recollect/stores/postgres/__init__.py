"""The PostgreSQL store: rows, terms and pgvector vectors, written in one transaction.

Any number of processes on any number of machines may share the database.
"""
