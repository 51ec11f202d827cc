"""Stores, exports and backups of earlier commits, and the tests that this version still reads them."""
