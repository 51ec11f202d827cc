"""The SQLite store: one file for many processes; rows, terms and vectors share transactions."""
